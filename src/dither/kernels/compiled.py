"""How kernels are compiled, and where the compiled code is kept between processes.

numba keeps it beside the source or in the user's cache folder, and refuses to define a function where it can write to
neither: a package that root installed, run by a service without a home.  The code then goes to a folder for temporary
files that is ours alone, or, if there is no such folder, is compiled in every process anew.

Loading numba takes most of a second, so it is loaded when a kernel is first called: a mistaken command, a server that
leaves all work to its workers, or a sum never pay for it.  A kernel that says how many steps its arguments take is run
by Python itself as long as that is sooner.
"""

from __future__ import annotations

import functools
import importlib
import os
import stat
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Literal, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, cast

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

MOST_PLAIN = 1 << 21
"""Steps of one kernel that Python takes, all calls together: about as long as loading numba."""
_COMPILING = threading.RLock()
_COMPILED_ALWAYS = threading.Event()
_SAID = threading.Event()


class CompilerOptions(TypedDict, total=False):
    """Options of numba."""

    nogil: bool
    error_model: Literal["python", "numpy"]


class Dispatcher(Protocol):
    """numba's function, which ships no type stubs: it compiles itself for the types that it is called with."""

    def __call__(self, *arguments: Any) -> Any: ...  # as the function that it stands for
    def enable_caching(self) -> None: ...
    @property
    def stats(self) -> Any: ...  # numba's, with cache_path


def compiled(
    steps: Callable[..., int] | None = None, **options: Unpack[CompilerOptions]
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile a function with numba's ``options`` at its first call and keep the code where that is possible.

    steps: how many steps the function takes, of its arguments; where these are few Python runs it, unless numba is
    loaded anyway.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        return cast("Callable[P, R]", _Kernel(cast("FunctionType", function), options, steps))

    return decorate


def compile_always() -> None:
    """From now on no kernel is run by Python: for servers, where only public facts may decide what is loaded when."""
    _COMPILED_ALWAYS.set()


def load() -> None:
    """Load the compiler now: for processes that would rather wait at their start than at their first question."""
    importlib.import_module("numba")


class _Kernel:
    """A function that becomes numba's when it is first called."""

    def __init__(
        self, function: FunctionType, options: CompilerOptions, steps: Callable[..., int] | None = None
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._options = options
        self._steps, self._left = steps, MOST_PLAIN
        self._dispatcher: Dispatcher | None = None

    def __call__(self, *arguments: Any) -> Any:  # as the function that it stands for
        if self._dispatcher is None and self._steps is not None and self._is_plain(self._steps(*arguments)):
            # From such a view Python reads a number in a fraction of the time that it takes from an array.
            return self.plain(
                *(item.data if isinstance(item, np.ndarray) and item.ndim == 1 else item for item in arguments)
            )
        return (self._dispatcher or self.dispatcher())(*arguments)

    def _is_plain(self, steps: int) -> bool:
        """Whether Python takes so many steps more, which then count."""
        with _COMPILING:
            if steps > self._left or _COMPILED_ALWAYS.is_set() or "numba" in sys.modules:
                return False
            self._left -= steps
            return True

    @functools.cached_property
    def plain(self) -> FunctionType:
        """The function as Python runs it, and the kernels that it calls likewise."""
        known = self.py_func.__globals__
        inner = {name: known[name] for name in _names(self.py_func.__code__) if isinstance(known.get(name), _Kernel)}
        return FunctionType(self.py_func.__code__, {**known, **{name: kernel.plain for name, kernel in inner.items()}})

    def dispatcher(self) -> Dispatcher:
        """numba's function, in whose place the kernels that it calls stand by theirs."""
        with _COMPILING:
            if self._dispatcher is None:
                known = self.py_func.__globals__
                for name in _names(self.py_func.__code__):
                    if isinstance(known.get(name), _Kernel):
                        known[name] = known[name].dispatcher()
                self._dispatcher = _kept(self.py_func, self._options)
            return self._dispatcher


def _names(code: CodeType) -> set[str]:
    """Global names that a function or one inside it may use."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _kept(function: FunctionType, options: CompilerOptions) -> Dispatcher:
    """The function as numba's, whose code is kept between processes."""
    from numba import njit  # noqa: PLC0415

    kernel: Dispatcher = njit(**options)(function)
    try:
        kernel.enable_caching()
    except RuntimeError:  # no place that numba knows of is writable
        folder = private_folder()
        if folder is not None:
            _cache_in(kernel, folder)
    if not _SAID.is_set() and _is_watched() and _is_new(kernel, function):
        _SAID.set()
        print("dither compiles what this question needs, once; it takes some seconds", file=sys.stderr)  # noqa: T201
    return kernel


def _is_watched() -> bool:
    """Whether somebody waits at a terminal or a notebook: nothing is written to logs, pipes and servers."""
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())


def _is_new(kernel: Dispatcher, function: FunctionType) -> bool:
    """Whether a function was never compiled before where its code would be kept; no if it is kept nowhere."""
    kept = kernel.stats.cache_path
    return kept is not None and not any(Path(kept).glob(f"*{function.__name__}-*.nbi"))


def private_folder() -> Path | None:
    """The folder of this user below that for temporary files; None where others could write to it.

    What is read back from it is run as code.  So it must be a folder and no link, belong to us and be closed to
    everybody else, below a folder in which no stranger can put another one in its place.  Where files have no such
    owners (Windows) that cannot be checked.
    """
    if not hasattr(os, "geteuid"):
        return None
    try:
        parent = Path(tempfile.gettempdir())
        folder = parent / f"dither-kernels-{os.geteuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        around, result = parent.stat(), folder.lstat()
    except OSError:
        return None
    others_write = around.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not around.st_mode & stat.S_ISVTX
    trusted = around.st_uid in {0, os.geteuid()} and not others_write
    ours = stat.S_ISDIR(result.st_mode) and result.st_uid == os.geteuid() and not result.st_mode & 0o077
    return folder if trusted and ours else None


def _cache_in(kernel: Dispatcher, folder: Path) -> None:
    """numba looks up its setting once for each function, here; it is the setting of the whole process otherwise."""
    settings = importlib.import_module("numba").config  # its attributes come from the environment
    before, settings.CACHE_DIR = settings.CACHE_DIR, str(folder)
    try:
        kernel.enable_caching()
    except RuntimeError:  # a full disk, say: compiled in every process
        return
    finally:
        settings.CACHE_DIR = before
