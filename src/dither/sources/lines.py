"""Text files line by line: every line is one record, whatever its bytes.

A reader of tables that leaves out a line which is too long, not UTF-8 or has one field too many makes the number of
records, and with it whether there is an answer, depend on that line.  Here a line ends at a line feed (with or without
a carriage return before it) and nowhere else, and bytes that are no UTF-8 are replaced within their line.
"""

from __future__ import annotations

import contextlib
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from dither.errors import InvalidData

if TYPE_CHECKING:
    import pyarrow as pa

UNREADABLE = (OSError, EOFError, zlib.error)
"""What a file raises that is damaged, or packed in another way than its name says."""
LONGEST = 1 << 20
"""Bytes of a line that are looked at: splitting a longer one into fields would take memory without bound."""
_BLOCK = 1 << 24
_BOM = b"\xef\xbb\xbf"
_FEED = 0x0A


def is_packed(file: Path) -> bool:
    """True for a name that ends in ``.gz``."""
    return file.suffix.lower() == ".gz"


def inner_suffix(file: Path) -> str:
    """The suffix that gives the format: that of the packed file for ``.gz``."""
    return Path(file.stem).suffix.lower() if is_packed(file) else file.suffix.lower()


def header(file: Path) -> str:
    """The first line, which names the columns."""
    found = None
    with contextlib.suppress(*UNREADABLE), _opened(file) as stream:
        found = _first(stream)
    if found is None:
        raise InvalidData(f"{file.name} cannot be read: it is not what its name says; nothing was charged")
    return found


def blocks(file: Path) -> Iterator[bytes]:
    """The lines after the first in blocks: UTF-8, every line ended by one line feed."""
    with _opened(file) as stream:
        _first(stream)
        rest = b""
        while data := stream.read(_BLOCK):
            cut = data.rfind(b"\n") + 1
            if cut:
                yield _cleaned(rest + data[:cut])
                rest = data[cut:]
            elif len(rest) <= LONGEST:  # (of a line that is longer only the beginning counts)
                rest += data
        if rest:
            yield _cleaned(rest + b"\n")


def records(file: Path) -> Iterator[str]:
    """The lines after the first, one by one."""
    for block in blocks(file):
        yield from block.decode("utf-8").split("\n")[:-1]


def batches(file: Path) -> pa.RecordBatchReader:
    """The lines after the first as a stream of Arrow batches with one column of texts."""
    import pyarrow as pa  # noqa: PLC0415  (slow to load)

    schema = pa.schema([("line", pa.large_string())])

    def read() -> Iterator[pa.RecordBatch]:
        for block in blocks(file):
            ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == _FEED)
            offsets = np.zeros(len(ends) + 1, dtype=np.int64)
            offsets[1:] = ends - np.arange(len(ends))
            texts = block.replace(b"\n", b"")
            buffers = [None, pa.py_buffer(offsets), pa.py_buffer(texts)]
            yield pa.record_batch([pa.Array.from_buffers(pa.large_string(), len(ends), buffers)], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, read())


def _opened(file: Path) -> IO[bytes]:
    return gzip.open(file, "rb") if is_packed(file) else file.open("rb")  # type: ignore[return-value]  # both read


def _first(stream: IO[bytes]) -> str:
    line = stream.readline().removeprefix(_BOM)
    return line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "replace")


def _cleaned(block: bytes) -> bytes:
    ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == _FEED)
    if np.diff(ends, prepend=-1).max(initial=0) > LONGEST + 1:
        block = b"\n".join(line[:LONGEST] for line in block.split(b"\n"))
    if not block.isascii():
        # A line feed is never part of a longer character, so what is replaced in a line depends on that line alone.
        block = block.decode("utf-8", "replace").encode("utf-8")
    return block.replace(b"\r\n", b"\n") if b"\r" in block else block
