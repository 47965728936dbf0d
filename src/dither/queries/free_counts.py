"""Counting queries that a released histogram answers for free (V17 Theorem 2.9): post-processing of what was paid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.errors import InvalidArgument
from dither.mechanisms.noise_intervals import laplace_sum_half_width, largest_laplace_scale, missed_share
from dither.privacy import Loss, Neighbours, Simultaneous
from dither.queries.plan import Plan, Result
from dither.queries.vectors import Histogram
from dither.release import Release
from dither.sources.domain import whole
from dither.sources.grid import Grid
from dither.typing import BinChoice, Confidence, CountIntervals, Counts

MOST_RECORDS = 1 << 60


@dataclass(frozen=True)
class FreeCountPlan(Plan[tuple[int, ...]]):
    """The sum of some bins of a released histogram, or the public number of records minus the sum of the others."""

    label: str
    chosen: tuple[bool, ...]
    records: int | None
    scale: Fraction | None
    """At least the scale of each bin's noise, which the interval of the release shows; None: it has none."""
    missed: Fraction | None
    neighbours: Neighbours
    mechanism: str
    noise: str
    most: int | None = None
    """A public bound on the count, where the number of records is private."""
    loss = Loss(0.0)

    @property
    def confidence(self) -> float | None:
        return None if self.missed is None or self.scale is None else float(1 - self.missed)

    def run(self, records: tuple[int, ...]) -> Result:
        """``records``: the released counts of the bins, which are public."""
        kept = sum(count for count, choice in zip(records, self.chosen, strict=True) if choice)
        if self.records is not None and self.terms < sum(self.chosen):
            kept = self.records - (sum(records) - kept)
        if self.missed is None or self.scale is None:
            return Result(self._grid.clamp(kept))
        half = laplace_sum_half_width(self.scale, self.terms, self.missed)
        grid = self._grid
        return Result(grid.clamp(kept), grid.interval_around(kept, half))

    @property
    def terms(self) -> int:
        """How many noisy counts are added up."""
        terms = sum(self.chosen)
        return len(self.chosen) - terms if self.records is not None and 2 * terms > len(self.chosen) else terms

    @property
    def _grid(self) -> Grid:
        """Where counts lie: public."""
        return Grid(Fraction(1), 0, self.most if self.records is None else self.records)


def free_count(
    release: Release[Counts, CountIntervals], of: BinChoice, records: int | None, confidence: Confidence
) -> FreeCountPlan:
    """The plan for a count of bins of a released histogram; refuses releases that are none."""
    accepted = "must be the release of a histogram with declared bins and Laplace noise"
    is_histogram = isinstance(release, Release) and release.query.startswith(Histogram.noun)
    if not is_histogram or release.noise != "laplace" or release.loss.delta or not release.labels or release.refused:
        raise InvalidArgument("release", getattr(release, "query", type(release)), accepted)
    if records is not None:
        whole("records", records, least=1, most=MOST_RECORDS)
    chosen = _chosen(of, release.labels)
    named = [label for label, choice in zip(release.labels, chosen, strict=True) if choice]
    few = f"{len(named)} bins" if len(named) > 3 else ", ".join(named) or "no bin"
    return FreeCountPlan(
        label=f"count of {few}, from {release.query}",
        chosen=chosen,
        records=records,
        scale=_scale(release),
        missed=missed_share(confidence.each(1) if isinstance(confidence, Simultaneous) else confidence),
        neighbours=release.neighbours,
        mechanism=release.mechanism,
        noise=release.noise,
    )


def _chosen(of: BinChoice, labels: tuple[str, ...]) -> tuple[bool, ...]:
    if callable(of):
        return tuple(bool(of(label)) for label in labels)
    listed = (of,) if isinstance(of, str) else tuple(of) if hasattr(of, "__iter__") else (of,)
    for candidate in listed:
        if candidate not in labels:
            raise InvalidArgument(
                "of", candidate, f"must be bins of the histogram, or a function of a bin: {', '.join(labels[:9])}"
            )
    return tuple(label in listed for label in labels)


def _scale(release: Release[Counts, CountIntervals]) -> Fraction | None:
    """At least the scale of the noise: the largest at which intervals of the stated confidence are so wide."""
    if release.interval is None or release.confidence is None:
        return None
    half = max(high - low for low, high in release.interval) // 2
    missed = missed_share(release.confidence)
    return None if missed is None else largest_laplace_scale(half, missed)
