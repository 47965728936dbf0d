"""A whole run: environments, areas, rows."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dither_lab.bench.areas import area_of
from dither_lab.bench.design import Area, Comparison
from dither_lab.bench.machine import machine, versions
from dither_lab.bench.measuring import Sample, Stock, measure
from dither_lab.bench.peers import Standing, ensure_all
from dither_lab.bench.pool import Pool
from dither_lab.bench.result_rows import ResultRow, growth_rows, rows_of

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Results:
    """What a run found, on which machine, with which versions."""

    rows: list[ResultRow]
    peers: dict[str, dict[str, str | None]]
    machine: dict[str, Any]
    versions: dict[str, str]
    quick: bool
    clock: str = "wall"
    seconds: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "quick": self.quick,
            "clock": self.clock,
            "machine": self.machine,
            "versions": self.versions,
            "peers": self.peers,
            "seconds": self.seconds,
            "rows": [row.to_dict() for row in self.rows],
        }

    @classmethod
    def from_dict(cls, payload: dict[str, Any]) -> Results:
        """The results that ``to_dict`` wrote."""
        return cls(**{**payload, "rows": [ResultRow.from_dict(row) for row in payload["rows"]]})


def run(
    names: Iterable[str],
    *,
    quick: bool,
    home: Path,
    tell: Tell = lambda text: None,
    only: str | None = None,
    clock: str = "wall",
    keep: Callable[[Results], object] = lambda results: None,
) -> Results:
    """Measure areas one after the other; ``only`` keeps the comparisons whose names contain it.

    ``keep`` is given what there is after every area: a long run that is broken off has not been for nothing.
    """
    began, facts = time.monotonic(), machine()
    areas = [area_of(name) for name in names]
    listed = {area.name: _listed(area, quick, only) for area in areas}
    who = {way.who for candidate in listed.values() for result in candidate for way in (result.ours, *result.others)}
    standings = ensure_all(who, home, quick=quick, tell=tell)
    seconds = {"environments": round(time.monotonic() - began, 1)}
    peers = {
        name: {"version": standing.version, "reason": standing.reason}
        for name, standing in standings.items()
        if name != "dither"
    }
    rows: list[ResultRow] = []
    for area in areas:
        began = time.monotonic()
        rows += measure_area(area.name, listed[area.name], standings, tell, clock)
        seconds[area.name] = round(time.monotonic() - began, 1)
        keep(Results(rows, peers, facts, versions(), quick, clock, seconds))
    return Results(rows, peers, facts, versions(), quick, clock, seconds)


def measure_area(
    name: str, listed: list[Comparison], standings: dict[str, Standing], tell: Tell, clock: str = "wall"
) -> list[ResultRow]:
    """The rows of one area."""
    rows: list[ResultRow] = []
    measured: list[tuple[Comparison, list[Sample]]] = []
    with tempfile.TemporaryDirectory(prefix="dither-bench-") as folder:
        stock_folder = Path(folder) / "data"
        stock_folder.mkdir()
        stock = Stock(stock_folder)
        with Pool(standings, Path(folder)) as pool:
            for place, comparison in enumerate(listed, start=1):
                tell(f"{name} {place}/{len(listed)}: {comparison.what}")
                samples = measure(name, comparison, standings, pool, stock)
                measured.append((comparison, samples))
                rows += rows_of(name, comparison, samples, clock)
    return rows + growth_rows(name, measured, clock)


def _listed(area: Area, quick: bool, only: str | None) -> list[Comparison]:
    """What is measured.  A full run has the quick sizes too: ``--quick --compare`` looks for them in the record."""
    result = area.comparisons(quick)
    if not quick:
        full = {item.name for item in result}
        result = result + [replace(item, series=None) for item in area.comparisons(True) if item.name not in full]
    return [item for item in result if only is None or only in item.name]
