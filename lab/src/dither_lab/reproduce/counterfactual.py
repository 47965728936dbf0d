"""Measurements as they would be if a claim, a mechanism or a value were another: no verdict may be a constant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dither_lab.reproduce.experiment import MeasuredPoints, Point
from dither_lab.reproduce.intervals import exact


def times(quantity: str, *series: str, by: float) -> Callable[[MeasuredPoints], MeasuredPoints]:
    """All values of a quantity (of some series of it) by a factor."""
    return lambda points: points.changed(quantity, lambda _: by, *series)


def power(quantity: str, *series: str, of: float) -> Callable[[MeasuredPoints], MeasuredPoints]:
    """All values of a quantity times a power of x: a rate that is wrong by so much."""
    return lambda points: points.changed(quantity, lambda p: p.x**of, *series)


def put(quantity: str, value: float, *series: str, last: bool = False) -> Callable[[MeasuredPoints], MeasuredPoints]:
    """A value in place of all those of a quantity (of some series of it), or of the last one of each series."""

    def planted(points: MeasuredPoints) -> MeasuredPoints:
        ends = {p.series: p.x for p in points.of(quantity)}

        def chosen(p: Point) -> bool:
            wanted = p.quantity == quantity and (not series or p.series in series)
            return wanted and (not last or p.x == ends[p.series])

        return MeasuredPoints(replace(p, y=exact(value)) if chosen(p) else p for p in points)

    return planted


def without(quantity: str, *series: str) -> Callable[[MeasuredPoints], MeasuredPoints]:
    """Nothing of a quantity (of some series of it)."""
    return lambda points: MeasuredPoints(
        p for p in points if p.quantity != quantity or (bool(series) and p.series not in series)
    )


def alike(quantity: str, series: str, model: str) -> Callable[[MeasuredPoints], MeasuredPoints]:
    """One series with the values of another, where both are."""

    def planted(points: MeasuredPoints) -> MeasuredPoints:
        there = {p.x: p.y for p in points.of(quantity, model)}
        return MeasuredPoints(
            replace(p, y=there[p.x]) if (p.quantity, p.series) == (quantity, series) and p.x in there else p
            for p in points
        )

    return planted


def both(*changes: Callable[[MeasuredPoints], MeasuredPoints]) -> Callable[[MeasuredPoints], MeasuredPoints]:
    """One after the other."""

    def planted(points: MeasuredPoints) -> MeasuredPoints:
        for change in changes:
            points = change(points)
        return points

    return planted
