"""The fields of delimited text, line by line: no line is read in the light of another.

A line ends at its line feed and nowhere else.  A field that begins with a quote ends at the quote that closes it, two
quotes in a row within it standing for one, and what follows up to the next delimiter is left out; where no quote closes
it, the last two in a row do, and where there are none it is an ordinary field.  Every other field is what stands
between delimiters, quotes included.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dither.kernels.compiled import compiled

Bytes = NDArray[np.uint8]


@compiled(nogil=True)
def _closing_quote(block: Bytes, first: int) -> int:
    """Where the quoted field that begins at ``first`` ends: its closing quote, or -1 if there is none in the line."""
    j, pair = first + 1, -1
    while block[j] != 0x0A:
        if block[j] == 0x22:
            if block[j + 1] != 0x22:
                return j
            pair = j
            j += 1
        j += 1
    return pair


# A step for each byte, and eight for each entry.
@compiled(lambda block, _delimiter, _places, _empty, _texts, offsets, _known: block.size + 8 * offsets.size, nogil=True)
def split_fields(
    block: Bytes,
    delimiter: int,
    columns: NDArray[np.int64],
    keeps_empty: bool,
    texts: Bytes,
    offsets: NDArray[np.int64],
    known: Bytes,
) -> int:
    """Copy fields of every line, each ended by a line feed, and return how many records there are.

    columns[place]: which row of ``texts`` the field at this place goes to, or -1.  Field k of a row ends where
    ``offsets`` says at k + 1; ``known`` is 0 where a line has none, or an empty one.  keeps_empty: whether a line
    without anything is a record.
    """
    count, i, size, places = 0, 0, len(block), len(columns)
    rows = len(offsets)
    while i < size:
        if block[i] == 0x0A and not keeps_empty:
            i += 1
            continue
        for row in range(rows):
            offsets[row, count + 1] = offsets[row, count]
            known[row, count] = 0
        place = 0
        while True:
            row = columns[place] if place < places else -1
            close = _closing_quote(block, i) if block[i] == 0x22 else -1
            if close >= 0:
                if row >= 0:
                    end, k = offsets[row, count], i + 1
                    while k < close:
                        texts[row, end] = block[k]
                        end += 1
                        k += 2 if block[k] == 0x22 else 1
                    known[row, count] = end > offsets[row, count]
                    offsets[row, count + 1] = end
                j = close + 1
                while block[j] != delimiter and block[j] != 0x0A:
                    j += 1
            else:
                j = i
                while block[j] != delimiter and block[j] != 0x0A:
                    j += 1
                if row >= 0:
                    end = offsets[row, count]
                    texts[row, end : end + j - i] = block[i:j]
                    known[row, count] = j > i
                    offsets[row, count + 1] = end + j - i
            i = j + 1
            if block[j] == 0x0A:
                break
            place += 1
        count += 1
    return count
