"""Blocks and answers in memory files: data sealed against every change, answers of a size fixed in advance."""

from __future__ import annotations

import io
import json
import os
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from dither.plain import Json
from dither.procedures.executor import Block

if TYPE_CHECKING:
    import pyarrow as pa

_DTYPE_KINDS = "biufSUM"
ALIGNMENT = 64
_BYTES_PER_NUMBER = 40
_SPARE_BYTES = 256
REPORT_BYTES = 4096


def sealed(content: bytes) -> int:
    """A descriptor of sealed memory: no process can change it any more, its owner included."""
    writable = os.memfd_create("block", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        _write_all(writable, content)
        _seal(writable, writable=False)
        return os.open(f"/proc/self/fd/{writable}", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(writable)


def fixed_size(size: int) -> int:
    """A descriptor of ``size`` zero bytes that can be written but neither grow nor shrink."""
    descriptor = os.memfd_create("answer", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    _seal(descriptor, writable=True)
    return descriptor


def text_size(numbers: int) -> int:
    """How many bytes an executable may write: enough for every number in full, a little more, never without end."""
    return max(REPORT_BYTES, _SPARE_BYTES + _BYTES_PER_NUMBER * numbers)


def encode(block: Block) -> bytes:
    """A block for a Python function: a header, then the bytes of an array or an Arrow stream."""
    if _is_arrow(block):
        stream = _arrow_stream(block)
        return _with_header({"format": "arrow", "bytes": len(stream)}, stream)
    array = np.ascontiguousarray(block)
    return _with_header({"format": "array", "dtype": array.dtype.str, "shape": list(array.shape)}, array.tobytes())


def encode_csv(block: Block, columns: Sequence[str] | None) -> bytes:
    """A block as lines of comma-separated values; numbers in full precision."""
    rows = block.to_pylist() if _is_arrow(block) else np.atleast_1d(np.asarray(block)).tolist()
    names = list(columns) if columns is not None else (block.column_names if _is_arrow(block) else None)
    lines = [",".join(_quoted(name) for name in names)] if names else []
    for row in rows:
        values = row.values() if isinstance(row, dict) else row if isinstance(row, (list, tuple)) else (row,)
        lines.append(",".join(_quoted(value) for value in values))
    return ("\n".join(lines) + "\n").encode()


def encode_arrow(block: Block, columns: Sequence[str] | None) -> bytes:
    """A block as an Arrow stream."""
    import pyarrow as pa  # noqa: PLC0415 - optional

    if not _is_arrow(block):
        array = np.asarray(block)
        table = array.reshape(len(array), -1)
        names = list(columns) if columns is not None else [f"c{place}" for place in range(table.shape[1])]
        block = pa.table({name: table[:, place] for place, name in enumerate(names)})
    return _arrow_stream(block)


def is_sendable(block: Block) -> bool:
    """Whether a block is an array of numbers, texts or dates, or an Arrow table; a question about types alone."""
    return _is_arrow(block) or np.asarray(block).dtype.kind in _DTYPE_KINDS


def _with_header(header: Mapping[str, Json], content: bytes) -> bytes:
    bare = json.dumps({**header, "start": 999_999_999}).encode()
    start = -(-(4 + len(bare)) // ALIGNMENT) * ALIGNMENT
    text = json.dumps({**header, "start": start}).encode()
    return (struct.pack("<I", len(text)) + text).ljust(start, b"\0") + content


def _is_arrow(block: Block) -> TypeGuard[pa.Table]:
    return type(block).__module__.startswith("pyarrow") and hasattr(block, "schema")


def _arrow_stream(table: pa.Table) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 - optional

    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write(table)
    return sink.getvalue()


def _quoted(value: object) -> str:  # an entry of a table: anything that prints
    """One field; a text is quoted where it must be."""
    if value is None:
        return ""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"\n\r') else text


def _seal(descriptor: int, *, writable: bool) -> None:
    """The size of this memory is final, and so is its content unless it is writable."""
    import fcntl  # noqa: PLC0415 - not on every system; this module is imported on all

    seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals if writable else seals | fcntl.F_SEAL_WRITE)


def _write_all(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]
