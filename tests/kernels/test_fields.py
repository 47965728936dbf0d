"""Fields of delimited text: every line by itself, as a regular expression reads it."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dither as dt
import oracle
from dither.kernels.fields import split_fields
from dither.sources import lines as text_lines
from dither.sources.lines import USUAL, TextLayout, some_blocks, text_columns

LINES = st.lists(st.text(alphabet='",;ab \u00e9', max_size=9), min_size=1, max_size=8)


def read(folder, lines, width, delimiter=","):
    """The columns of a file with these lines."""
    file = folder / "x.csv"
    names = [f"c{place}" for place in range(width)]
    file.write_text("\n".join([delimiter.join(names), *lines]) + "\n", encoding="utf-8")
    layout = TextLayout(delimiter=delimiter)
    batches = list(text_columns(file, layout, {name: place for place, name in enumerate(names)}, width))
    return [[one for batch in batches for one in batch.column(place).to_pylist()] for place in range(width)]


@pytest.mark.parametrize("kernel", [split_fields.plain, split_fields.dispatcher()], ids=["plain", "compiled"])
@given(lines=LINES, width=st.integers(1, 4), delimiter=st.sampled_from(",;"))
@example(lines=[',"b"', ',,"x"', '"a"",b,c', '"""', '""""', '"a,b"c"d,e', '"', "", "a"], width=3, delimiter=",")
def test_fields_are_those_of_the_definition(kernel, tmp_path_factory, lines, width, delimiter):
    """Whatever quotes and delimiters there are; an empty field is missing, and an empty line a record of one column.

    So it is where Python runs the function, and where it is compiled.
    """
    with mock.patch.object(text_lines, "split_fields", kernel):
        found = read(tmp_path_factory.mktemp("fields"), lines, width, delimiter)
    kept = [oracle.fields_of(line, delimiter) for line in lines if line or width == 1]
    expected = [[(one[place] or None) if place < len(one) else None for one in kept] for place in range(width)]
    assert found == expected


def test_an_empty_field_before_a_quoted_one_shifts_nothing(tmp_path):
    """What stands in the second column is read in the second column, by sessions and by files alike."""
    (tmp_path / "x.csv").write_text('v,w\n,"5"\n' * 1 + ',"5"\n3,4\n' * 20)
    with dt.open(
        tmp_path / "x.csv", columns={"v": dt.Real(0, 9), "w": dt.Real(0, 9)}, rows=41, budget=dt.Budget(9)
    ) as session:
        assert dt.inspect.value(dt.Sum("w"), session) == pytest.approx(21 * 5 + 20 * 4)
        assert dt.inspect.value(dt.Sum("v"), session) == pytest.approx(20 * 3)


@pytest.mark.slow
@given(length=st.integers(1, 40), share=st.floats(0.01, 1.0))
def test_sampled_lines_are_lines_of_the_file(tmp_path_factory, length, share):
    """Whole lines, never parts of them, and about as many as were asked for."""
    file = tmp_path_factory.mktemp("some") / "x.csv"
    lines = [f"{number:0{length}}" for number in range(5_000)]
    file.write_text("\n".join(["v", *lines]) + "\n")
    found = b"".join(some_blocks(file, USUAL, share)).decode().split("\n")[:-1]
    assert set(found) <= set(lines)
    assert len(found) <= share * len(lines) + 600
    assert len(found) >= 0.7 * share * len(lines) - 600


def test_a_file_is_read_as_a_list_of_its_fields_is(tmp_path):
    """One reading of texts: figures with an underscore between them are one number, in files and in lists."""
    texts = ["1_000", "12", "1__0", "_1", "1e1", "x", ""]
    (tmp_path / "x.csv").write_text("\n".join(["v,w", *(f"{one},1" for one in texts)]) + "\n")
    with dt.open(tmp_path / "x.csv", columns={"v": dt.Real(0, 2_000)}, rows=len(texts), budget=dt.Budget(9)) as session:
        stored = dt.inspect.value(dt.Sum("v"), session)
    listed = dt.inspect.value(dt.Sum(bounds=(0, 2_000)), np.array(texts, dtype=object))
    assert stored == pytest.approx(1_022)
    assert listed == pytest.approx(1_022)
