"""File descriptors: enough of them for a question, before it is charged.

A process that has none left can't open a source, and some libraries then end the process.
"""

from __future__ import annotations

import errno
import os

from dither.errors import TooFewDescriptors

NEEDED = 64
"""For one question: files that an engine reads in parallel or writes for want of memory, pipes, the ledger."""
WANTED = 65_536
"""What a server asks for, if it may."""


def check_descriptors() -> None:
    """An error if a question could not open its files; nothing was charged yet."""
    held: list[int] = []
    try:
        while len(held) < NEEDED:
            held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        raise TooFewDescriptors(
            f"fewer than {NEEDED} file descriptors are left, too few to open a source safely: raise the limit "
            "(ulimit -n, LimitNOFILE of a service) or close connections; nothing was read, nothing was charged"
        ) from None
    finally:
        for item in held:
            os.close(item)


def is_short(error: BaseException) -> bool:
    """Whether an error says that this process, or the machine, has no file descriptor left."""
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)


def raise_descriptors() -> int:
    """Let this process have as many descriptors as it may, up to ``WANTED``; how many that are."""
    import resource  # noqa: PLC0415 - for servers, which need Linux

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return WANTED if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted
