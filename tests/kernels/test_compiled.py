"""Kernels are run by Python while that is sooner than loading the compiler, which is decided by their size alone."""

import os
import subprocess
import sys

import numpy as np
import pytest

from dither.kernels import compiled as kernels
from dither.kernels.compiled import MOST_PLAIN, compiled


@compiled()
def _half(number):
    return number // 2


@compiled(lambda numbers: numbers.size)
def _halves(numbers):
    """The sum of the halves."""
    total = 0
    for place in range(len(numbers)):
        total += _half(numbers[place])
    return total


@pytest.fixture
def runs(monkeypatch):
    """A kernel like ``_halves``, and who ran it, in order; the compiler counts as not loaded."""
    ran = []
    kernel = kernels._Kernel(_halves.py_func, {}, _halves._steps)
    plain = kernel.plain
    monkeypatch.setattr(kernel, "dispatcher", lambda: lambda *given: ran.append("compiled"))
    kernel.__dict__["plain"] = lambda *given: ran.append("plain") or plain(*given)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setattr(kernels, "_COMPILED_ALWAYS", type(kernels._COMPILED_ALWAYS)())
    return kernel, ran


def test_python_takes_the_first_steps(runs):
    """As many as fit, all calls together; then the function is compiled."""
    kernel, ran = runs
    kernel(np.zeros(MOST_PLAIN + 1, dtype=np.int64))
    kernel(np.zeros(10, dtype=np.int64))
    kernel._left = 15
    kernel(np.zeros(10, dtype=np.int64))
    kernel(np.zeros(10, dtype=np.int64))
    assert ran == ["compiled", "plain", "plain", "compiled"]
    assert kernel._left == 5


def test_where_the_compiler_is_loaded_or_wanted_python_takes_none(runs, monkeypatch):
    """In servers what is loaded when must not depend on the data."""
    kernel, ran = runs
    monkeypatch.setitem(sys.modules, "numba", object())
    kernel(np.zeros(1, dtype=np.int64))
    monkeypatch.delitem(sys.modules, "numba")
    kernels.compile_always()
    kernel(np.zeros(1, dtype=np.int64))
    assert ran == ["compiled", "compiled"]


def test_python_runs_the_kernels_that_a_kernel_calls(runs):
    """Which of them are called depends on the data: none loads the compiler."""
    kernel, ran = runs
    assert kernel(np.arange(7)) == 0 + 0 + 1 + 1 + 2 + 2 + 3
    assert ran == ["plain"]
    assert "numba" not in sys.modules


def test_both_give_the_same():
    """The compiled function and that of Python."""
    numbers = np.arange(-5, 100)
    assert _halves.plain(numbers) == _halves.dispatcher()(numbers) == sum(number // 2 for number in range(-5, 100))


def test_workers_of_servers_compile_always():
    """From their start: one that is given no dataset has said so already."""
    script = (
        "import os, socket, sys\n"
        "from dither.interfaces.http import dataset_worker\n"
        "from dither.kernels import compiled\n"
        "ours, theirs = socket.socketpair()\n"
        "ours.close()\n"
        "sys.argv, os._exit = ['worker', str(theirs.detach())], lambda code: None\n"
        "assert not compiled._COMPILED_ALWAYS.is_set()\n"
        "dataset_worker.main()\n"
        "assert compiled._COMPILED_ALWAYS.is_set()\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_person_who_waits_reads_that_code_is_compiled(tmp_path):
    """Once in a process, at a terminal, and not where the code is kept already; nothing is written to a pipe."""
    script = (
        "from dither.kernels import compiled\n"
        "import importlib\n"
        "compiled._is_watched = lambda: {watched}\n"
        "kernels = importlib.import_module('dither.kernels.cuts').__dict__.values()\n"
        "kernel = next(item for item in kernels if isinstance(item, compiled._Kernel))\n"
        "print(len([kernel.dispatcher() for _ in range(2)]))\n"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", script.format(watched=watched)],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stderr
        for watched in (False, True)
    ]
    assert said[0] == ""
    assert said[1].count("dither compiles") == 1
