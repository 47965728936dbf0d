"""The result of a question: the answer, its interval and its privacy loss.  Nothing in it is private any more."""

from __future__ import annotations

import datetime
import html
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, cast

from dither.aliases import older_name
from dither.errors import InvalidArgument
from dither.plain import Json, plain, unchanged
from dither.privacy import LEFT_OUT, Loss, Neighbours
from dither.wording import (
    NOTHING_LEARNT,
    Ends,
    answer_text,
    bound_text,
    ends_text,
    formatted,
    formatted_all,
    hidden_text,
    learnt_nothing,
    person_text,
    within,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame
    from typing_extensions import TypeVar

    from dither.plots import Drawn

    V = TypeVar("V", default=Any)
    B = TypeVar("B", default=Any)
    V_co = TypeVar("V_co", covariant=True, default=Any)
    B_co = TypeVar("B_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    V, B = TypeVar("V"), TypeVar("B")
    V_co, B_co = TypeVar("V_co", covariant=True), TypeVar("B_co", covariant=True)

IntervalName: TypeAlias = Literal["sample", "population"]
"""What an interval covers: the statistic of the records, or that of the population that they are a sample of."""
SAMPLE: IntervalName = "sample"
POPULATION: IntervalName = "population"
PUBLIC = "public"
"""The mechanism of answers that are public facts, such as a declared number of rows."""
MOST_PRINTED = 12
"""Of several values so many are printed; ``rows()`` has all."""
GroupKey: TypeAlias = str | int | float | datetime.date
"""The key of a group, by the type of its column: a category, a number, a truth value or a date."""
MaybeNone: TypeAlias = Any
"""None where a mechanism declined to answer.  Most never do, so checkers do not ask for a test of it."""
Released: TypeAlias = Any
"""A released value of any query: a number, a text, a date, or a tuple of them."""
Counted: TypeAlias = "int | float | str | datetime.date | tuple[Counted, ...] | None"
"""What missing records count as: a number or a date, as a text where it comes from JSON; or one for each column.

``LEFT_OUT`` where they are left out."""


@dataclass(frozen=True)
class ClampedTo:
    """Bounds that were found privately: a statistic without bounds is that of the records clamped to them."""

    low: float
    high: float
    beyond: int | None = None
    """How many records lie beyond them, with noise, where that was asked for."""
    beyond_interval: tuple[int, int] | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """The bounds, as ``Release.clamped`` has them."""
        return self.low, self.high

    def __str__(self) -> str:
        ends = f"of the records clamped to [{formatted(self.low)}, {formatted(self.high)}], bounds that were found"
        if self.beyond is None:
            return f"{ends} privately; nothing is said of what lies beyond"
        between = "" if self.beyond_interval is None else " ({:,} to {:,})".format(*self.beyond_interval)
        return f"{ends} privately; about {self.beyond:,}{between} lie beyond"

    def to_dict(self) -> dict[str, Json]:
        """Plain values for JSON."""
        ends: dict[str, Json] = {"low": self.low, "high": self.high}
        if self.beyond is None:
            return ends
        return {**ends, "beyond": self.beyond, "beyond_interval": plain(self.beyond_interval, unchanged)}

    @classmethod
    def from_dict(cls, payload: Mapping[str, Json]) -> ClampedTo:
        """What ``to_dict`` wrote."""
        ends = cast("Mapping[str, float]", payload)
        beyond, between = cast("tuple[int | None, list[int] | None]", map(payload.get, ("beyond", "beyond_interval")))
        return cls(ends["low"], ends["high"], beyond, None if between is None else (between[0], between[1]))


@dataclass(frozen=True)
class PersonLimit:
    """How much of each person counts, declared or found privately: the answer is about what lies within it."""

    epsilon: float | None
    """The part of the privacy loss that finding it took; None where it is declared."""
    rows: int | None = None
    """Of each person at most so many rows count; None where totals are limited."""
    total: tuple[float, float] | None = None
    """The total of each person is clamped to these ends."""
    is_weighted: bool = False
    """True if whoever has more weighs less in everything: in all rows, in all groups; False: rows beyond the limit are
    left out, and totals clamped."""

    counted: Literal["rows", "groups"] = "rows"
    """What ``rows`` is a number of: people are counted once in each group."""

    def text(self, unit: str | None) -> str:
        """In a sentence, what the answer is about.  unit: what tells people apart.

        >>> PersonLimit(None, 1).text("customer")
        'uses at most 1 row per person of customer; rows beyond that are not counted'
        """
        person = person_text(unit)
        found = "" if self.epsilon is None else f", a limit that was found privately for epsilon {self.epsilon:g}"
        if self.total is not None:
            low, high = map(formatted, self.total)
            clamped = f"the total of each {person} is clamped to [{low}, {high}]"
            scaled = f"the totals of each {person} in all groups are scaled down to at most {high} together"
            return f"{scaled if self.is_weighted else clamped}{found}; nothing is said of what lies beyond"
        if self.is_weighted:
            return f"all {self.counted} of one {person} together weigh at most {self.rows:,} {self.counted}{found}"
        rows = "1 row" if self.rows == 1 else f"{self.rows:,} rows"
        return f"uses at most {rows} per {person}{found}; rows beyond that are not counted"

    def questions(self) -> list[str]:
        """Which question says how many people have more rows than that, where these rows are left out.

        >>> PersonLimit(None, 1).questions(), PersonLimit(0.2, 4, is_weighted=True).questions()
        (['ask quality(*) for the share of people who have more rows than that'], [])
        """
        if self.rows is None or self.is_weighted:
            return []
        asked = "quality(*)" if self.epsilon is None else f"quality(*, limit => {self.rows})"
        return [f"ask {asked} for the share of people who have more rows than that"]

    def to_dict(self) -> dict[str, Json]:
        """Plain values for JSON."""
        total = None if self.total is None else list(self.total)
        limit: dict[str, Json] = {"epsilon": self.epsilon, "rows": self.rows, "total": total}
        return {**limit, "is_weighted": self.is_weighted, "counted": self.counted}

    @classmethod
    def from_dict(cls, payload: Mapping[str, Json]) -> PersonLimit:
        """What ``to_dict`` wrote."""
        spent, rows = cast("tuple[float | None, int | None]", (payload["epsilon"], payload["rows"]))
        total = cast("list[float] | None", payload["total"])
        counted: Literal["rows", "groups"] = "groups" if payload["counted"] == "groups" else "rows"
        ends = None if total is None else (total[0], total[1])
        return cls(spent, rows, ends, bool(payload["is_weighted"]), counted)


@dataclass(frozen=True)
class Release(Generic[V_co, B_co]):
    """A private answer.

    ``interval`` covers the statistic of the (clamped) records with probability ``confidence``, or where ``interval_of``
    says so that of the population that they are a sample of; ``loss`` is all that was spent, interval included;
    ``missing`` is the public value that missing records count as ("drop": they are left out); ``clamped`` are the
    bounds to which values outside are clamped, of several columns a pair each: the declared ones, or where none were
    known those that were found privately, of which ``clamped_to`` says more.

    Checkers know what is in it: ``Release[float, tuple[float, float]]`` has a number and an interval of two.
    """

    value: V_co | MaybeNone
    interval: B_co | None
    confidence: float | None
    loss: Loss
    neighbours: Neighbours
    query: str
    mechanism: str
    noise: str
    missing: Counted = None
    labels: tuple[str, ...] | None = None
    """Names of the values where there are several: ``value`` and ``interval`` are then tuples."""
    group: dict[str, GroupKey] | None = None
    """The keys of the group that was asked about; ``loss`` is then the privacy loss of all groups together."""
    reason: str | None = None
    """Why there is no answer, or only a part of it, in public terms: which test did not pass, what was not found."""
    alias: str | None = None
    """The name that a statement gave to the question (``AS name``)."""
    claim: str | None = None
    """What the guarantee rests on beside the proofs of the library: a claim of the author of a function."""
    derived_from: int | None = None
    """The charge of the ledger whose release this was computed from, at no loss of its own; None: from the records.

    A server tells an analyst its place in their own history, and 0 where somebody else paid for it."""
    clamped: Counted = None

    clamped_to: ClampedTo | None = None
    """Where no bounds were known: how those of ``clamped`` were found, which the answer and its interval are about."""
    person_limit: PersonLimit | None = None
    """Where one person may own many rows: the limit that is declared, or the one that was found."""
    unit: str | None = None
    """What tells people apart, where they are what is hidden: a column, or of linked tables the table of people."""
    range: Counted = None
    """Between which ends an answer can lie, by public facts; None: not known, as an end: there is none.

    A pair for all values, or one for each where they differ."""
    interval_of: IntervalName = SAMPLE

    simultaneous: float | None = None
    """The confidence with which all intervals of what was asked together hold at once (``dt.Simultaneous``)."""

    calibration = older_name("mechanism")
    if not TYPE_CHECKING:  # Release[float] leaves its interval open, which typing's own does not allow before 3.13
        __class_getitem__ = classmethod(types.GenericAlias)

    def __float__(self) -> float:
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            kind = "refused" if self.value is None else type(self.value).__name__
            raise TypeError(f"{self.title}: a number is needed, and the answer is {kind}; see .value")
        return float(self.value)

    def __format__(self, spec: str) -> str:
        """``f"{release}"`` is the sentence, ``f"{release:.1f}"`` the answer in that format."""
        if not spec:
            return str(self)
        if isinstance(self.value, tuple):
            return f"[{', '.join(format(part, spec) for part in self.value)}]"
        return "refused" if self.value is None else format(self.value, spec)

    @property
    def refused(self) -> bool:
        """True if the mechanism declined to answer; that is a result, and it was paid for."""
        return self.value is None

    def stored_fields(self) -> dict[str, Json]:
        """What the ledger keeps: ``to_dict`` without the sentences, which follow from it."""
        return {
            "query": self.query,
            "value": plain(self.value, unchanged),
            "refused": self.refused,
            "interval": plain(self.interval, unchanged),
            "confidence": self.confidence,
            "epsilon": self.loss.epsilon,
            "delta": self.loss.delta,
            **self.loss.stated_fields(),
            "neighbours": str(self.neighbours),
            "mechanism": self.mechanism,
            "calibration": self.mechanism,
            "noise": self.noise,
            "missing": plain(self.missing, unchanged),
            **({} if self.clamped is None else {"clamped": plain(self.clamped, unchanged)}),
            "labels": plain(self.labels, unchanged),
            **({} if self.alias is None else {"alias": self.alias}),
            **({} if self.group is None else {"group": plain(self.group, unchanged)}),
            **({} if self.claim is None else {"claim": self.claim}),
            **({} if self.derived_from is None else {"derived_from": self.derived_from}),
            **({} if self.clamped_to is None else {"clamped_to": self.clamped_to.to_dict()}),
            **({} if self.person_limit is None else {"person_limit": self.person_limit.to_dict()}),
            **({} if self.unit is None else {"unit": self.unit}),
            **({} if self.range is None else {"range": plain(self.range, unchanged)}),
            **({} if self.interval_of == SAMPLE else {"interval_of": self.interval_of}),
            **({} if self.simultaneous is None else {"simultaneous": self.simultaneous}),
            "reason": self.reason,
        }

    def to_dict(self) -> dict[str, Json]:
        """Plain values for JSON, with what they mean in sentences; the keys are stable: docs/release.md."""
        return {**self.stored_fields(), "notes": [*self.notes()]}

    @classmethod
    def from_dict(cls, payload: Mapping[str, Released]) -> Release:
        """The release that ``to_dict`` wrote; dates stay texts."""
        group, limit = payload.get("group"), payload.get("person_limit")
        limits = None if payload.get("clamped_to") is None else ClampedTo.from_dict(payload["clamped_to"])
        declared = _tupled(payload.get("clamped"))
        return cls(
            value=_tupled(payload["value"]),
            interval=_tupled(payload["interval"]),
            confidence=payload["confidence"],
            loss=Loss.from_fields(payload),
            neighbours=Neighbours(payload["neighbours"]),
            query=payload["query"],
            mechanism=payload["mechanism"] if "mechanism" in payload else payload["calibration"],
            noise=payload["noise"],
            missing=_tupled(payload["missing"]),
            clamped=limits.ends if declared is None and limits is not None else declared,
            labels=_tupled(payload["labels"]),
            reason=payload.get("reason"),
            alias=payload.get("alias"),
            group=None if group is None else dict(group),
            claim=payload.get("claim"),
            derived_from=payload.get("derived_from"),
            simultaneous=payload.get("simultaneous"),
            clamped_to=limits,
            person_limit=None if limit is None else PersonLimit.from_dict(limit),
            unit=payload.get("unit"),
            range=_tupled(payload.get("range")),
            interval_of=payload.get("interval_of", SAMPLE),
        )

    @property
    def title(self) -> str:
        """The question, with the group it was asked about."""
        if self.group is None:
            return self.query
        return f"{self.query} [{', '.join(f'{key} {formatted(item)}' for key, item in self.group.items())}]"

    def __str__(self) -> str:
        return f"{self._summary()}{self._notes()}"

    @property
    def summary(self) -> str:
        """Question, answer and interval in a line."""
        if self.value is None:
            return f"{self.title}: refused"
        return f"{self.title} = {self._answer()}{self._interval_text()}"

    def _summary(self) -> str:
        """Question, answer, interval and privacy loss."""
        paid = ", paid" if self.value is None else ""
        return f"{self.summary} ({self.loss}{paid}){self._reason()}"

    def _reason(self) -> str:
        return "" if self.reason is None else f"; {self.reason}"

    def _answer(self) -> str:
        if not isinstance(self.value, tuple):
            ((_, value, _),) = self.formatted_rows()
            return value
        if not self.value:
            return "[], nothing found"
        few = ", ".join(self._part(*row) for row in self.formatted_rows()[:MOST_PRINTED])
        return f"[{few}{', ...' if len(self.value) > MOST_PRINTED else ''}]"

    def _part(self, label: str, value: str, ends: tuple[str, str] | None) -> str:
        """One of several values with its name, where it has one, and its interval."""
        named = "" if self.labels is None else f"{label}: "
        return f"{named}{value}{'' if ends is None else f' ({ends[0]} to {ends[1]})'}"

    def _interval_text(self) -> str:
        if self.interval is None or self.confidence is None or self.value == ():
            return ""
        if isinstance(self.value, tuple):
            return f", with {percent_text(self.confidence)} intervals{covered_text(self.interval_of)}"
        ((_, _, ends),) = self.formatted_rows()
        low, high = ends or ("", "")
        return f", {percent_text(self.confidence)}{covered_text(self.interval_of)} between {low} and {high}"

    def __repr__(self) -> str:
        return f"<Release {self._summary()}, {self.mechanism}{self._notes()}>"

    def notes(self) -> list[str]:
        """What the answer is an answer about, in sentences: whose privacy, which rows, what is left out or clamped.

        Every form of a release (print, table, frame, notebook, JSON, page, CSV) takes them from here.
        """
        return table_notes([self])

    def learnt_nothing(self) -> list[str]:
        """The names of the values whose interval is the whole range of possible answers."""
        if self.range is None or self.interval is None or self.mechanism == PUBLIC:
            return []
        each = zip(self.rows(), self._ranges(), strict=True)
        return [label for (label, _, ends), possible in each if learnt_nothing(ends, possible)]

    def _ranges(self) -> list[Ends]:
        """The range of possible answers of each value."""
        ends = cast("Ends | tuple[Ends, ...]", self.range)
        count = len(self.value) if isinstance(self.value, tuple) else 1
        if ends is not None and isinstance(ends[0], tuple) and len(ends) == count:
            return list(cast("tuple[Ends, ...]", ends))
        return [cast("Ends", ends)] * count

    def _notes(self) -> str:
        return f"{''.join(f'; {note}' for note in self.notes())}{self._sources()}"

    def _sources(self) -> str:
        return f"{self._derived()}{self._claim()}"

    def _derived(self) -> str:
        return "" if self.derived_from is None else f"; {derived_text(self.derived_from)}"

    def _claim(self) -> str:
        return "" if self.claim is None else f"; {self.claim}"

    def rows(self) -> list[tuple[str, Released, Released]]:
        """(label, value, interval) for each value; one row for a single answer."""
        if not isinstance(self.value, tuple):
            return [(self.title, self.value, self.interval)]
        labels = self.labels or tuple(str(index + 1) for index in range(len(self.value)))
        ends: Released = self.interval or (None,) * len(self.value)
        return list(zip(labels, self.value, ends, strict=True))

    def shown_rows(self) -> list[tuple[str, Released, Released]]:
        """``rows`` as people see them: what noise moved beyond the possible answers is the nearest of them.

        A count of -3 is shown as 0; ``value`` and ``rows`` have the number that was drawn.
        """
        each = zip(self.rows(), self._ranges(), strict=True)
        return [
            (label, within(value, all_of), None if ends is None else tuple(within(end, all_of) for end in ends))
            for (label, value, ends), all_of in each
        ]

    def formatted_rows(self) -> list[tuple[str, str, tuple[str, str] | None]]:
        """``shown_rows`` as texts, with the digits that the intervals support."""
        each = zip(self.rows(), self.shown_rows(), self._ranges(), strict=True)
        return [
            (
                label,
                "refused" if value is None else answer_text(value, drawn, all_of),
                None if ends is None else ends_text(ends, all_of),
            )
            for (_, _, drawn), (label, value, ends), all_of in each
        ]

    def to_frame(self) -> DataFrame:
        """A pandas frame with one row for each value, as that of several releases."""
        return Releases([self], self.loss).to_frame()

    def _repr_html_(self) -> str:
        note = f"privacy loss {self.loss}; {self.mechanism}{_interval_level([self])}{self._notes()}"
        if self.value is not None:
            note += self._reason()
        note_text = f"<br><small>{html.escape(note)}</small>"
        if isinstance(self.value, tuple):
            body = "".join(
                f"<tr><td>{html.escape(label)}</td><td>{html.escape(value)}</td>"
                f"<td>{'' if interval is None else html.escape(' to '.join(interval))}</td></tr>"
                for label, value, interval in self.formatted_rows()
            )
            return f"<div><b>{html.escape(self.title)}</b><table>{body}</table>{note_text}</div>"
        if self.value is None:
            why = "" if self.reason is None else f"<br><small>{html.escape(self.reason)}</small>"
            return f"<div><b>{html.escape(self.title)}</b>: <b>refused</b>{why}{note_text}</div>"
        value, covered = html.escape(self._answer()), html.escape(self._interval_text())
        return f"<div><b>{html.escape(self.title)}</b> = <b>{value}</b>{covered}{note_text}</div>"

    def plot(self, ax: Axes | None = None) -> Drawn:
        """Draw the answer with its interval; returns the matplotlib axes."""
        from dither.plots import plot_release  # noqa: PLC0415  (matplotlib is slow to load)

        return plot_release(self, ax)


class Releases(list[Release[V, B]], Generic[V, B]):
    """Several releases: one for each group or each column of a query.  ``loss`` is that of all of them together."""

    if not TYPE_CHECKING:
        __class_getitem__ = classmethod(types.GenericAlias)

    def __init__(self, releases: Iterable[Release[V, B]], loss: Loss) -> None:
        super().__init__(releases)
        self.loss = loss

    def rows(self) -> list[dict[str, Released]]:
        """One row for each value: keys of the group, question, label, value and interval."""
        return [
            {
                **(release.group or {}),
                "query": release.query,
                **({} if release.labels is None else {"label": label}),
                "value": value,
                "lower": None if interval is None else interval[0],
                "upper": None if interval is None else interval[1],
            }
            for release in self
            for label, value, interval in release.rows()
        ]

    def wide_rows(self) -> list[dict[str, Released]]:
        """One row for each group: its keys, and for each question its value and the ends of its interval.

        Questions are named as in ``AS name``, else by what they ask.
        """
        payload: dict[str, dict[str, Released]] = {}
        for release in self:
            row = payload.setdefault(str(release.group), dict(release.group or {}))
            name = release.alias or release.query
            for label, value, interval in release.rows():
                column = name if release.labels is None else f"{name} {label}"
                low, high = (None, None) if interval is None else interval
                row |= {column: value, f"{column}_lower": low, f"{column}_upper": high}
        return list(payload.values())

    def to_frame(self, *, wide: bool = False) -> DataFrame:
        """A pandas frame of ``rows``; ``wide``: of ``wide_rows``, one row for each group.

        The column ``notes`` says what the answers are about.
        """
        try:
            import pandas as pd  # noqa: PLC0415  (an optional part)
        except ImportError:
            raise InvalidArgument("to_frame", "pandas", "install pandas for frames; .rows() needs nothing") from None
        if wide:
            frame = pd.DataFrame(self.wide_rows())
            frame["notes"] = "; ".join(self.notes())
            return frame
        frame = pd.DataFrame(self.rows())
        frame["notes"] = ["; ".join(release.notes()) for release in self for _ in release.rows()]
        return frame

    def to_dict(self) -> dict[str, Json]:
        """Plain values for JSON."""
        return {
            "epsilon": self.loss.epsilon,
            "delta": self.loss.delta,
            "releases": [release.to_dict() for release in self],
        }

    def __repr__(self) -> str:
        few = "\n".join(f"  <Release {item._summary()}, {item.mechanism}{item._sources()}>" for item in self[:20])
        more = f"\n  ... and {len(self) - 20} more" if len(self) > 20 else ""
        notes = "".join(f"\n{note}" for note in self.notes())
        return f"<Releases, {self.loss} for all {len(self)}:\n{few}{more}{notes}\n>"

    def notes(self) -> list[str]:
        """What must be known to read the table: what its answers are about, and how their intervals hold."""
        return table_notes(self)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(str(key))}</th>" for key in (self.rows()[0] if self else {}))
        texts = [row for release in self for row in release.formatted_rows()]
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(row, *text)) + "</tr>"
            for row, text in zip(self.rows(), texts, strict=True)
        )
        note = "; ".join([f"privacy loss {self.loss}{_interval_level(self)}", *self.notes()])
        return f"<div><table><tr>{head}</tr>{body}</table><small>{html.escape(note)}</small></div>"

    def plot(self, ax: Axes | None = None) -> Drawn:
        """Draw the answers with their intervals; returns the matplotlib axes.

        Several questions have a panel each, and the axes of the first are returned; on axes that were given they share
        one scale.
        """
        from dither.plots import plot_questions, plot_releases  # noqa: PLC0415  (matplotlib is slow to load)

        asked = list(dict.fromkeys(release.query for release in self))
        if len(asked) > 1 and ax is not None:
            return plot_releases(
                list(self), [member.title for member in self], f"answers{_interval_level(self)} ({self.loss})", ax
            )
        questions = []
        for query in asked:
            same = [member for member in self if member.query == query]
            loss = self.loss if len(asked) == 1 else same[0].loss
            questions.append((f"{query}{_interval_level(same)} ({loss})", same, [_key_text(item) for item in same]))
        if ax is None:
            return plot_questions(questions)
        title, same, labels = questions[0]
        return plot_releases(same, labels, title, ax)


def _cells(row: Mapping[str, Released], label: str, value: str, ends: tuple[str, str] | None) -> list[str]:  # noqa: ARG001
    """The cells of a row of ``Releases.rows``, numbers as people see them."""
    low, high = ends or ("", "")
    texts = {"value": "" if row["value"] is None else value, "lower": low, "upper": high}
    return [texts.get(key) or ("" if cell is None or key in texts else formatted(cell)) for key, cell in row.items()]


if TYPE_CHECKING:

    class Answered(Release, Releases):  # type: ignore[misc]
        """What SQL gives: one release, or several where the statement asks for several queries or groups.

        Only the statement says which.  Checkers allow what either of them has.
        """

else:
    Answered = Release | Releases


def _interval_level(releases: Iterable[Release]) -> str:
    """The confidence of the intervals, if all have the same."""
    levels = {(release.confidence, release.interval_of) for release in releases if release.interval is not None}
    if len(levels) != 1:
        return ""
    ((level, covered),) = levels
    return "" if level is None else f", {percent_text(level)} intervals{covered_text(covered)}"


def covered_text(interval_of: IntervalName) -> str:
    """What an interval is about, where that is not the statistic of the records."""
    return "" if interval_of == SAMPLE else " for the population"


def _key_text(release: Release) -> str:
    """The group of a release; with the names of the keys where the values alone would be a riddle."""
    group = release.group or {}
    if len(group) == 1 and not any(isinstance(item, bool) for item in group.values()):
        return ", ".join(str(item) for item in group.values())
    return ", ".join(f"{key} {item}" for key, item in group.items())


def _tupled(value: Json) -> Released:
    return tuple(_tupled(part) for part in value) if isinstance(value, list) else value


def readings(releases: Iterable[Release]) -> list[str]:
    """In words, what became of missing values and of those outside the bounds: the declared reading."""
    listed = list(releases)
    words = sorted({missing_text(candidate.missing) for candidate in listed if candidate.missing is not None})
    # (what was found says so itself)
    pairs = [pair for candidate in listed if candidate.clamped_to is None for pair in _pairs(candidate.clamped)]
    if pairs:
        ends = dict.fromkeys(f"{bound_text(low)} to {bound_text(high)}" for low, high in pairs)
        words.append(f"values outside {', '.join(ends)} are clamped")
    return words


def missing_text(missing: Counted) -> str:
    """What a statistic does with missing values, in the words of every answer and of the reference.

    The rule is to leave them out, unless something else is declared or leaving out is not proved for the statistic.

    >>> missing_text("drop"), missing_text(0)
    ('missing values are left out', 'missing values are not left out, they count as 0')
    """
    if missing == LEFT_OUT:
        return "missing values are left out"
    return f"missing values are not left out, they count as {formatted_all(missing)}"


def table_notes(releases: Sequence[Release]) -> list[str]:
    """What must be known to read releases: whose privacy, which rows, what was learnt, and how intervals hold."""
    paid = [release for release in releases if release.mechanism != PUBLIC]
    notes = [hidden_text(release.neighbours, release.unit) for release in paid]
    for limit, unit in ((release.person_limit, release.unit) for release in releases):
        if limit is not None:
            notes += [limit.text(unit), *limit.questions()]
    notes += _learnt_text(releases)
    notes += [str(release.clamped_to) for release in releases if release.clamped_to is not None]
    notes += readings(releases)
    grouped = len({str(release.group) for release in releases if release.group}) > 1
    if grouped:
        notes.append("all groups share one privacy loss; rows with another value are in none of them")
    if (grouped or any(release.simultaneous is not None for release in releases)) and held_text(releases):
        notes.append(held_text(releases))
    return list(dict.fromkeys(notes))


def _learnt_text(releases: Sequence[Release]) -> list[str]:
    """That nothing was learnt, where intervals are the whole range of possible answers: of all values, or of which."""
    several = len(releases) > 1
    names = [
        f"{release.title}: {label}" if several and isinstance(release.value, tuple) else label
        for release in releases
        for label in release.learnt_nothing()
    ]
    if not names:
        return []
    few = f" about {', '.join(names[:MOST_PRINTED])}{', ...' if len(names) > MOST_PRINTED else ''}"
    return [NOTHING_LEARNT.format(about=few if len(names) < sum(len(each.rows()) for each in releases) else "")]


def held_text(releases: Sequence[Release]) -> str:
    """In words, with which confidence intervals hold, each by itself or all at once; nothing of a single one."""
    known = [release for release in releases if release.interval is not None and release.confidence not in (None, 0, 1)]
    count = sum(len(release.rows()) for release in known)
    if not known:
        return ""
    together = {release.simultaneous for release in known}
    if None not in together:
        levels = {percent_text(level) for level in together if level is not None}
        return f"all intervals that were asked together hold at once with {', '.join(sorted(levels))}"
    level = known[0].confidence
    if count < 2 or level is None or any(release.confidence != level for release in known):
        return ""
    some = f"each of the {count:,} intervals holds by itself with {percent_text(level)}"
    return f"{some}; all at once with --simultaneous, confidence=dt.Simultaneous({level:g})"


def percent_text(level: float) -> str:
    """A confidence as a share of a hundred, with the digits that it needs."""
    return f"{100 * level:.4g}%"


def _pairs(clamped: Counted) -> list[tuple[Counted, Counted]]:
    """Bounds of one column, or of each of several."""
    if not isinstance(clamped, tuple):
        return []
    if isinstance(clamped[0], tuple):
        return [pair for item in clamped for pair in _pairs(item)]
    low, high = clamped
    return [(low, high)]


def derived_text(entry: int) -> str:
    """In words, which release an answer was computed from."""
    return f"computed from the release of charge {entry}" if entry else "computed from a release that another paid for"
