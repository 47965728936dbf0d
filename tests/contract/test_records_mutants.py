"""Each mistake that version 0.1.0 made where records become numbers, put back alone: the contract of records fails.

1. A trimmed mean that asks the engine again and forgets missing records.
2. A NaN test that an optimiser answers by statistics of row groups, which leave NaN out.
3. Infinite records in brackets, none of whose ends is above them.
4. Entries without a text, texts without UTF-8, numbers beyond doubles.
5. Lines of a CSV that are left out for their bytes.
6. A filter that a Parquet reader answers by statistics of pages.
7. Infinite days that count as missing.
"""

import numpy as np
import pytest
from sqlglot import exp

import dither as dt
from contract import test_records as numbers
from contract import test_records_texts as texts
from dither.sources import column as columns
from dither.sources import parquet
from dither.sources.engines import duckdb, engine
from dither.sources.windows import EngineColumns

BROKEN = (AssertionError, dt.DitherError, ArithmeticError, ValueError, Warning)
"""How a test of the contract fails: a wrong value, or an answer that one record prevented."""


def fails(test, *arguments):
    """Whether a test of the contract fails."""
    try:
        test(*arguments)
    except BROKEN:
        return True
    return False


def by_statistics(monkeypatch, *left_on):
    """Let DuckDB decide by statistics of row groups and pages again, or by some of them."""
    kept = tuple(one for one in parquet.SWITCHED_OFF if left_on and one not in left_on)
    monkeypatch.setattr(parquet, "SWITCHED_OFF", kept)


def test_a_trimmed_mean_that_forgets_missing_records(place, monkeypatch):
    """Ranks count missing records; the sum between two of them is asked of the engine, which passes over NULL."""

    def forgetful(self, index, first, last):
        every = self.ranks(index, 1, self.records(index))
        missing = self.selection.engine.rows(
            exp.select(exp.Count(this=exp.Star()))
            .from_(self.selection.engine.table())
            .where(exp.Is(this=self.selection.cleaned(self.name), expression=exp.Null()))
        )[0][0]
        low, high = int(every[first - 1]), int(every[last - 1])
        present = np.delete(every, np.flatnonzero(every == self.grid.ends[0])[:missing])
        inner = int(present[(present > low) & (present < high)].sum())
        return inner + low * (int((present <= low).sum()) - first + 1) + high * (last - int((present < high).sum()))

    monkeypatch.setattr(EngineColumns, "between", forgetful)
    name, test = "arrow_frame", numbers.test_every_statistic_is_that_of_the_declared_reading
    assert any(fails(test, one, "whole", place, monkeypatch) for one in (name, "parquet_arrow", "csv_file"))


@pytest.mark.parametrize("name", ["parquet_arrow", "duckdb_view"])
def test_a_nan_test_that_is_optimised_away(name, place, monkeypatch):
    """``v <= Infinity`` is true of every row group whose statistics leave NaN out."""
    by_statistics(monkeypatch)

    def compared(self, number):
        below = exp.LTE(this=number.copy(), expression=engine.double_literal(np.inf))
        return exp.case().when(below, number.copy()).else_(exp.Null())

    monkeypatch.setattr(engine.Engine, "finite", compared)
    options = duckdb._option
    monkeypatch.setattr(
        duckdb, "_option", lambda key, value: options(key, exp.false() if key == "can_have_nan" else value)
    )
    test = numbers.test_one_nan_is_read_alike_whatever_the_others_are
    assert any(fails(test, name, path, place, monkeypatch) for path in ("whole", "brackets"))


@pytest.mark.parametrize("name", ["arrow_frame", "csv_file", "postgres_table"])
def test_infinities_that_enter(name, place, monkeypatch):
    """No end of a bracket is above them: questions fail, or leave them out."""

    def not_a_number(self, number):
        return exp.case().when(self.is_nan(number), exp.Null()).else_(number.copy())

    monkeypatch.setattr(engine.Engine, "finite", not_a_number)
    assert fails(numbers.test_brackets_in_tables_with_many_records, name, place, monkeypatch)


def test_entries_without_a_text(place, monkeypatch):
    """A frame as it came: the engine asks each object for its text, and one of them has none."""
    monkeypatch.setattr(duckdb, "readable", lambda frame: frame)
    for entry in (texts.Unshowable(), texts.WronglyShown(), "\ud800"):
        assert fails(texts.test_an_entry_of_any_class_in_a_frame_is_another_text, entry, place)
    assert fails(texts.test_the_longest_whole_number_can_be_shown)


@pytest.mark.parametrize("where", ["parquet", "plain parquet"])
def test_texts_without_utf8(where, place, monkeypatch):
    """A Parquet reader that refuses them."""
    options = duckdb._option
    strict = {"utf8_validation": exp.Literal.string("error")}
    monkeypatch.setattr(duckdb, "_option", lambda key, value: options(key, strict.get(key, value)))
    assert fails(texts.test_bytes_that_are_no_text_are_another_text, where, place)


def test_entries_that_are_converted_together(monkeypatch):
    """One number beyond doubles makes the conversion of all of them fail, or warn."""
    monkeypatch.setattr(columns, "_untyped", lambda data, read: np.asarray(data, dtype=np.float64))
    assert fails(texts.test_an_entry_of_a_list_or_of_objects_is_read_by_itself, 10**400)
    assert fails(texts.test_an_entry_of_a_list_or_of_objects_is_read_by_itself, np.longdouble("1e4000"))


def test_lines_that_are_left_out(place, monkeypatch):
    """A line that is no UTF-8 is no record: the declared number of rows is not there."""
    from dither.sources import lines

    def strict(block):
        known = [one for one in block.split(b"\n")[:-1] if b"\xff" not in one]
        return b"".join(one + b"\n" for one in known)

    monkeypatch.setattr(lines, "_cleaned", strict)
    assert fails(texts.test_a_single_odd_line_never_decides_whether_there_is_an_answer, b"5,\xff", place)
    assert fails(texts.test_every_line_is_one_record_whatever_its_bytes, "csv_file", b"\n", place)


def test_filters_that_a_parquet_reader_answers_by_statistics(place, monkeypatch):
    """One missing text in a page of equal ones makes all of them missing."""
    by_statistics(monkeypatch, "filter_pushdown")
    assert fails(texts.test_missing_texts_in_a_page_of_equal_ones, True, place)


def test_infinite_days_that_are_missing(place, request, monkeypatch):
    """The distance to an infinite day is NULL."""

    def plain(self, day):
        epoch = exp.cast(exp.Literal.string("1970-01-01"), "date")
        return exp.Anonymous(this="date_diff", expressions=[exp.Literal.string("day"), epoch, day])

    monkeypatch.setattr(duckdb.DuckDB, "day_number", plain)
    assert fails(texts.test_infinite_days_are_clamped, "duckdb", "whole", place, request, monkeypatch)


def test_without_a_mistake_the_same_tests_pass(place, request, monkeypatch):
    """The twin: what the tests above find is the mistake."""
    numbers.test_one_nan_is_read_alike_whatever_the_others_are("parquet_arrow", "whole", place, monkeypatch)
    numbers.test_brackets_in_tables_with_many_records("arrow_frame", place, monkeypatch)
    texts.test_bytes_that_are_no_text_are_another_text("parquet", place)
    texts.test_missing_texts_in_a_page_of_equal_ones(True, place)
    texts.test_infinite_days_are_clamped("duckdb", "whole", place, request, monkeypatch)
    for line in (b"5,\xff", b"\x01,a"):
        texts.test_a_single_odd_line_never_decides_whether_there_is_an_answer(line, place)
