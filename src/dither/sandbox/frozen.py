"""Memory of the warm parent that a fork need not copy: seen only inside a sandbox, by ``fork_server.py``.

A fork copies one entry for each page that the parent ever wrote, and the end of the child takes them all back: with
scikit-learn loaded 29,000 entries and 1,600 mappings, ten milliseconds of processor time for every block.  Mappings of
a file that nobody wrote to are not copied at all; a child gets their pages when it touches them.  So, once everything
is loaded, the written memory moves into a sealed memory file of the same content, mapped privately at the same place.
That changes what a fork costs and nothing else: a child's writes are its own, as they were before.

Copying a piece of memory and mapping the copy in its place must happen without a line of Python in between, for Python
writes everywhere all the time.  ``swapcontext`` of the C library runs one function after another on stacks of their
own: here ``memcpy`` and then ``mmap``.  Where anything is missing (another C library, no view of the own mappings,
threads) nothing is done, and blocks cost what forks cost.

Moved are the heap, the variables of libraries, and anonymous memory between Python objects that lie close together.
Other anonymous memory stays: its owner may expect zeros in pages that it has given back to the kernel.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import mmap
import os
from collections.abc import Iterator
from typing import NamedTuple

_READ, _WRITE, _EXECUTE = 1, 2, 4
_SHARED, _PRIVATE, _FIXED = 1, 2, 16
_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
_CONTEXT_BYTES = 1 << 14  # more than any ``ucontext_t``
_STACK_BYTES = 1 << 17
_IN_MEMORY = 0xC0  # the top bits of an entry of pagemap: present, or swapped out
_AT_ONCE = 1000
_NEAR = 1 << 16  # allocators map larger pieces than this, so none lies between objects that are nearer to each other
# Of the file, empty: a piece that the parent enlarges later must not reach beyond its end.  Blocks of functions may not
# enlarge any (``seccomp.py``): touching an empty page fills it, for all blocks to come.
_ROOM_TO_GROW = 1 << 40

_long = ctypes.c_long
_pointer = ctypes.c_void_p


class Mapping(NamedTuple):
    """One line of ``/proc/self/maps``."""

    start: int
    end: int
    allowed: str
    offset: int
    name: str

    def continues(self, before: Mapping) -> bool:
        """Whether it is the next piece of the same file at the next address."""
        apart = (self.name, self.start, self.offset) != (before.name, before.end, before.offset + before.size)
        return not apart and self.name.startswith("/")

    @property
    def size(self) -> int:
        """Bytes."""
        return self.end - self.start


class ProcessView:
    """The process's view of itself, opened while there is still a way to ``/proc``."""

    def __init__(self, processes: int) -> None:
        """``processes``: a descriptor of the machine's ``/proc``, which is closed."""
        self._opened: list[int] = []
        try:
            for name in ("maps", "pagemap", "task"):
                self._opened.append(os.open(f"self/{name}", os.O_RDONLY | os.O_CLOEXEC, dir_fd=processes))
        except OSError:
            self.close()
            raise
        finally:
            os.close(processes)

    def mappings(self) -> list[Mapping]:
        """All mappings as they are now."""
        text, place = b"", 0
        while part := os.pread(self._opened[0], 1 << 16, place):
            text += part
            place += len(part)
        return [_mapping(line) for line in text.decode("utf-8", "replace").splitlines()]

    def pages_in_memory(self, mapping: Mapping) -> int:
        """How many pages of it exist."""
        entries = os.pread(self._opened[1], 8 * (mapping.size // mmap.PAGESIZE), 8 * (mapping.start // mmap.PAGESIZE))
        return sum(1 for top in entries[7::8] if top & _IN_MEMORY)

    def threads(self) -> int:
        """How many threads there are, this one included."""
        return len(os.listdir(self._opened[2]))  # noqa: PTH208 - a descriptor has no path

    def close(self) -> None:
        """Nothing of it is left for programs."""
        while self._opened:
            os.close(self._opened.pop())


def opened_view(processes: int) -> ProcessView | None:
    """The view, or None where it is not to be had."""
    try:
        return ProcessView(processes)
    except OSError:
        return None


def freeze(view: ProcessView) -> bool:
    """Move written memory where forks do not copy it; says whether it did.  To be called before ``gc.freeze``."""
    if view.threads() != 1:  # another thread could write between the copy and its mapping
        return False
    try:
        swap = _Swap()
    except (AttributeError, OSError):
        return False
    _join_segments(view.mappings())
    runs = _runs(_pages_of_objects())
    swap.move(
        [piece for before, item, _ in _neighbours(view.mappings()) for piece in _pieces(before, item, runs, view)]
    )
    return True


def _pages_of_objects() -> list[int]:
    """Where Python objects lie: those that the collector knows, and what they refer to."""
    pages: set[int] = set()
    known = gc.get_objects()
    for place in range(0, len(known), _AT_ONCE):
        some = known[place : place + _AT_ONCE]
        pages.update(id(block) & -mmap.PAGESIZE for block in some)
        pages.update(id(referent) & -mmap.PAGESIZE for referent in gc.get_referents(*some))
    return sorted(pages)


def _runs(pages: list[int]) -> list[tuple[int, int]]:
    """Stretches of memory that objects lie in, without wide gaps.

    >>> _runs([0x10000, 0x11000, 0x40000]) == [(0x10000, 0x11000 + mmap.PAGESIZE), (0x40000, 0x40000 + mmap.PAGESIZE)]
    True
    """
    runs: list[tuple[int, int]] = []
    for page in pages:
        if runs and page - runs[-1][1] < _NEAR:
            runs[-1] = (runs[-1][0], page + mmap.PAGESIZE)
        else:
            runs.append((page, page + mmap.PAGESIZE))
    return runs


def _mapping(line: str) -> Mapping:
    """A line as a mapping.

    >>> _mapping("7f00-7f20 rw-p 00001000 fd:00 17   /lib/libm.so")
    Mapping(start=32512, end=32544, allowed='rw-p', offset=4096, name='/lib/libm.so')
    """
    span, allowed, offset, _, _, *name = line.split(None, 5)
    start, end = (int(part, 16) for part in span.split("-"))
    return Mapping(start, end, allowed, int(offset, 16), name[0].strip() if name else "")


def _pieces(before: Mapping | None, mapping: Mapping, runs: list[tuple[int, int]], view: ProcessView) -> list[Mapping]:
    """What of a mapping is moved; not the stack, on which this runs, and nothing that is mostly empty."""
    if mapping.allowed != "rw-p":
        return []
    if mapping.name == "[heap]" or mapping.name.startswith("/") or _is_rest_of_library(before, mapping):
        results = [mapping]
    elif mapping.name:
        return []
    else:
        spans = ((max(start, mapping.start), min(end, mapping.end)) for start, end in runs)
        results = [Mapping(start, end, mapping.allowed, 0, "") for start, end in spans if start < end]
    return [piece for piece in results if 2 * view.pages_in_memory(piece) * mmap.PAGESIZE >= piece.size]


def _is_rest_of_library(before: Mapping | None, mapping: Mapping) -> bool:
    """Variables that begin as zero have no bytes in the library's file; they follow those that do."""
    follows = before is not None and before.end == mapping.start
    return follows and before is not None and before.allowed == "rw-p" and before.name.startswith("/")


def _join_segments(mappings: list[Mapping]) -> None:
    """Each library's constants join its code, and what was relocated joins its variables: half as many mappings.

    Write protection of relocated data guards a process against itself; programs could lift it anyway.
    """
    change = _function("mprotect", [_pointer, ctypes.c_size_t, ctypes.c_int])
    for before, item, after in _neighbours(mappings):
        if item.allowed != "r--p" or not item.name.startswith("/"):
            continue
        if after is not None and after.continues(item) and after.allowed == "rw-p":
            change(item.start, item.size, _READ | _WRITE)
        elif (after is not None and after.continues(item) and after.allowed == "r-xp") or (
            before is not None and item.continues(before) and before.allowed == "r-xp"
        ):
            change(item.start, item.size, _READ | _EXECUTE)


def _neighbours(mappings: list[Mapping]) -> Iterator[tuple[Mapping | None, Mapping, Mapping | None]]:
    for place, mapping in enumerate(mappings):
        following = mappings[place + 1] if place + 1 < len(mappings) else None
        yield (mappings[place - 1] if place else None), mapping, following


class _Swap:
    """Copies memory and maps the copy in its place, in one call as far as Python is concerned."""

    def __init__(self) -> None:
        self._map = _function("mmap", [_pointer, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, _long])
        self._map.restype = _pointer
        self._copy = _function("memcpy", [_pointer, _pointer, ctypes.c_size_t])
        self._unmap = _function("munmap", [_pointer, ctypes.c_size_t])
        self._get = _function("getcontext", [_pointer])
        self._swap = _function("swapcontext", [_pointer, _pointer])
        self._make = _function("makecontext", None)
        # Contexts and stacks lie outside everything that is moved.
        self.room = self._mapped(3 * _CONTEXT_BYTES + 2 * _STACK_BYTES, _SHARED, -1)

    def move(self, pieces: list[Mapping]) -> None:
        """Every piece into one sealed memory file; neighbours then become one mapping."""
        size = sum(piece.size for piece in pieces)
        if not size:
            return
        file = os.memfd_create("frozen", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(file, size + _ROOM_TO_GROW)
        copy = self._mapped(size, _SHARED, file)
        offset = 0
        for piece in pieces:
            self._replace(piece, copy + offset, file, offset)
            offset += piece.size
        self._unmap(copy, size)
        self._unmap(self.room, 3 * _CONTEXT_BYTES + 2 * _STACK_BYTES)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEALS)
        os.close(file)

    def _replace(self, mapping: Mapping, copy: int, file: int, offset: int) -> None:
        here, first, second = (self.room + place * _CONTEXT_BYTES for place in range(3))
        stacks = self.room + 3 * _CONTEXT_BYTES
        self._prepare(first, stacks, second)
        self._prepare(second, stacks + _STACK_BYTES, here)
        self._make(_pointer(first), self._copy, 3, _long(copy), _long(mapping.start), _long(mapping.size))
        self._make(
            _pointer(second),
            self._map,
            6,
            _long(mapping.start),
            _long(mapping.size),
            _long(_READ | _WRITE),
            _long(_PRIVATE | _FIXED),
            _long(file),
            _long(offset),
        )
        self._swap(here, first)

    def _prepare(self, context: int, stack: int, following: int) -> None:
        """A context with a stack, and the one that comes after it."""
        self._get(context)
        # uc_flags, uc_link, and of uc_stack: ss_sp, ss_flags, ss_size; on every 64-bit Linux
        words = (ctypes.c_uint64 * 5).from_address(context)
        words[1], words[2], words[4] = following, stack, _STACK_BYTES

    def _mapped(self, size: int, flags: int, file: int) -> int:
        anonymous = 32 if file < 0 else 0
        place: int = self._map(None, size, _READ | _WRITE, flags | anonymous, file, 0)
        if place == _pointer(-1).value:
            raise OSError("mmap")
        return place


def _function(
    name: str, arguments: list[type[ctypes.c_void_p | ctypes._SimpleCData[int]]] | None
) -> ctypes._NamedFuncPointer:
    """A separate object for a function of the C library, so that its declared types are not shared."""
    result = ctypes.CDLL(None)[name]
    if arguments is not None:
        result.argtypes = arguments
    return result
