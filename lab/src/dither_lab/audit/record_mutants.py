"""Mistakes where records become numbers, each of which has been made in an engine layer; the auditor must find them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
from sqlglot import exp

from dither.sources.engines.duckdb import DuckDB
from dither.sources.engines.engine import column, double_literal
from dither.sources.formats import NumberFormat
from dither.sources.selection import Selection, count_if
from dither.sources.windows import EngineColumns
from dither_lab.audit.checks import Check, Effort, Evidence
from dither_lab.audit.records import readings


class StatisticsDecide(DuckDB):
    """Tests for NaN by a comparison, which the optimiser answers from minima and maxima of row groups."""

    def __init__(self, source: Any, table: str | None = None) -> None:
        super().__init__(source, table)
        self._connection.execute("SET disabled_optimizers = ''")

    def finite(self, number: exp.Expr) -> exp.Expr:
        below = exp.LTE(this=number.copy(), expression=double_literal(np.inf))
        return exp.case().when(below, number.copy()).else_(exp.Null())


class InfinitiesEnter(DuckDB):
    """Leaves infinities as they are: the end of no bracket is above them."""

    def finite(self, number: exp.Expr) -> exp.Expr:
        return exp.case().when(self.is_nan(number), exp.Null()).else_(number.copy())


class TextsMustBeNumbers(DuckDB):
    """Reads the fields of a text file by a cast that one record can make fail."""

    def number(self, name: str, stored_type: str, written: NumberFormat | None = None) -> exp.Expr:
        if stored_type != "text" or written is not None:
            return super().number(name, stored_type, written)
        return self.finite(
            exp.cast(exp.Coalesce(this=column(name), expressions=[exp.Literal.string("none")]), "double")
        )


def _missing_forgotten(columns: EngineColumns, index: int, first: int, last: int) -> int:
    """A sum between two ranks from counts that leave missing records out, though the ranks count them."""
    selection: Selection = columns.selection
    unknown = exp.Is(this=selection.cleaned(str(columns.name)), expression=exp.Null())
    missing = int(selection.engine.rows(exp.select(count_if(unknown)).from_(selection.engine.table()))[0][0])
    every = columns.ranks(index, 1, columns.records(index))
    low, high = int(every[first - 1]), int(every[last - 1])
    present = np.delete(every, np.flatnonzero(every == round(1 / columns.grid.step))[:missing])
    inside = present[(present > low) & (present < high)]
    up_to_low, below_high = int((present <= low).sum()), int((present < high).sum())
    return int(inside.sum()) + low * (up_to_low - first + 1) + high * (last - below_high)


def _missing_dropped(selection: Selection, name: str | None, missing: float | None) -> exp.Expr:  # noqa: ARG001
    """Missing records as they come, with no value: sums and counts pass over them."""
    return _value(selection, name, None)


_value = Selection.value


def in_records() -> Iterator[Check]:
    """Each with the formats in which it shows."""
    engines: tuple[tuple[str, type[DuckDB], str], ...] = (
        ("a NaN test that is optimised away", StatisticsDecide, "view over parquet"),
        ("an end that no record is below", InfinitiesEnter, "parquet"),
        ("a cast that one record makes fail", TextsMustBeNumbers, "csv"),
    )
    for name, maker, form in engines:

        def run(effort: Effort, maker: Any = maker, form: str = form) -> Evidence:
            return readings(effort, maker, (form,))

        yield Check(name, "exhaustive", run, detail=form, proof="audit")
    patches: tuple[tuple[str, Any, str, Callable[..., Any]], ...] = (
        ("a forgotten missing count", EngineColumns, "between", _missing_forgotten),
        ("missing records without their public value", Selection, "value", _missing_dropped),
    )
    for name, owner, attribute, broken in patches:

        def patched(
            effort: Effort, owner: Any = owner, attribute: str = attribute, broken: Callable[..., Any] = broken
        ) -> Evidence:
            with mock.patch.object(owner, attribute, broken):
                return readings(effort, forms=("frame",))

        yield Check(name, "exhaustive", patched, detail="frame", proof="audit")
