"""How a description spends its loss: decided from names, storage types and the number of records alone.

Every column has the same part of rho (docs/proofs/concentrated.md), whatever it turns out to hold: an eighth says how
many entries are missing and, where nothing declares it, of which kind they are; the rest buys quantiles or frequent
values.  What an untyped column does not need is not spent on others: losses are fixed before anything is read.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from dither.accounting.composition import compose
from dither.accounting.concentrated import greatest_rho
from dither.descriptions.grids import LEAST_BITS, MOST_BITS, Codes
from dither.descriptions.reading import KINDS, Kind, Storage
from dither.errors import InvalidArgument
from dither.privacy import Concentrated, Loss
from dither.queries.order import Quantiles
from dither.queries.plan import Options
from dither.queries.presence import CountPresent
from dither.queries.query import Query
from dither.queries.vectors import Histogram
from dither.sources.column import Shape

if TYPE_CHECKING:
    from dither.typing import Confidence, NoiseChoice, Number

Q = TypeVar("Q", bound=Query)
PRESENCE = Fraction(1, 8)
"""The part of a column's rho that says what is missing, and what its entries are."""
HIDING = Fraction(1, 8)
"""The part of delta that hides values of few people; the rest is for turning rho into epsilon."""
QUARTILES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
TAILS = (Fraction(1, 100), Fraction(1, 50), Fraction(1, 20), Fraction(1, 10), Fraction(1, 4))
"""How far out the outer quantiles may lie: as far as there are records enough beyond them; the last are quartiles."""
FINE_BITS = 12
"""Grids at least as fine as this come before tails farther out."""
INTERVAL_NATS = 14.0
"""What the draw of an interval's width needs, among some sixty."""
FREQUENT = Fraction(1, 10)
"""Values that a tenth of the records share must be found, or nothing is described."""
STEPS = 64
"""Candidates for an epsilon, for each doubling."""
MOST_COLUMNS = 10_000


@dataclass(frozen=True)
class DescriptionPlan:
    """Everything public about a description, before anything is read."""

    columns: tuple[tuple[str, Storage], ...]
    records: int
    loss: Loss
    confidence: Fraction | None
    rho: Fraction
    """Of one column."""
    hidden: Fraction
    """The delta of one column, beside its rho."""

    @classmethod
    def of(
        cls,
        columns: Sequence[tuple[str, Storage]],
        records: int,
        epsilon: Number,
        delta: Number,
        confidence: Confidence,
    ) -> DescriptionPlan:
        """The plan; refuses where there are too few records for this epsilon."""
        if not 1 <= len(columns) <= MOST_COLUMNS:
            raise InvalidArgument("data", f"{len(columns)} columns", f"must have from 1 to {MOST_COLUMNS:,} columns")
        options = Options.asked(epsilon, delta, confidence=confidence)
        loss = options.loss
        if options.simultaneous is not None:
            wanted = "must be a number: how many intervals a description has is only known afterwards"
            raise InvalidArgument("confidence", "Simultaneous", wanted)
        if loss.is_pure:
            raise InvalidArgument("delta", loss.delta, "must be above 0 for values that are frequent, such as 1e-6")
        _ = options.miss
        plan = cls(tuple(columns), records, loss, options.confidence, *_split(loss, len(columns)))
        if not plan.is_enough:
            raise InvalidArgument("epsilon", loss.epsilon, plan.least())
        if compose(plan.losses(), delta=loss.delta).exact_epsilon > loss.exact_epsilon:
            raise RuntimeError("the parts of a description cost more than the whole")
        return plan

    def losses(self) -> list[Loss]:
        """What each column costs at most, whatever is found in it."""
        each = Concentrated(self.rho, self.hidden)
        # As a single release it is no more than the whole; composition uses what is stated.
        return [Loss(self.loss.epsilon, self.loss.delta, stated=each)] * len(self.columns)

    # --- what is asked of a column ---------------------------------------------------------------------------------

    @functools.cached_property
    def shape(self) -> Shape:
        """The public facts of every question: all records."""
        return Shape(self.records, whole=True, nullable=False)

    def presence(self) -> tuple[CountPresent, Options]:
        """How many entries are there."""
        return self._fitted(CountPresent(), PRESENCE, "gaussian")

    def kinds(self) -> tuple[Histogram, Options]:
        """How many entries are of which kind."""
        return self._fitted(Histogram(categories=KINDS), PRESENCE, "gaussian")

    def frequent(self) -> tuple[Histogram, Options]:
        """Which values many records share."""
        return self._fitted(Histogram(), 1 - PRESENCE, "gaussian")

    def quantiles(self, kind: Kind, present: int) -> tuple[Quantiles, Options, Codes, tuple[Fraction, ...]] | None:
        """Quartiles, and tails where there are records enough beyond them, of so many values; None: too few for any.

        The number of values was released: that it is too small is a part of the answer, and raises no error.
        """
        with contextlib.suppress(InvalidArgument):
            return self._widest(kind, present) if present > 0 else None
        return None

    def _widest(self, kind: Kind, present: int) -> tuple[Quantiles, Options, Codes, tuple[Fraction, ...]] | None:
        grids = [Codes(bits, kind != "real") for bits in range(MOST_BITS, LEAST_BITS - 1, -1)]

        def asked(shares: tuple[Fraction, ...], codes: Codes) -> tuple[Quantiles, Options]:
            # Entries without a value have the largest code, so the ranks are those of all records.
            placed = tuple(share * present / self.records for share in shares)
            return self._fitted(Quantiles(q=placed, bounds=(0, codes.missing), step=1), 1 - PRESENCE, "auto")

        for least in (FINE_BITS, LEAST_BITS):
            for tail in TAILS:
                shares = tuple(sorted({tail, *QUARTILES, 1 - tail}))
                epsilon = asked(shares, grids[-1])[1].loss.exact_epsilon
                for codes in grids:
                    if codes.bits >= least and self._is_near(epsilon, tail * present, len(shares), codes):
                        return (*asked(shares, codes), codes, shares)
        return None

    def _is_near(self, epsilon: Fraction, beyond: Fraction, count: int, codes: Codes) -> bool:
        """Whether answers and ends of intervals stay among the records, of which so many lie beyond the outermost."""
        if self.confidence is None:
            return float(epsilon / 2 * beyond) >= codes.nats
        return float(epsilon / 4 * beyond) >= codes.nats and float(epsilon / (4 * count) * beyond) >= INTERVAL_NATS

    def _fitted(self, query: Q, part: Fraction, noise: NoiseChoice) -> tuple[Q, Options]:
        """A question with the largest epsilon at which it costs no more than its part: public facts alone."""
        most, delta = self.rho * part, Fraction(0) if noise == "auto" else 2 * self.hidden

        def options(step: int) -> Options:
            epsilon = float(f"{2.0 ** (step / STEPS):.6g}")
            return dataclasses.replace(Options.asked(epsilon, delta, noise=noise), confidence=self.confidence)

        def fits(step: int) -> bool:
            stated = query.plan(self.shape, options(step)).loss.concentrated
            return stated.rho <= most and stated.delta <= self.hidden

        low, high = -20 * STEPS, 5 * STEPS
        while high - low > 1:
            middle = (low + high) // 2
            try:
                low, high = (middle, high) if fits(middle) else (low, middle)
            except InvalidArgument:  # too small for this question
                low = middle
        if not fits(low):
            raise InvalidArgument("epsilon", self.loss.epsilon, "is too small for so many columns")
        return query, options(low)

    # --- whether that is enough ------------------------------------------------------------------------------------

    @property
    def is_enough(self) -> bool:
        """Whether quartiles can be near and frequent values be found, with all records present: public."""
        storages = {storage for _, storage in self.columns}
        numbers, texts = storages & {"whole", "real", "date", "untyped"}, storages & {"text", "boolean", "untyped"}
        if self.records < 2 or not numbers | texts:
            return self.records >= 2
        try:
            if numbers and self.quantiles("real", self.records) is None:
                return False
            if texts:
                query, options = self.frequent()
                return bool(query.plan(self.shape, options).bins.threshold <= FREQUENT * self.records)  # type: ignore[attr-defined]
        except InvalidArgument:
            return False
        return True

    def least(self) -> str:
        """The refusal, with what would be enough."""
        epsilon, records = self._least_epsilon(), self._least_records()
        what = f"{len(self.columns)} columns of {self.records:,} records"
        wanted = f"is too small to describe {what}: that needs epsilon of at least {epsilon:.2g}"
        if records is None:
            return wanted
        times = records * self.loss.epsilon
        return (
            f"{wanted}, or {records:,} records at this epsilon (records times epsilon: {times:,.0f}), or fewer columns"
        )

    def _least_epsilon(self) -> float:
        result = self.loss.epsilon
        while result < 1e6:
            result *= 1.1
            loss = Loss(result, self.loss.delta)
            rho, hidden = _split(loss, len(self.columns))
            if dataclasses.replace(self, loss=loss, rho=rho, hidden=hidden).is_enough:
                break
        return result

    def _least_records(self) -> int | None:
        for power in range(4, 160):
            records = int(float(f"{2.0 ** (power / 4):.2g}"))
            if records > self.records and dataclasses.replace(self, records=records).is_enough:
                return records
        return None


def _split(loss: Loss, columns: int) -> tuple[Fraction, Fraction]:
    """The rho and the delta of one column, rounded down."""
    whole = greatest_rho(loss.exact_epsilon, loss.exact_delta * (1 - HIDING))
    rho = Fraction(math.floor(whole / columns * 10**12), 10**12)
    return rho, Fraction(math.floor(loss.exact_delta * HIDING / columns * 10**30), 10**30)
