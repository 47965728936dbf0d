# Needs only Python 3.11+ (with venv and pip) and make; everything it builds stays inside this tree.

PYTHON  ?= python3
WORKERS ?= 2

VENV   := .venv
BIN    := $(VENV)/bin
EXTRAS := dev,docs,accounting,models,postgres,ray,server,spark
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-cache-dir
SETUP  := $(VENV)/.setup-done

# Matplotlib would otherwise keep its font cache in the home directory.
export MPLCONFIGDIR := $(CURDIR)/.cache/matplotlib

.DEFAULT_GOAL := help
.PHONY: help setup demo docs pictures test test-long lint pytest bench format clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(SETUP) ## build .venv and install dither with what demo and tests need

$(SETUP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "dither needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || { echo "creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing dither[$(EXTRAS)] into $(VENV) (a minute or two, once)"
	@$(PIP) --editable '.[$(EXTRAS)]'
	@touch $@

demo: setup ## answer real questions on generated data
	@$(BIN)/dither demo

docs: setup ## build the documentation into build/site; a warning is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open build/site/index.html"

pictures: setup ## compute and draw the curves of the documentation anew (two minutes)
	$(BIN)/python docs/_site/curves.py

test: lint pytest ## lint, type-check and test; slow tests shortened

test-long: export DITHER_LONG = 1
test-long: lint pytest ## the same with every statistical and soak test in full

lint: setup ## ruff, mypy and the import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

pytest: lint
	$(BIN)/pytest -n $(WORKERS)

bench: setup ## side by side with other libraries, each in an environment of its own
	$(BIN)/dither bench all --peers .cache/peers --out bench-output

format: setup ## rewrite the code in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove .venv, caches and build output
	rm -rf $(VENV) .cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
