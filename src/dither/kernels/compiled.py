"""How kernels are compiled, and where the compiled code is kept between processes.

numba keeps it beside the source or in the user's cache folder, and refuses to define a function where it can write to
neither: a package that root installed, run by a service without a home.  The code then goes to a folder for temporary
files that is ours alone, or, if there is no such folder, is compiled in every process anew.
"""

from __future__ import annotations

import os
import stat
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from numba import config, njit

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_SETTINGS: Any = config  # its attributes come from the environment
_CONFIGURING = threading.Lock()


def compiled(**options: Any) -> Callable[[Kernel], Kernel]:
    """Compile a function with numba's ``options`` and keep the code where that is possible."""

    def decorate(function: Kernel) -> Kernel:
        kernel = njit(**options)(function)
        try:
            kernel.enable_caching()
        except RuntimeError:  # no place that numba knows of is writable
            folder = private_folder()
            if folder is not None:
                _cache_in(kernel, folder)
        built: Kernel = kernel
        return built

    return decorate


def private_folder() -> Path | None:
    """The folder of this user below that for temporary files; None where others could write to it.

    What is read back from it is run as code.  So it must be a folder and no link, belong to us and be closed to
    everybody else, below a folder in which no stranger can put another one in its place.
    """
    try:
        parent = Path(tempfile.gettempdir())
        folder = parent / f"dither-kernels-{os.geteuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        around, found = parent.stat(), folder.lstat()
    except OSError:
        return None
    others_write = around.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not around.st_mode & stat.S_ISVTX
    trusted = around.st_uid in {0, os.geteuid()} and not others_write
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
    return folder if trusted and ours else None


def _cache_in(kernel: Any, folder: Path) -> None:
    """numba looks up its setting once for each function, here; it is the setting of the whole process otherwise."""
    with _CONFIGURING:
        before, _SETTINGS.CACHE_DIR = _SETTINGS.CACHE_DIR, str(folder)
        try:
            kernel.enable_caching()
        except RuntimeError:  # a full disk, say: compiled in every process
            return
        finally:
            _SETTINGS.CACHE_DIR = before
