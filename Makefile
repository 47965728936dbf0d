# Needs only Python 3.11+ (with venv and pip) and make; everything it builds stays inside this tree.

PYTHON  ?= python3
# Many tests wait for schedules, servers and limits in time: more workers than cores keep the cores busy.
WORKERS ?= 4
# Exact versions of everything that is installed; `make CONSTRAINTS= setup` takes the newest that pyproject.toml allows.
CONSTRAINTS ?= constraints.txt

VENV   := .venv
BIN    := $(VENV)/bin
EXTRAS := dev,docs,accounting,models,postgres,ray,server,spark
BUILD  := hatchling editables
PIP     = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile $(addprefix --constraint ,$(CONSTRAINTS))
# The quickest test of every part: numbers, noise, privacy loss, statistics, tables, sessions, SQL, and the house rules.
QUICK  := $(foreach name,noise/admissible accounting/cascades sources/column quotes/declared_priors core/dependencies kernels/elementary noise/entropy core/errors statistics/unknown_size \
	accounting/filters session/graphs core/house mechanisms/base_measure statistics/order session/planned_moments core/privacy mechanisms/propose_test \
	session/session session/attacks sql/sql statistics/totals noise/vectors,tests/$(dir $(name))test_$(notdir $(name)).py)
BASE   := $(VENV)/.base-done
SETUP  := $(VENV)/.setup-done

# $(call alone,NAME) COMMAND waits until no other make of this tree holds the lock NAME; without flock it just runs.
LOCKS := $(CURDIR)/.cache/locks
FLOCK := $(shell mkdir -p $(LOCKS) 2>/dev/null && touch $(LOCKS)/setup $(LOCKS)/heavy 2>/dev/null && flock --help >/dev/null 2>&1 && echo flock -o)
PYTEST := $(BIN)/pytest -n $(WORKERS) --dist loadgroup
alone  = $(if $(FLOCK),$(FLOCK) $(LOCKS)/$(1))

# Python keeps what it compiled: tests start hundreds of processes, and each would compile all its imports again.
unexport PYTHONDONTWRITEBYTECODE
# Matplotlib would otherwise keep its font cache in the home directory.
export MPLCONFIGDIR := $(CURDIR)/.cache/matplotlib

.DEFAULT_GOAL := help
.PHONY: help setup demo docs pictures quick test test-slow test-long lint bench constraints api format clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(SETUP) ## build .venv and install dither with everything that tests and documentation need

# Whoever waited for the lock looks again: then there is nothing left to do.
ifndef INSTALLING
$(BASE) $(SETUP): pyproject.toml lab/pyproject.toml $(CONSTRAINTS)
	@$(call alone,setup) $(MAKE) --no-print-directory --silent INSTALLING=1 $@
else
$(BASE): pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "dither needs Python 3.11 or newer; try: make PYTHON=python3.12 setup"; exit 1; }
	test -x $(BIN)/python || { echo "creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	echo "installing dither[server] into $(VENV) (half a minute, once)"
	$(PIP) $(BUILD)
	$(PIP) --no-build-isolation --editable '.[server]'
	touch $@

$(SETUP): $(BASE) lab/pyproject.toml
	echo "installing what dither[$(EXTRAS)] adds (a minute or two, once)"
	$(PIP) --editable '.[$(EXTRAS)]'
	$(PIP) --no-build-isolation --no-deps --editable lab
	echo "compiling kernels (a minute, once)"
	$(BIN)/python -m dither_lab.warm
	touch $@
endif

demo: $(BASE) ## answer real questions on generated data
	@$(BIN)/dither demo

docs: setup ## build the documentation into build/site; a warning is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open build/site/index.html, or with search: python3 -m http.server -d build/site"

pictures: setup ## compute and draw the curves of the documentation anew (two minutes)
	$(BIN)/python docs/_site/curves.py

quick: setup ## an answer within a minute: style, import contracts and the quickest tests
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/lint-imports --no-logo > /dev/null || $(BIN)/lint-imports --no-logo
	@$(PYTEST) -m "not slow" --quiet -r fE $(QUICK)

test: lint ## lint, type-check and the quick tests: five minutes of tests on two cores
	$(call alone,heavy) $(PYTEST) -m "not slow" --durations=10

test-slow: setup ## what takes longer: clusters, wheels, all engines and mutants, servers under load
	$(call alone,heavy) $(PYTEST) -m slow --durations=10

test-long: export DITHER_LONG = 1
test-long: lint ## all tests, with every statistical and soak test in full: hours
	$(call alone,heavy) $(PYTEST) --durations=10

lint: setup ## ruff, mypy and the import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

bench: setup ## side by side with other libraries, each in an environment of its own
	$(call alone,heavy) $(BIN)/dither bench all --peers .cache/peers --out bench-output

# By the oldest Python that is supported (PYTHON=...): newer ones can install what suits it, not the other way round.
constraints: ## write the newest versions that pyproject.toml allows into constraints.txt
	@rm -rf .cache/newest && $(PYTHON) -m venv .cache/newest
	@.cache/newest/bin/python -m pip install --quiet --no-cache-dir $(BUILD) '.[$(EXTRAS)]'
	@{ echo "# Versions that the tests passed with; written by \`make constraints\`."; \
		.cache/newest/bin/python -m pip freeze | grep -E '^[A-Za-z0-9._-]+==' | grep -v '^dither'; } > .cache/newest.txt
	@mv .cache/newest.txt constraints.txt && rm -rf .cache/newest
	@echo "constraints.txt is new: run make test before it is committed"

api: setup ## write anew what follows from the registries: types for checkers, tests/core/api.txt, docs/coverage.md (CHANGELOG.md needs a line)
	@PYTHONPATH=tests:docs/_site $(BIN)/python tests/core/generated.py
	@PYTHONPATH=tests $(BIN)/python tests/core/public_api.py
	@$(BIN)/python docs/_site/coverage_page.py

format: setup ## rewrite the code in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove .venv, caches and build output
	rm -rf $(VENV) .cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	find src lab tests -name __pycache__ -type d -prune -exec rm -rf {} +
