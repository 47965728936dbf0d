"""System call filters, run by a small machine written from the definition of classic BPF."""

import errno
import struct

import pytest

from dither.sandbox.seccomp import EXECUTABLE, FUNCTION, NAMESPACE_FLAGS, PARENT, assemble
from dither.sandbox.syscalls import ARCHITECTURES, numbers

ALLOWED, KILLED = 0x7FFF0000, 0x80000000
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
THREAD = 0x3D0F00  # the flags of pthread_create


def verdict(code, architecture, number, *arguments):
    """What the kernel would do: load, and, jump if equal, return; nothing else occurs in these filters."""
    data = struct.pack("<iIQ6Q", number, architecture, 0, *(arguments + (0,) * (6 - len(arguments))))
    accumulator, at = 0, 0
    while True:
        kind, jump_true, jump_false, constant = struct.unpack_from("<HBBI", code, 8 * at)
        at += 1
        if kind == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, constant)
        elif kind == 0x54:
            accumulator &= constant
        elif kind == 0x15:
            at += jump_true if accumulator == constant else jump_false
        elif kind == 0x06:
            return constant
        else:
            pytest.fail(f"unknown instruction {kind:#x}")


def refused(number):
    """The verdict that gives this error."""
    return 0x00050000 | number


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("rules", [FUNCTION, EXECUTABLE, PARENT])
def test_exactly_the_listed_calls_pass(rules, architecture):
    """Every plain rule allows its call, and of all other numbers not one passes."""
    code, known = assemble(rules, architecture), numbers(architecture)
    passing = {known[name] for name, rule in rules.items() if rule is None and name in known}
    guarded = {known[name] for name, rule in rules.items() if rule is not None and name in known}
    for number in range(600):
        if number not in guarded:
            expected = ALLOWED if number in passing else refused(errno.ENOSYS)
            assert verdict(code, AUDIT[architecture], number) == expected
    assert verdict(code, AUDIT["x86_64"], 0x40000000 + 39) == (
        refused(errno.ENOSYS) if architecture == "x86_64" else KILLED
    )


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_another_architecture_is_killed(architecture):
    """32-bit calls have other numbers; none of them may be taken for one of ours."""
    code = assemble(FUNCTION, architecture)
    assert verdict(code, 0x40000003, 1) == KILLED
    (other,) = set(ARCHITECTURES) - {architecture}
    assert verdict(code, AUDIT[other], numbers(other)["read"]) == KILLED


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_arguments_are_looked_at(architecture):
    """Threads but no processes for functions, no new namespaces for anyone, no locks, no advice to the page cache."""
    function, program = (assemble(rules, architecture) for rules in (FUNCTION, EXECUTABLE))
    call, here = numbers(architecture), AUDIT[architecture]
    assert verdict(function, here, call["clone"], THREAD) == ALLOWED
    assert verdict(function, here, call["clone"], 17) == refused(errno.EPERM)
    assert verdict(program, here, call["clone"], 17) == ALLOWED
    for bit in (1 << place for place in range(32)):
        if bit & NAMESPACE_FLAGS:
            assert verdict(function, here, call["clone"], THREAD | bit) == refused(errno.EPERM)
            assert verdict(program, here, call["clone"], 17 | bit) == refused(errno.EPERM)
    assert verdict(function, here, call["clone3"]) == refused(errno.ENOSYS)
    assert verdict(function, here, call["ioctl"], 0, 0x5401) == refused(errno.ENOTTY)
    assert verdict(function, here, call["fcntl"], 3, 1030) == ALLOWED
    for locking in (5, 6, 7, 36, 37, 38, 1024, 1026, 1033):
        assert verdict(function, here, call["fcntl"], 3, locking) == refused(errno.EPERM)
    assert verdict(function, here, call["madvise"], 0, 0, 4) == ALLOWED
    for advice in (12, 13, 20, 21, 22, 23):
        assert verdict(function, here, call["madvise"], 0, 0, advice) == refused(errno.EINVAL)
    assert verdict(function, here, call["prctl"], 22, 2) == refused(errno.EINVAL)


def test_numbers_are_distinct():
    """One number, one name, on each architecture."""
    for architecture in ARCHITECTURES:
        table = numbers(architecture)
        assert len(set(table.values())) == len(table)


def test_functions_get_less_than_executables_and_those_less_than_the_parent():
    """Each list contains the one before it."""
    assert set(FUNCTION) < set(EXECUTABLE) < set(PARENT)
    assert not {"unshare", "mount", "setns", "execve", "recvmsg", "sched_setaffinity"} & set(FUNCTION)
