"""What all tests share: how long to try, and where the real data are.

``DITHER_LONG=1`` runs statistical tests in full.  ``DITHER_DATA`` names a folder with downloaded datasets; a test
whose dataset is missing is skipped, or fails if ``DITHER_REQUIRE=all``.
"""

import fcntl
import importlib.util
import os
import sys
import tempfile
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings

from servers import postgres, postgres_schema, postgres_server, spark  # noqa: F401  (fixtures)

ONE_WORKER_EACH = (
    "http/",
    "web/",
    "sandbox/",
    "cli/test_calls_cli",
    "cli/test_run",
    "core/test_annotations",
    "core/test_house",
    "queries/test_registry",
    "ledger/test_faults",
)
"""Files whose tests share what is expensive: a server, a sandbox, a browser, the syntax trees of all modules."""


FEW = 5

settings.register_profile("dither", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("dither")
"""How long an example takes depends on what else the machine does."""


class Turns:
    """Workers of one run do one thing after the other, so that who waited finds the file that the first one wrote."""

    def __init__(self, run: str) -> None:
        self.path = Path(tempfile.gettempdir()) / f"dither-tests-{run}.lock"
        self._file = self.path.open("w")

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Waits until no other process holds the turn ``name``."""
        place = zlib.crc32(name.encode())
        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, place)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)


TURNS = pytest.StashKey[Turns]()


def pytest_configure(config):
    """Kernels are compiled by one worker at a time, and loaded by the others."""
    run = getattr(config, "workerinput", {}).get("testrunuid")
    if run is None:
        return
    from numba.core.dispatcher import Dispatcher

    turns = config.stash[TURNS] = Turns(run)
    compile_now, inside = Dispatcher.compile, threading.local()

    def compile_in_turn(self, signature):
        if getattr(inside, "turn", False):  # a kernel that another one calls
            return compile_now(self, signature)
        with turns.of("kernels"):
            inside.turn = True
            try:
                return compile_now(self, signature)
            finally:
                inside.turn = False

    Dispatcher.compile = compile_in_turn


def pytest_unconfigure(config):
    """The lock goes with the run."""
    if TURNS in config.stash:
        config.stash[TURNS].path.unlink(missing_ok=True)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """A test file is compiled by the first worker that comes to it; the others load what it wrote."""
    if TURNS not in collector.config.stash or not isinstance(collector, pytest.Module):
        return (yield)
    with collector.config.stash[TURNS].of(collector.nodeid):
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Say which tests are slow, and which ones share what is expensive to start.

    Items of ``sampled(n)`` beyond n are slow: the n that stay are spread evenly, so that the same ones run everywhere.
    Of the tests of a file that need PostgreSQL or a browser FEW are quick: these parts take most of the time.
    Tests that need Spark run in one worker, which starts one Java; each file of ONE_WORKER_EACH runs in one worker.
    """
    sampled: dict[tuple[Path, str], list[pytest.Item]] = {}
    by_outside_part: dict[Path, list[pytest.Item]] = {}
    for item in items:
        name = Path(item.path).relative_to(config.rootpath / "tests").as_posix() if "tests" in item.path.parts else ""
        needs_spark = _needs_spark(item, name)
        if item.get_closest_marker("sampled"):
            sampled.setdefault((item.path, item.originalname), []).append(item)
        elif not item.get_closest_marker("slow") and (_needs_postgres(item) or name.startswith("web/")):
            by_outside_part.setdefault(item.path, []).append(item)
        if needs_spark:
            item.add_marker("slow")
        if needs_spark or name.startswith(ONE_WORKER_EACH):
            item.add_marker(pytest.mark.xdist_group("spark" if needs_spark else Path(name).stem))
    for of_one_function in sampled.values():
        _keep_quick(of_one_function, of_one_function[0].get_closest_marker("sampled").args[0])
    for of_one_file in by_outside_part.values():
        _keep_quick(of_one_file, FEW)


def _keep_quick(items: list[pytest.Item], count: int) -> None:
    """Mark all but so many items, spread evenly, as slow."""
    for rank, item in enumerate(items):
        if rank * count // len(items) == (rank - 1) * count // len(items):
            item.add_marker("slow")


def _needs_postgres(item: pytest.Item) -> bool:
    fixtures = getattr(item, "fixturenames", ())
    return "postgres" in item.name.partition("[")[2] or any(name.startswith("postgres") for name in fixtures)


def _needs_spark(item: pytest.Item, name: str) -> bool:
    """Whether a test names the fixture, or a source or engine of that name by a parameter."""
    parameters = item.name.partition("[")[2]
    by_parameter = "spark" in parameters and name.startswith(("contract/", "sources/"))
    return by_parameter or "spark" in getattr(item, "fixturenames", ())


def trials(short: int, long: int) -> int:
    """How many trials to make: ``long`` of them if DITHER_LONG is set."""
    return long if os.environ.get("DITHER_LONG", "") not in {"", "0"} else short


def answered(call, *arguments, **options):
    """The first release of a regression that is not refused, of at most three.

    A regression is refused by the noise of its count of failed blocks alone with chance exp(-8) / 2 = 1.7e-4; all three
    are with chance 5e-12.
    """
    return next((each for each in (call(*arguments, **options) for _ in range(3)) if not each.refused), None)


def needs_data(name: str) -> Path:
    """The path of a dataset below DITHER_DATA; skips the test, or fails it if DITHER_REQUIRE=all."""
    folder = os.environ.get("DITHER_DATA", "")
    if folder and (Path(folder) / name).exists():
        return Path(folder) / name
    return missing(f"needs {name} in {folder}" if folder else f"needs {name}; DITHER_DATA is not set")


def needs_package(name: str) -> None:
    """Skips the test if an optional package is missing, or fails it if DITHER_REQUIRE=all."""
    if importlib.util.find_spec(name) is None:
        missing(f"needs the package {name}")


def missing(reason: str) -> NoReturn:
    """Skips the test, or fails it if DITHER_REQUIRE=all."""
    if os.environ.get("DITHER_REQUIRE") == "all":
        pytest.fail(f"{reason} (DITHER_REQUIRE=all)")
    pytest.skip(reason)


@pytest.fixture(autouse=True)
def _figures_are_closed():
    """Once a test has loaded pyplot it keeps every later test's figures open, and warns beyond twenty."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


class AllNames(set[str]):
    """Holds every name."""

    def __contains__(self, name: object) -> bool:
        return True


@pytest.fixture(scope="session", autouse=True)
def _budgets_in_memory_are_meant():
    """Nearly all sessions of tests are kept by nothing: the warning about that is for its own test."""
    from dither.session import opening

    opening._warned_of = AllNames()


@pytest.fixture(scope="session")
def isolated():
    """Skips the test where programs cannot be isolated, or fails it if DITHER_REQUIRE=all."""
    from dither.errors import NotIsolated
    from dither.sandbox import require_isolation

    try:
        require_isolation()
    except NotIsolated as error:
        missing(str(error))


@pytest.fixture(name="trials")
def trials_fixture():
    """``trials(short, long)``."""
    return trials


@pytest.fixture(name="needs_data")
def needs_data_fixture():
    """``needs_data(name)``."""
    return needs_data
