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
import itertools
import math
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from dither.errors import InvalidArgument, InvalidData
from dither.kernels.fields import split_fields

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import CapsuleType

UNREADABLE = (OSError, EOFError, zlib.error)
"""What a file raises that is damaged, or packed in another way than its name says."""
LONGEST = 1 << 20
"""Bytes of a line that are looked at: splitting a longer one into fields would take memory without bound."""
_BLOCK = 1 << 22
_PIECE, _PIECES = 512, 1 << 12
"""Bytes that are sampled together, at least, and how many such pieces are split at once."""
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
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != getattr(usual, field.name)
        }

    def delimiter_of(self, file: Path) -> str:
        """What separates the fields of a file: by the line that names its columns, never by a record."""
        if self.delimiter is not None:
            return self.delimiter
        usual = DELIMITERS[inner_suffix(file)]
        first = header(file, self)
        return usual if usual in first else next((item for item in KNOWN_DELIMITERS if item in first), usual)


@functools.cache
def _is_line_by_line(encoding: str) -> bool:
    """Whether what a line's bytes mean depends on that line alone: a line feed is a line feed, and nothing else is."""
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        return True
    try:
        if _ONE_BYTE.fullmatch(codecs.lookup(encoding).name) is None:
            return False
        texts = [bytes([index]).decode(encoding, "replace") for index in range(256)]
    except (LookupError, ValueError):
        return False
    same = all(texts[index] == chr(index) for index in range(128))
    return same and all(len(text) == 1 and text != "\n" for text in texts[128:])


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
    result = None
    with contextlib.suppress(*UNREADABLE), _opened(file) as stream:
        result = _first(stream, layout)
    if result is None:
        raise InvalidData(f"{file.name} cannot be read: it is not what its name says; nothing was charged")
    return result


def blocks(file: Path, layout: TextLayout = USUAL) -> Iterator[bytes]:
    """The lines after the header in blocks: UTF-8, every line ended by one line feed."""
    return (_cleaned(block, layout.encoding) for block in _raw_blocks(file, layout))


def _raw_blocks(file: Path, layout: TextLayout) -> Iterator[bytes]:
    with _opened(file) as stream:
        _first(stream, layout)
        rest = b""
        while data := stream.read(_BLOCK):
            cut = data.rfind(b"\n") + 1
            if cut:
                yield rest + data[:cut]
                rest = data[cut:]
            elif len(rest) <= LONGEST:  # (of a line that is longer only the beginning counts)
                rest += data
        if rest:
            yield rest + b"\n"


def records(file: Path, layout: TextLayout = USUAL) -> Iterator[str]:
    """The lines after the header, one by one."""
    for block in blocks(file, layout):
        yield from block.decode("utf-8").split("\n")[:-1]


def some_blocks(file: Path, layout: TextLayout, share: float) -> Iterator[bytes]:
    """Lines from about such a share of a file that is not packed, at equal distances, as they stand there.

    Which lines they are decides about nothing but the time that reading takes.
    """
    with file.open("rb") as stream:
        first = len(_first(stream, layout))
        start, end, size = stream.tell(), stream.seek(0, 2), max(_PIECE, 8 * first)
        count = math.ceil(share * (end - start) / size)
        for place in range(count):
            stream.seek(start + (end - start) * place // count)
            piece = stream.read(size)
            cut, last = piece.find(b"\n") + 1, piece.rfind(b"\n") + 1
            if 0 < cut < last:
                yield piece[cut:last]


def text_columns(
    file: Path, layout: TextLayout, places: Mapping[str, int], width: int, share: float | None = None
) -> pa.RecordBatchReader:
    """Columns of texts, by their places in a line, as a stream of Arrow batches; an empty field is missing.

    An empty line is a record without a value where there is one column (width), else it is none.  share: only lines
    from about such a share of the file.
    """
    import pyarrow as pa  # noqa: PLC0415  (slow to load)

    schema = pa.schema([(name, pa.large_string()) for name in places])
    wanted = np.full(max(places.values()) + 1, -1, dtype=np.int64)
    for row, place in enumerate(places.values()):
        wanted[place] = row

    def read() -> Iterator[pa.RecordBatch]:
        delimiter = ord(layout.delimiter_of(file))
        for block in blocks(file, layout) if share is None else _joined(some_blocks(file, layout, share), layout):
            raw = np.frombuffer(block, dtype=np.uint8)
            most = int(np.count_nonzero(raw == _FEED))
            texts = np.empty((len(places), len(raw)), dtype=np.uint8)
            offsets = np.zeros((len(places), most + 1), dtype=np.int64)
            known = np.empty((len(places), most), dtype=np.uint8)
            count = split_fields(raw, delimiter, wanted, width == 1, texts, offsets, known)
            yield pa.record_batch(
                [
                    pa.Array.from_buffers(
                        pa.large_string(),
                        count,
                        [
                            pa.py_buffer(np.packbits(known[row, :count], bitorder="little")),
                            pa.py_buffer(offsets[row, : count + 1]),
                            pa.py_buffer(texts[row]),
                        ],
                    )
                    for row in range(len(places))
                ],
                schema=schema,
            )

    return pa.RecordBatchReader.from_batches(schema, read())


@dataclass(frozen=True)
class TextColumns:
    """The same columns for engines that ask for Arrow streams: every query reads the file anew."""

    file: Path
    layout: TextLayout
    places: dict[str, int]
    width: int
    share: float | None = None

    def __arrow_c_stream__(self, requested_schema: CapsuleType | None = None) -> CapsuleType:
        """A new stream; nothing is read before its first batch is asked for."""
        columns = text_columns(self.file, self.layout, self.places, self.width, self.share)
        stream: CapsuleType = columns.__arrow_c_stream__(requested_schema)
        return stream


def _joined(pieces: Iterator[bytes], layout: TextLayout) -> Iterator[bytes]:
    while some := b"".join(itertools.islice(pieces, _PIECES)):
        yield _cleaned(some, layout.encoding)


def _opened(file: Path) -> IO[bytes]:
    return gzip.open(file, "rb") if is_packed(file) else file.open("rb")  # type: ignore[return-value]  # both read


def _first(stream: IO[bytes], layout: TextLayout) -> str:
    lines = [stream.readline() for _ in range(layout.skip_lines + 1)]
    line = lines[-1] if layout.skip_lines else lines[-1].removeprefix(_BOM)
    return line.removesuffix(b"\n").removesuffix(b"\r").decode(layout.encoding, "replace")


def _may_have_long_lines(block: bytes) -> bool:
    """False where every half of the longest line that is allowed has a line feed in it."""
    half = LONGEST // 2
    return any(block.find(b"\n", start, start + half) < 0 for start in range(0, len(block) - half, half))


def _cleaned(block: bytes, encoding: str) -> bytes:
    if _may_have_long_lines(block):
        block = b"\n".join(line[:LONGEST] for line in block.split(b"\n"))
    if not block.isascii():
        # A line feed is never part of a longer character, so what is replaced in a line depends on that line alone.
        block = block.decode(encoding, "replace").encode("utf-8")
    return block.replace(b"\r\n", b"\n") if b"\r" in block else block
