"""Text files line by line: every line is one record, whatever its bytes.

A reader of tables that leaves out a line which is too long, not UTF-8 or has one field too many makes the number of
records, and with it whether there is an answer, depend on that line.  Here a line ends at a line feed (with or without
a carriage return before it) and nowhere else, and bytes that are no UTF-8 are replaced within their line.
"""

from __future__ import annotations

import codecs
import contextlib
import functools
import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from dither.errors import InvalidArgument, InvalidData

if TYPE_CHECKING:
    import pyarrow as pa

UNREADABLE = (OSError, EOFError, zlib.error)
"""What a file raises that is damaged, or packed in another way than its name says."""
LONGEST = 1 << 20
"""Bytes of a line that are looked at: splitting a longer one into fields would take memory without bound."""
_BLOCK = 1 << 24
_BOM = b"\xef\xbb\xbf"
_FEED = 0x0A


DELIMITERS = {".csv": ",", ".tsv": "\t"}
"""What separates fields, by the suffix of a file."""
KNOWN_DELIMITERS = (",", ";", "\t", "|")
MOST_SKIPPED = 10_000
_ONE_BYTE = re.compile(r"ascii|iso8859-\d+|cp\d+|koi8-[a-z]|mac-[a-z]+")
"""Names of encodings of which some have one byte for each character."""


@dataclass(frozen=True)
class TextLayout:
    """How a text file is laid out: declared, or the same for every file; no record takes part.

    >>> TextLayout(delimiter=";", skip_lines=2, encoding="cp1252").options
    {'delimiter': ';', 'skip_lines': 2, 'encoding': 'cp1252'}
    """

    delimiter: str | None = None
    """What separates fields; None: by the suffix of the file, and in a .csv whose first line has no comma what stands
    there instead (a semicolon, a tab or a bar)."""
    skip_lines: int = 0
    """How many lines stand before the one that names the columns."""
    encoding: str = "utf-8"
    """Of one byte a character, or UTF-8."""

    def __post_init__(self) -> None:
        if self.delimiter is not None and self.delimiter not in KNOWN_DELIMITERS:
            listed = "a comma, a semicolon, a tab or a bar"
            raise InvalidArgument("delimiter", self.delimiter, f"must be {listed}")
        lines = self.skip_lines
        if isinstance(lines, bool) or not isinstance(lines, int) or not 0 <= lines <= MOST_SKIPPED:
            raise InvalidArgument("skip_lines", lines, f"must be a whole number of lines from 0 to {MOST_SKIPPED}")
        if not isinstance(self.encoding, str) or not _is_line_by_line(self.encoding):
            accepted = "must be utf-8, or an encoding of one byte a character such as latin-1 or cp1252"
            raise InvalidArgument("encoding", self.encoding, accepted)

    @property
    def options(self) -> dict[str, str | int]:
        """What differs from the usual layout."""
        usual = TextLayout()
        return {
            one.name: getattr(self, one.name)
            for one in fields(self)
            if getattr(self, one.name) != getattr(usual, one.name)
        }

    def delimiter_of(self, file: Path) -> str:
        """What separates the fields of a file: by the line that names its columns, never by a record."""
        if self.delimiter is not None:
            return self.delimiter
        usual = DELIMITERS[inner_suffix(file)]
        first = header(file, self)
        return usual if usual in first else next((one for one in KNOWN_DELIMITERS if one in first), usual)


@functools.cache
def _is_line_by_line(encoding: str) -> bool:
    """Whether what a line's bytes mean depends on that line alone: a line feed is a line feed, and nothing else is."""
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        return True
    try:
        if _ONE_BYTE.fullmatch(codecs.lookup(encoding).name) is None:
            return False
        texts = [bytes([one]).decode(encoding, "replace") for one in range(256)]
    except (LookupError, ValueError):
        return False
    same = all(texts[one] == chr(one) for one in range(128))
    return same and all(len(one) == 1 and one != "\n" for one in texts[128:])


USUAL = TextLayout()
"""The layout of a text file of which nothing is declared."""


def is_packed(file: Path) -> bool:
    """True for a name that ends in ``.gz``."""
    return file.suffix.lower() == ".gz"


def inner_suffix(file: Path) -> str:
    """The suffix that gives the format: that of the packed file for ``.gz``."""
    return Path(file.stem).suffix.lower() if is_packed(file) else file.suffix.lower()


def header(file: Path, layout: TextLayout = USUAL) -> str:
    """The line that names the columns: the first, or the first behind those that are skipped."""
    found = None
    with contextlib.suppress(*UNREADABLE), _opened(file) as stream:
        found = _first(stream, layout)
    if found is None:
        raise InvalidData(f"{file.name} cannot be read: it is not what its name says; nothing was charged")
    return found


def blocks(file: Path, layout: TextLayout = USUAL) -> Iterator[bytes]:
    """The lines after the header in blocks: UTF-8, every line ended by one line feed."""
    with _opened(file) as stream:
        _first(stream, layout)
        rest = b""
        while data := stream.read(_BLOCK):
            cut = data.rfind(b"\n") + 1
            if cut:
                yield _cleaned(rest + data[:cut], layout.encoding)
                rest = data[cut:]
            elif len(rest) <= LONGEST:  # (of a line that is longer only the beginning counts)
                rest += data
        if rest:
            yield _cleaned(rest + b"\n", layout.encoding)


def records(file: Path, layout: TextLayout = USUAL) -> Iterator[str]:
    """The lines after the header, one by one."""
    for block in blocks(file, layout):
        yield from block.decode("utf-8").split("\n")[:-1]


def batches(file: Path, layout: TextLayout = USUAL) -> pa.RecordBatchReader:
    """The lines after the header as a stream of Arrow batches with one column of texts."""
    import pyarrow as pa  # noqa: PLC0415  (slow to load)

    schema = pa.schema([("line", pa.large_string())])

    def read() -> Iterator[pa.RecordBatch]:
        for block in blocks(file, layout):
            ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == _FEED)
            offsets = np.zeros(len(ends) + 1, dtype=np.int64)
            offsets[1:] = ends - np.arange(len(ends))
            texts = block.replace(b"\n", b"")
            buffers = [None, pa.py_buffer(offsets), pa.py_buffer(texts)]
            yield pa.record_batch([pa.Array.from_buffers(pa.large_string(), len(ends), buffers)], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, read())


def _opened(file: Path) -> IO[bytes]:
    return gzip.open(file, "rb") if is_packed(file) else file.open("rb")  # type: ignore[return-value]  # both read


def _first(stream: IO[bytes], layout: TextLayout) -> str:
    lines = [stream.readline() for _ in range(layout.skip_lines + 1)]
    line = lines[-1] if layout.skip_lines else lines[-1].removeprefix(_BOM)
    return line.removesuffix(b"\n").removesuffix(b"\r").decode(layout.encoding, "replace")


def _cleaned(block: bytes, encoding: str) -> bytes:
    ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == _FEED)
    if np.diff(ends, prepend=-1).max(initial=0) > LONGEST + 1:
        block = b"\n".join(line[:LONGEST] for line in block.split(b"\n"))
    if not block.isascii():
        # A line feed is never part of a longer character, so what is replaced in a line depends on that line alone.
        block = block.decode(encoding, "replace").encode("utf-8")
    return block.replace(b"\r\n", b"\n") if b"\r" in block else block
