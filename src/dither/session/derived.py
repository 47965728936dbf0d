"""Counting queries that a stored histogram answers at no loss (V17 Theorem 2.9), by post-processing.

Whether it does is decided by the question, the schema and what the ledger stores: by nothing that is private.
Proof: docs/proofs/counting_queries.md, section 5.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
import heapq
import itertools
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, TypedDict, TypeGuard, cast

from dither.answer import released
from dither.errors import DitherError, UnknownDataset
from dither.ledger.book import Ledger
from dither.ledger.entries import Body, Entry, canonical
from dither.mechanisms.noise_intervals import laplace_sum_half_width, laplace_sum_mean, missed_share
from dither.numbers import exact
from dither.privacy import Loss, Neighbours
from dither.queries.free_counts import FreeCountPlan
from dither.queries.plan import Plan, Result
from dither.queries.totals import Count
from dither.queries.vectors import Histogram
from dither.queries.workloads import CountingQueries
from dither.quotes.quote import UPPER_BOUND, Quote
from dither.release import Counted, Release, derived_text
from dither.session.forms import VERSION
from dither.session.plan import TablePlan, plan
from dither.sources.canonical_filters import canonical_filter
from dither.sources.predicates import Both, Compare, Constant, Either, Missing, Predicate
from dither.sources.schema import Schema
from dither.sources.types import Boolean, Category, Date, Measured

if TYPE_CHECKING:
    from dither.ledger.entries import Stored
    from dither.session.account import Planned
    from dither.typing import AskOptions, GroupKey

Point: TypeAlias = Constant | None
"""A value of a column that stands for all that no edge and no condition tells apart from it; None: missing."""
MOST_HISTOGRAMS = 1_000
"""Stored histograms that are tried for a question."""
MOST_CELLS = 1 << 20
"""Bins, times queries, times groups: larger questions are read and paid for."""
ELSEWHERE = "\x00"
"""Stands for all texts that are named nowhere: no source stores it."""


@dataclass(frozen=True)
class StoredHistogram:
    """A histogram that was paid for: its question and its release."""

    charge: Entry
    """The charge that paid for it."""
    source: str | None
    """The mark of the source that was read."""
    text: str
    """The question in the form that the ledger keeps."""
    query: Histogram
    where: str | None
    options: AskOptions
    """Its loss, mechanism, noise and confidence."""
    values: tuple[int, ...]


@dataclass(frozen=True)
class DerivedPlan(Plan[tuple[int, ...]]):
    """Sums of bins of a stored histogram: post-processing, which has no privacy loss."""

    label: str
    counts: tuple[FreeCountPlan, ...]
    is_family: bool
    """Whether the answer is a tuple."""
    confidence: float | None
    neighbours: Neighbours
    mechanism: str
    noise: str
    missing: Counted
    labels: tuple[str, ...] | None
    derived_from: int
    loss = Loss(0.0)

    def run(self, records: tuple[int, ...]) -> Result:
        """``records``: the released counts of the bins, which are public."""
        each = [count.run(records) for count in self.counts]
        if not self.is_family:
            return each[0]
        ends = None if self.confidence is None else tuple(part.interval for part in each)
        return Result(tuple(part.value for part in each), ends)


@dataclass(frozen=True)
class Derivation:
    """How a stored histogram answers a question: a plan for each group."""

    histogram: StoredHistogram
    asked: TablePlan
    scale: Fraction
    groups: tuple[tuple[dict[str, GroupKey] | None, DerivedPlan], ...]

    @property
    def entry(self) -> int:
        """The charge that paid for the histogram."""
        return self.histogram.charge.number

    @property
    def variance(self) -> Fraction:
        """What stored histograms are compared by: the most noise in a count, up to a constant."""
        return self.scale**2 * max(count.terms for _, plan in self.groups for count in plan.counts)

    @functools.cached_property
    def releases(self) -> list[Release]:
        """The answers, one for each group."""
        together = self.asked.simultaneous
        return [released(item, item.run(self.histogram.values), group, together) for group, item in self.groups]

    def quote(self, fresh: Quote) -> Quote:
        """The quote of the free answer, which names what a fresh one would cost."""
        terms = [
            max(part.terms for part in each) for each in zip(*(plan.counts for _, plan in self.groups), strict=True)
        ]
        missed = missed_share(fresh.confidence) or Fraction(1, 20)
        if self.groups[0][1].is_family and isinstance(self.asked.query, CountingQueries) and self.asked.query.joint:
            missed /= len(terms)
        widths = [float(laplace_sum_half_width(self.scale, term, missed)) for term in terms]
        errors = [laplace_sum_mean(self.scale, term) for term in terms]
        family = self.groups[0][1].is_family
        expected, bound = (tuple(item) if family else item[0] for item in (errors, widths))
        return dataclasses.replace(
            fresh,
            loss=Loss(0.0),
            expected_error=expected,
            bound=bound,
            half_width=None if self.asked.confidence is None else bound,
            mechanism=self.groups[0][1].mechanism,
            noise=self.groups[0][1].noise,
            kind=UPPER_BOUND,
            attained=True,
            prior=None,
            floor=None,
            alternatives={},
            **derived_fields(self.entry, fresh_text(fresh)),
        )


class DerivedFields(TypedDict):
    """What a quote says of the charge that paid for its answer."""

    derived_from: int
    assumptions: tuple[str, ...]


def derived_fields(entry: int, instead: str) -> DerivedFields:
    """The same of a charge with this number; ``instead``: what a fresh answer would cost."""
    return {"derived_from": entry, "assumptions": (f"free: {derived_text(entry)}; {instead}",)}


def fresh_text(fresh: Quote) -> str:
    """What an answer would cost that is not free."""
    return f"a fresh answer (again=True, --again) spends {fresh.loss}, expected error {fresh.worst_expected:,.4g}"


class StoredHistograms:
    """The histograms that a ledger stores of a dataset; read as far as the ledger has grown."""

    def __init__(self, ledger: Ledger, dataset: str) -> None:
        self._ledger, self._dataset = ledger, dataset
        self._head, self._version = 0, 0
        self._known: list[StoredHistogram] = []
        self._lock = threading.Lock()
        self.is_visible: Callable[[Entry], bool] = lambda _: True
        """Whether the answer of a charge may be known; a server hides answers until their time has come."""
        self.derive: Callable[[Planned, list[StoredHistogram]], Derivation | None] = best_derivation
        """How the best of several is found; a server lets another process do it."""

    def all(self) -> list[StoredHistogram]:
        """All of the present version of the data, oldest first."""
        with self._lock:
            try:
                read = self._ledger.releases_of(self._dataset, Histogram.name, after=self._head)
            except UnknownDataset:
                return []  # its account is opened by the first question that is paid for
            if read.version != self._version:
                self._known, self._version = [], read.version
            self._known = [*self._known, *(histogram for each in read.found for histogram in _histograms(*each))]
            self._head, known = read.head, self._known
        return [item for item in known if self.is_visible(item.charge)]

    def candidates(self, *, entry: int | None = None) -> list[StoredHistogram]:
        """Those that may answer a question, oldest first: where there are too many, those of the greatest epsilon.

        entry: only the histograms of this charge.
        """
        listed = [row for row in self.all() if entry is None or row.charge.number == entry]
        if len(listed) <= MOST_HISTOGRAMS:
            return listed
        largest = heapq.nlargest(
            MOST_HISTOGRAMS, enumerate(listed), key=lambda row: (exact(row[1].options["epsilon"]), row[0])
        )
        return [row for _, row in sorted(largest, key=lambda row: row[0])]

    def answering(self, asked: Planned, *, entry: int | None = None) -> Derivation | None:
        """How the stored histogram with the least noise, of several the newest, answers a plan; None if none does.

        entry: only the histogram of this charge.
        """
        if not may_be_derived(asked):
            return None
        listed = self.candidates(entry=entry)
        return self.derive(asked, listed) if listed else None


def best_derivation(asked: Planned, listed: list[StoredHistogram]) -> Derivation | None:
    """How the histogram with the least noise, of several the last, answers a plan; None if none does."""
    if not may_be_derived(asked):
        return None
    results = [item for stored in reversed(listed) if (item := derivation(asked, stored)) is not None]
    return min(results, key=lambda result: result.variance, default=None)


def _histograms(charge: Entry, body: Body) -> Iterator[StoredHistogram]:
    """The histograms of a charge; of questions in another form, or without an answer, none."""
    questions, answers = charge.body["question"].get("questions"), body["release"].get("answers")
    if not isinstance(questions, list) or not isinstance(answers, list) or len(questions) != len(answers):
        return
    for form, answered in zip(cast("list[Stored]", questions), answers, strict=True):
        asked = form.get("query", {}) if isinstance(form, dict) and form.get("version") == VERSION else {}
        if asked.get("name") != Histogram.name or form["by"] or len(answered) != 1 or not answered[0]["value"]:
            continue
        given = {name: query for name, query in asked.items() if name != "name"}
        if "edges" in given:
            given["edges"] = [Fraction(argument) for argument in given["edges"]]
        if given.get("nulls") is not None:
            given["nulls"] = Fraction(given["nulls"])
        names = ("epsilon", "delta", "mechanism", "noise", "confidence")  # (its interval covers the records)
        options = cast("AskOptions", {name: form[name] for name in names})
        values = tuple(answered[0]["value"])
        yield StoredHistogram(
            charge, body.get("source"), canonical(form), Histogram(**given), form["where"], options, values
        )


def may_be_derived(asked: Planned) -> TypeGuard[TablePlan]:
    """Whether a question is one that post-processing may answer: a count with nothing chosen about its noise."""
    if not isinstance(asked, TablePlan):
        return False
    # A person's rows are cut after filtering, so with people who own several the counts are of other records.
    chosen = asked.asked["mechanism"], asked.asked["noise"]
    if asked.schema.unit is not None or asked.finder is not None or chosen != ("auto", "auto"):
        return False
    return not asked.costs_nothing and _family(asked) is not None


def derivation(asked: TablePlan, stored: StoredHistogram) -> Derivation | None:
    """How one stored histogram answers a plan, by public facts; None if it does not."""
    family = _family(asked)
    if family is None:
        return None
    column = str(stored.query.column)
    if column not in asked.schema.columns or not _is_small(asked, family, len(stored.values)):
        return None
    for own, shared in _split(family.conditions, column):
        predicate = canonical_filter(Both(shared), asked.schema) if shared else None
        if stored.where == (None if predicate is None else str(predicate)):
            planned = _planned_again(asked.schema, stored, predicate)
            if planned is not None:
                return _derived(asked, stored, planned, family, own)
    return None


@dataclass(frozen=True)
class CountedBins:
    """Counting queries: which records are counted at all, and the queries about bins of a column, if it is several."""

    conditions: tuple[Predicate, ...]
    several: CountingQueries | None = None

    @property
    def domain(self) -> Histogram | None:
        """The bins that tell records apart, if any."""
        return None if self.several is None else self.several.domain

    @property
    def size(self) -> int:
        """How many queries there are: a list of them, or one for each bin."""
        if self.several is None or self.domain is None:
            return 1
        listed = self.several.family
        return len(listed if isinstance(listed, tuple) else self.domain.bin_labels)

    @functools.cached_property
    def queries(self) -> tuple[tuple[bool, ...], ...]:
        """For each query the bins of ``domain`` that it counts; of one count without bins a single one."""
        return ((True,),) if self.several is None else self.several.bins_of_queries()


def _is_small(asked: TablePlan, family: CountedBins, bins: int) -> bool:
    """Whether what a stored histogram says of all queries and groups is quickly worked out: by public facts."""
    own = 1 if family.domain is None else len(family.domain.bin_labels)
    return max(bins, own) * family.size * (asked.groups or 1) <= MOST_CELLS


def _family(asked: TablePlan) -> CountedBins | None:
    conditions = () if asked.predicate is None else _conjuncts(canonical_filter(asked.predicate, asked.schema))
    if isinstance(asked.query, Count):
        flag = asked.query.column
        if flag is None:
            return CountedBins(conditions)
        true: Predicate = Compare(flag, "=", 1)
        declared = asked.schema.columns[flag]
        if isinstance(declared, Boolean) and declared.missing == 1 and not declared.drops_nulls:
            true = Either((true, Missing(flag)))
        return CountedBins((*conditions, true))
    if isinstance(asked.query, CountingQueries) and asked.query.domain is not None:
        return CountedBins(conditions, asked.query)
    return None


def _conjuncts(predicate: Predicate) -> tuple[Predicate, ...]:
    """The parts of a canonical filter that all hold."""
    return predicate.parts if isinstance(predicate, Both) else (predicate,)


def _split(
    conditions: Sequence[Predicate], column: str
) -> Iterator[tuple[tuple[Predicate, ...], tuple[Predicate, ...]]]:
    """Conditions on the histogram's column alone, and those that must be its filter."""
    own = tuple(condition for condition in conditions if set(condition.columns()) == {column})
    rest = tuple(condition for condition in conditions if set(condition.columns()) != {column})
    yield own, rest
    if own:
        yield (), tuple(conditions)


def _planned_again(schema: Schema, stored: StoredHistogram, predicate: Predicate | None) -> TablePlan | None:
    """The plan of a stored histogram, if it is planned today as it was: then its noise is known."""
    for read in (schema.leaving_out((str(stored.query.column),)), schema):
        try:
            planned = plan(stored.query, read, where=predicate, **stored.options)
        except (DitherError, TypeError, ValueError):
            continue
        if _laplace_scales(planned) is not None and canonical(planned.asked) == stored.text:
            return planned
    return None


def _laplace_scales(planned: TablePlan) -> tuple[Fraction, ...] | None:
    return None if planned.released_by is None else planned.released_by.laplace_scales


def _derived(
    asked: TablePlan, stored: StoredHistogram, planned: TablePlan, family: CountedBins, own: tuple[Predicate, ...]
) -> Derivation | None:
    scales, histogram = _laplace_scales(planned), planned.query
    if scales is None or not isinstance(histogram, Histogram):
        return None
    column, schema = str(histogram.column), asked.schema
    if len(scales) != len(stored.values):
        return None
    if family.domain is not None and family.domain.column != column:
        return None
    scale = max(scales)
    whole = planned.expected_rows  # of all rows, where their number is public
    keys = _keys(asked, column)
    if keys is None:
        return None
    placed = _placed(planned.schema, histogram, family, own, keys, schema)
    groups = []
    each: Sequence[str | None] = keys or (None,)
    for key in each:
        places = placed.all_places() if key is None else placed.places_of(key)
        if places is None:
            return None
        chosen = tuple(tuple(place is not None and query[place] for place in places) for query in family.queries)
        group: dict[str, GroupKey] | None = None if key is None else {column: key}
        groups.append((group, _plan_of(asked, planned.noise, scale, whole, chosen, stored.charge.number)))
    return Derivation(stored, asked, scale, tuple(groups))


def _keys(asked: TablePlan, column: str) -> list[str] | None:
    """The keys of the groups, none where nothing is grouped; None where groups are by another column."""
    if not asked.by:
        return []
    declared = asked.schema.columns[column]
    return list(map(str, declared.keys(column))) if asked.by == (column,) and isinstance(declared, Category) else None


def _plan_of(
    asked: TablePlan,
    noise: str,
    scale: Fraction,
    whole: int | None,
    chosen: tuple[tuple[bool, ...], ...],
    entry: int,
) -> DerivedPlan:
    joint = isinstance(asked.query, CountingQueries) and asked.query.joint
    missed = missed_share(asked.confidence)
    each = missed / len(chosen) if missed is not None and joint else missed
    mechanism = "worst_case"
    counts = tuple(
        FreeCountPlan(
            asked.label, choice, whole, scale, each, asked.neighbours, mechanism, noise, asked.schema.most_rows
        )
        for choice in chosen
    )
    return DerivedPlan(
        label=asked.label,
        counts=counts,
        is_family=isinstance(asked.query, CountingQueries),
        confidence=asked.confidence,
        neighbours=asked.neighbours,
        mechanism=mechanism,
        noise=noise,
        missing=asked.missing,
        labels=asked.labels,
        derived_from=entry,
    )


@dataclass(frozen=True)
class _Placed:
    """Where all values of a column fall, by finitely many that stand for all of them.

    A value that is counted has a place: its bin in the family's own domain.  Others have none.
    """

    bins: tuple[dict[Point, int | None], ...]
    """The values of each bin of the histogram, with their places."""
    left_out: dict[Point, int | None]
    """Those that are in no bin."""

    def all_places(self) -> list[int | None] | None:
        """The place of each bin; None where a bin holds values of several, or one that is counted is in none."""
        each = [set(item.values()) for item in self.bins]
        is_clear = all(len(part) <= 1 for part in each) and not any(item is not None for item in self.left_out.values())
        return [next(iter(part), None) for part in each] if is_clear else None

    def places_of(self, key: str) -> list[int | None] | None:
        """The same where nothing but one value is counted."""
        places: list[int | None] = [None] * len(self.bins)
        number = self._bin_of[key]
        places[number] = self.bins[number][key]
        return None if places[number] is not None and len(self.bins[number]) > 1 else places

    @functools.cached_property
    def _bin_of(self) -> dict[Point, int]:
        return {point: number for number, item in enumerate(self.bins) for point in item}


def _placed(
    schema: Schema,
    histogram: Histogram,
    family: CountedBins,
    conditions: tuple[Predicate, ...],
    keys: Sequence[str],
    asked: Schema,
) -> _Placed:
    """All values of the column, by those that neither edges nor conditions nor keys of groups tell apart.

    schema: as the histogram reads it; asked: as the counting queries do.
    """
    column, domain = str(histogram.column), family.domain
    bin_of = _bins_of(schema, histogram)
    own = None if domain is None else _bins_of(asked, domain)
    result = _Placed(tuple({} for _ in histogram.bin_labels), {})
    for point in _points(schema, histogram, domain, conditions, keys):
        counted = all(condition.holds({column: point}) is True for condition in conditions)
        held = bin_of(point)
        within = result.left_out if held is None else result.bins[held]
        within[point] = None if not counted else 0 if own is None else own(point)
    return result


def _bins_of(schema: Schema, histogram: Histogram) -> Callable[[Point], int | None]:
    """The bin of a value; None where records without a value are left out."""
    drops, missing = schema.columns[str(histogram.column)].drops_nulls, histogram.missing_in(schema)
    inner = () if histogram.edges is None else histogram.cuts[1:-1]
    known = {name: number for number, name in enumerate(histogram.names)} if histogram.edges is None else {}

    def bin_of(point: Point) -> int | None:
        if point is None and drops:
            return None
        if histogram.edges is None:
            return known.get(point, len(known)) if isinstance(point, str) else len(known)
        value = missing if point is None else point
        if not isinstance(value, (int, float)):
            raise RuntimeError("bins between edges are bins of numbers")
        return bisect.bisect_right(inner, value)

    return bin_of


def _points(
    schema: Schema,
    histogram: Histogram,
    domain: Histogram | None,
    conditions: tuple[Predicate, ...],
    keys: Sequence[str],
) -> Iterator[Point]:
    """One value of each class, and a missing one."""
    yield None
    declared = schema.columns[str(histogram.column)]
    constants: set[Constant] = {*keys, *(constant for condition in conditions for constant in condition.constants())}
    for item in (histogram,) if domain is None else (histogram, domain):
        constants |= set(item.names) if item.edges is None else set(item.cuts[1:-1])
    if not isinstance(declared, Measured):
        yield from (str(constant) for constant in constants)
        yield ELSEWHERE
        return
    if isinstance(declared, Boolean):
        yield from (0, 1)
        return
    cuts = sorted({float(constant) for constant in constants})
    yield from cuts if not isinstance(declared, Date) else (cut for cut in cuts if cut.is_integer())
    for low, high in itertools.pairwise([-math.inf, *cuts, math.inf]):
        between = _between(low, high, whole=isinstance(declared, Date))
        if between is not None:
            yield between


def _between(low: float, high: float, *, whole: bool) -> float | None:
    """A number strictly between two; of days a whole one.  None if there is none."""
    if math.isinf(low) and math.isinf(high):
        return 0.0
    if math.isinf(low) or math.isinf(high):
        return math.nextafter(high, low) if not whole and math.isinf(low) else _beyond(low, high, whole=whole)
    if whole:
        middle = float(math.floor(low) + 1)
        return middle if middle < high else None
    between = math.nextafter(low, high)
    return between if between < high else None


def _beyond(low: float, high: float, *, whole: bool) -> float:
    """A number before the first of all cuts, or behind the last."""
    if math.isinf(low):
        return float(math.ceil(high) - 1)
    return float(math.floor(low) + 1) if whole else math.nextafter(low, high)
