"""System call filters as BPF bytes, made in Python so that no compiler and no libseccomp is needed.

Every filter is an allow-list: what is not named gets ENOSYS, as from a kernel that never had the call, so libraries
take their fallback.  A call from another architecture kills the process.

Left out on purpose, beyond the obvious (sockets, mounts, namespaces, ptrace, keys, BPF, io_uring, modules):

* ``flock``, record locks, leases and ``inotify``: two blocks could talk over any file that both may read;
* System V IPC, POSIX queues, ``memfd_create``: memory that outlives or escapes the limits;
* ``fadvise64``, ``readahead``, ``mincore``, ``MADV_PAGEOUT``, ``MADV_MERGEABLE``: the page cache as a notebook;
* ``sysinfo``, ``statfs``: counters of the whole machine;
* ``futex`` without FUTEX_PRIVATE_FLAG, and ``futex_waitv``: two blocks that map the same library read-only would share
  what they wait on, and one could wake the other;
* ``statx``: it returns numbers of mounts, from counters of the whole machine;
* ``mremap``, for functions: the warm parent's memory is a file that all blocks map (``frozen.py``); a mapping of it
  that grew beyond what was moved there would fill empty pages of that file, and the next block could count its faults;
* ``pipe``, ``pipe2``: a pipe has an inode number from a counter of the whole machine, which a block could advance by
  making many and a later block could read.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dither.errors import InvalidArgument
from dither.sandbox.syscalls import ARCHITECTURES, numbers

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_ALLOW = 0x7FFF0000
_KILL_PROCESS = 0x80000000
_ERRNO = 0x00050000

_LOAD, _EQUALS, _AND, _RETURN = 0x20, 0x15, 0x54, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16

NAMESPACE_FLAGS = 0x7E020000  # CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}
_THREAD_FLAG = 0x00010000
_PRIVATE_FUTEX = 128


@dataclass(frozen=True, slots=True)
class Among:
    """Allowed when argument ``argument``, after ``mask``, is one of ``values``; else ``otherwise`` is the error."""

    argument: int
    values: tuple[int, ...]
    otherwise: int = errno.EPERM
    mask: int | None = None


@dataclass(frozen=True, slots=True)
class Fails:
    """Always refused, with this error."""

    error: int


Rule = Among | Fails | None

_PLAIN = """
access alarm arch_prctl brk capget chdir chmod clock_getres clock_gettime clock_nanosleep close close_range creat dup
dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 exit exit_group
faccessat faccessat2 fallocate fchdir fchmod fchmodat fdatasync fstat fsync ftruncate getcpu getcwd
getdents getdents64 getegid geteuid getgid getgroups getitimer getpgid getpgrp getpid getppid getrandom getresgid
getresuid getrlimit getrusage getsid gettid gettimeofday getuid get_robust_list kill link linkat lseek lstat mkdir
mkdirat mmap mprotect mremap munmap nanosleep newfstatat open openat pause poll ppoll pread64 preadv
prlimit64 pselect6 pwrite64 pwritev read readlink readlinkat readv rename renameat renameat2 restart_syscall rmdir rseq
rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait sched_getaffinity
sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min sched_yield select sendfile setitimer
setrlimit set_robust_list set_tid_address sigaltstack signalfd4 stat symlink symlinkat tgkill time timer_create
timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime times tkill
truncate umask uname unlink unlinkat utimensat wait4 waitid write writev
""".split()  # noqa: SIM905 - a page, not a hundred lines

_GUARDED: dict[str, Rule] = {
    # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, F_GETPIPE_SZ, F_GET_SEALS: no locks, no leases.
    "fcntl": Among(1, (0, 1, 2, 3, 4, 1030, 1032, 1034)),
    # NORMAL, RANDOM, SEQUENTIAL, WILLNEED, DONTNEED, FREE, HUGEPAGE, NOHUGEPAGE, DONTDUMP, DODUMP
    "madvise": Among(2, (0, 1, 2, 3, 4, 8, 14, 15, 16, 17), otherwise=errno.EINVAL),
    # PR_SET_NAME, PR_GET_NAME, PR_SET_VMA
    "prctl": Among(0, (15, 16, 0x53564D41), otherwise=errno.EINVAL),
    # Only waits on the process's own memory.  Waiting for a thread's end is always without the flag: it asks again.
    "futex": Among(1, (_PRIVATE_FUTEX,), otherwise=errno.EAGAIN, mask=_PRIVATE_FUTEX),
    "ioctl": Fails(errno.ENOTTY),  # the honest answer to isatty
    "clone3": Fails(errno.ENOSYS),  # its flags lie in memory, where no filter can see them; libc falls back to clone
}

FUNCTION: dict[str, Rule] = {
    **dict.fromkeys(_PLAIN),
    **_GUARDED,
    "clone": Among(0, (_THREAD_FLAG,), mask=NAMESPACE_FLAGS | _THREAD_FLAG),
    "mremap": Fails(errno.ENOMEM),  # allocators then copy
}
"""For a Python function: threads, but no new process and no other program."""

EXECUTABLE: dict[str, Rule] = {
    **dict.fromkeys([*_PLAIN, "execve", "vfork", "fork", "setpgid", "setsid"]),
    **_GUARDED,
    "clone": Among(0, (0,), mask=NAMESPACE_FLAGS),
}
"""For a separate program: it may start others, in the same namespaces."""

PARENT: dict[str, Rule] = {
    **EXECUTABLE,
    **dict.fromkeys(["clone", "prctl", "fcntl", "seccomp", "unshare", "setns", "mount", "umount2", "capset"]),
    "pivot_root": None,
    **dict.fromkeys(
        ["recvmsg", "sendmsg", "sendto", "pidfd_open", "sched_setaffinity", "pipe", "pipe2", "memfd_create"]
    ),
}
"""For the warm parent, which runs no code of the analyst's: what it needs to prepare a block's namespaces."""


def machine_architecture() -> str:
    """The architecture of this machine; refused if no filter is known for it."""
    machine = {"arm64": "aarch64", "amd64": "x86_64"}.get(platform.machine(), platform.machine())
    if machine not in ARCHITECTURES:
        raise InvalidArgument(
            "machine", machine, f"must be one that system call filters exist for: {' and '.join(ARCHITECTURES)}"
        )
    return machine


def assemble(rules: Mapping[str, Rule], architecture: str) -> bytes:
    """The filter as the kernel wants it: 8 bytes an instruction, little-endian.

    >>> len(assemble({"read": None}, "x86_64")) // 8
    7
    """
    known = numbers(architecture)
    code = [
        _instruction(_LOAD, _ARCHITECTURE_AT),
        _instruction(_EQUALS, _AUDIT[architecture], when_true=1),
        _instruction(_RETURN, _KILL_PROCESS),
        _instruction(_LOAD, _NUMBER_AT),
    ]
    for name, rule in rules.items():
        if name in known:  # an older call that this architecture never had is refused anyway
            body = list(_body(rule))
            code += [_instruction(_EQUALS, known[name], when_false=len(body)), *body]
    code.append(_instruction(_RETURN, _ERRNO | errno.ENOSYS))
    return b"".join(code)


def _body(rule: Rule) -> Iterable[bytes]:
    """Instructions that end in a verdict; what follows them is reached only by other system calls."""
    if rule is None:
        yield _instruction(_RETURN, _ALLOW)
    elif isinstance(rule, Fails):
        yield _instruction(_RETURN, _ERRNO | rule.error)
    else:
        yield _instruction(_LOAD, _ARGUMENTS_AT + 8 * rule.argument)  # low word: these arguments are ints
        if rule.mask is not None:
            yield _instruction(_AND, rule.mask)
        for value in rule.values:
            yield _instruction(_EQUALS, value, when_false=1)
            yield _instruction(_RETURN, _ALLOW)
        yield _instruction(_RETURN, _ERRNO | rule.otherwise)


def _instruction(code: int, constant: int, when_true: int = 0, when_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, when_true, when_false, constant)
