"""The step between the owner's process and ``bwrap``: gives up root.

As root it first makes a mount namespace of its own and shows there, under a folder that anybody may enter, just the
folders that the sandbox will need; Python may live below a home folder that only root can enter.  Then it becomes a
user that owns nothing: RLIMIT_NPROC does not bind the real root, and neither do file permissions.

Run as a script (``launch.py REQUEST``, the number of an inherited descriptor); standard library only.
"""

from __future__ import annotations

import ctypes
import json
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypedDict

    class Request(TypedDict):
        """What to become, and what to show there."""

        before: list[str]
        binds: list[list[str]]
        after: list[str]


_NEW_MOUNT = 0x00020000
_BIND = 4096
_PRIVATE_TREE = (1 << 18) | 16384
_STAGES = ("/mnt", "/srv", "/tmp")  # the first that exists is covered, in this process's own mount namespace only
NOBODY = 65534
UNUSED_IDS = 0x70000000

_libc = ctypes.CDLL(None, use_errno=True)


def _mount(source: bytes | None, target: str, filesystem: bytes | None, flags: int, options: bytes | None) -> None:
    if _libc.mount(source, target.encode(), filesystem, ctypes.c_ulong(flags), options) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"mount on {target}: {os.strerror(number)}")


def stage(sources: list[str]) -> list[str]:
    """Bind every source below a folder that any user may enter; returns the new paths in order."""
    if _libc.unshare(_NEW_MOUNT) != 0:
        raise OSError(ctypes.get_errno(), "unshare: root without CAP_SYS_ADMIN")
    _mount(None, "/", None, _PRIVATE_TREE, None)
    handles = [os.open(source, os.O_PATH) for source in sources]
    base = next(item for item in _STAGES if Path(item).is_dir())
    _mount(b"tmpfs", base, b"tmpfs", 0, b"mode=755,size=1m")
    staged = []
    for place, handle in enumerate(handles):
        target = Path(base, str(place))
        if stat.S_ISDIR(os.fstat(handle).st_mode):  # by handle: the source itself may be covered now
            target.mkdir()
        else:
            target.touch()
        _mount(f"/proc/self/fd/{handle}".encode(), str(target), None, _BIND, None)
        os.close(handle)
        staged.append(str(target))
    return staged


def drop_root() -> None:
    """Become a user id that nothing else on this machine uses, or nobody where ids are few (containers)."""
    os.setgroups([])
    for user in (UNUSED_IDS + os.getpid(), NOBODY):
        try:
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        except OSError:
            continue
        return
    raise OSError("no unprivileged user id is available")


def main() -> None:
    """Read the request, prepare, and become bwrap."""
    with os.fdopen(int(sys.argv[1]), "rb") as source:
        request: Request = json.loads(source.read())
    # When memory is short the kernel ends the sandbox before the owner's process; no privilege is needed for this.
    Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    binds: list[list[str]] = request["binds"]
    if os.geteuid() == 0:
        staged = stage([source for source, _ in binds])
        binds = [[path, target] for path, (_, target) in zip(staged, binds, strict=True)]
        drop_root()
    command = list(request["before"])
    for path, target in binds:
        command += ["--ro-bind", path, target]
    os.execve(command[0], [*command, *request["after"]], {})


if __name__ == "__main__":
    main()
