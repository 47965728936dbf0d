"""What a sandbox can see, and the ``bwrap`` command line that shows it that and nothing else.

Visible, all read-only: the C library and its neighbours (``/usr/lib``, ``/lib*``), this Python's standard library and
installed packages, ``/dev/null``, ``/dev/zero`` and ``/dev/urandom``; for executables also ``/usr`` as a whole and the
executable itself.  Not visible: home folders, ``/etc`` (but the linker's cache), ``/var``, ``/proc``, ``/sys``, the
host's ``/tmp`` and ``/dev/shm``, and the data.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

INSIDE = "/sandbox/fork_server.py"
FROZEN = "/sandbox/frozen.py"
PROGRAM = "/sandbox/program"
USER = 65534
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")

_ENVIRONMENT = {
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    # One core a block: threads would only wait for each other, and a parent with threads cannot fork safely.
    **dict.fromkeys(
        ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "LOKY_MAX_CPU_COUNT"], "1"
    ),
    "NUMBA_DISABLE_CACHING": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}


@dataclass(frozen=True, slots=True)
class FileView:
    """Pairs of (path on this machine, path inside), and links (target, path inside)."""

    binds: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...]


def bwrap_path() -> str | None:
    """Where ``bwrap`` is, or None."""
    return shutil.which("bwrap")


def view(*, executable: Path | None = None, visible: Sequence[Path] = ()) -> FileView:
    """What a program may see; ``visible`` adds folders or files of the owner's choice, at the same paths."""
    paths: list[str] = []
    links: list[tuple[str, str]] = []
    folders = ("/usr",) if executable is not None else ("/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib")
    paths += [folder for folder in folders if Path(folder).is_dir()]
    for name in ("/lib", "/lib32", "/lib64", *(("/bin",) if executable is not None else ())):
        if Path(name).is_symlink():
            links.append((str(Path(name).readlink()), name))
        elif Path(name).is_dir():
            paths.append(name)
    paths += [item for item in ("/etc/ld.so.cache",) if Path(item).exists()]
    if executable is not None and Path("/etc/alternatives").is_dir():
        paths.append("/etc/alternatives")
    paths += _python_paths()
    paths += [str(item.resolve()) for item in visible]
    binds = [(path, path) for path in _without_nested(paths)]
    binds += [(str(Path(__file__).with_name(Path(name).name)), name) for name in (INSIDE, FROZEN)]
    if executable is not None:
        binds.append((str(executable.resolve()), PROGRAM))
    return FileView(binds=tuple(binds), links=tuple(links))


def package_paths() -> list[str]:
    """Folders of installed packages, as the sandbox's ``sys.path`` gets them."""
    folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    return sorted(folder for folder in folders if Path(folder).is_dir())


def interpreter() -> str:
    """The real Python executable behind a virtual environment."""
    return str(Path(sys.executable).resolve())


def arguments_before(bwrap: str) -> list[str]:
    """Options that come before the mounts."""
    apart = [f"--unshare-{what}" for what in ("user", "pid", "ipc", "net", "uts", "cgroup")]
    # The parent prepares the namespaces of each block; the blocks themselves end up without any capability.
    capabilities = ["--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP"]
    return [bwrap, *apart, "--uid", str(USER), "--gid", str(USER), "--hostname", "sandbox", *capabilities]


def arguments_after(view: FileView, *, filter_descriptor: int, inherited: Iterable[int]) -> list[str]:
    """Options that come after the mounts, and the command."""
    command: list[str] = []
    for target, name in view.links:
        command += ["--symlink", target, name]
    for device in DEVICES:
        command += ["--dev-bind", device, device]
    command += ["--dir", "/tmp", "--remount-ro", "/", "--chdir", "/", "--clearenv"]
    for name, value in _ENVIRONMENT.items():
        command += ["--setenv", name, value]
    command += ["--seccomp", str(filter_descriptor), "--"]
    return [*command, interpreter(), "-s", "-S", "-P", INSIDE, *map(str, inherited)]


def _python_paths() -> list[str]:
    executable = interpreter()
    library = Path(executable).parent.parent / "lib"
    paths = [executable, sysconfig.get_path("stdlib"), *package_paths()]
    if library.is_dir():
        paths.append(str(library.resolve()))
    return [path for path in paths if Path(path).exists()]


def _without_nested(paths: Iterable[str]) -> list[str]:
    """Each path once, and none that lies below another.

    >>> _without_nested(["/usr/lib", "/usr", "/opt", "/usr"])
    ['/opt', '/usr']
    """
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not any(path.startswith(outer.rstrip(os.sep) + os.sep) for outer in kept):
            kept.append(path)
    return kept
