"""Whatever a record is, every source reads it as declared: the contract between a session and its engine.

Engines may be replaced; this must stay.  It speaks to ``dt.open``, sessions and ``dt.inspect`` only, and compares with
``record_oracle``, which reads records one by one in plain Python:

(a) the value that a mechanism is centred on is the statistic of the declared reading, for every statistic that a
    session answers, every source, both ways of reading (all values at once, or brackets around ranks), with filters,
    groups and people;
(b) every question is answered, without exception and without warning;
(c) files that differ in one record never differ by more than the first rung of the ladder says.

``DITHER_FEW_ROWS=0`` makes small tables be read in brackets.  Each mistake that version 0.1.0 made is put back by
``test_records_mutants`` and is found by these tests.  A slice runs by default, everything with ``DITHER_LONG=1``.
"""

import contextlib
import dataclasses
import datetime
import itertools
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import dither as dt
from contract import record_oracle as oracle
from contract.record_cases import (
    ELSEWHERE,
    FILTERS,
    INF,
    LONG,
    LOWER,
    NAN,
    ODD,
    POLICIES,
    QUESTIONS,
    REFUSED,
    TABLES,
    UPPER,
    chosen,
    close,
    kept,
    pick,
    real,
)
from contract.record_oracle import Declared
from contract.record_sources import (
    BY_ENGINE,
    EVERYWHERE,
    PATHS,
    POSTGRES,
    SPARK,
    TEXTS,
    asked,
    both_ways,
    long_form,
    read_by,
    some,
    stored,
)
from dither.queries.query import Query

SURE = {"epsilon": 500.0, "confidence": None}
"""At this epsilon a count is off by one with probability below e^-50."""


def questions(*, private, dates=False, records=None):
    """The questions that can be asked of such records."""
    return [
        one
        for one in QUESTIONS
        if (one.private or not private)
        and (one.dates or not dates)
        and (private or records is None or records >= one.least)
    ]


def width(declared):
    """The distance between the bounds."""
    return float(declared.upper - declared.lower)


def compare(session, name, records, declared, *, private, few, key, dates=False, where=None, long=None):
    """Ask for centres, and compare each with brute force."""
    steps = declared.read(records)
    asked_for = questions(private=private, dates=dates, records=len(steps))
    # Totals of ranks are read in a way of their own: always asked.
    first = [one for one in asked_for if one.name == "TrimmedMean"]
    for one in first + chosen([one for one in asked_for if one not in first], few, key, long):
        truth = oracle.plain(one.truth(steps, declared, private))
        found = dt.inspect.value(one.query(name), session, where=where)
        tolerance = one.tolerance * width(declared) if private else 0.0
        assert close(found, truth, tolerance), (key, one.name, where, found, truth)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("name", "path"), both_ways(some("every statistic is that", 8, 5, 3, 3, 1)))
def test_every_statistic_is_that_of_the_declared_reading(name, path, place, monkeypatch):
    """All questions about all odd records, with every null policy, with a public and a private number of rows."""
    read_by(path, monkeypatch)
    remote = name in SPARK
    tables = chosen(TABLES.items(), 1 if remote else 2, (name, path), long_form(name))
    for label, records in tables:
        given = stored(name, place, {"v": records})
        for nulls, private in chosen(
            itertools.product(POLICIES, (False, True)), 1, (name, path, label), long_form(name) or 4
        ):
            column, declared = real(nulls)
            hidden = private or nulls == "drop"
            with asked(given, {"v": column}, rows=None if private else len(records)) as session:
                key = (name, path, label, nulls, private)
                compare(
                    session,
                    "v",
                    records,
                    declared,
                    private=hidden,
                    few=1 if remote else 6,
                    key=key,
                    long=long_form(name),
                )


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "path"), both_ways(some("one nan is read", 8, 2, 1, 1, 1)))
def test_one_nan_is_read_alike_whatever_the_others_are(name, path, place, monkeypatch):
    """Statistics of row groups leave NaN out: no test of a record may rest on them."""
    read_by(path, monkeypatch)
    more = chosen([[NAN] * 5, [NAN, NAN, 12.0, 1.0]], 0 if name in SPARK else 1, name, long_form(name))
    for records in [TABLES["one number among NaN"], *more]:
        given = stored(name, place, {"v": records})
        column, declared = real()
        with asked(given, {"v": column}, rows=len(records)) as session:
            for one in chosen(
                [dt.Sum, dt.Median, dt.Maximum], 1 if name in SPARK else 3, (name, path), long_form(name)
            ):
                truth = next(q.truth for q in QUESTIONS if q.query is one)
                found = dt.inspect.value(one("v"), session)
                assert found == oracle.plain(truth(declared.read(records), declared, False)), (records, one)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", some("filters compare records as", 8, 2, 1, 2, 1))
def test_filters_compare_records_as_they_are(name, place):
    """A comparison with a missing value is never true, NaN is missing, and infinities are greater than any number."""
    remote = name in SPARK
    for label in chosen(TABLES, 1 if remote else 2, name, long_form(name)):
        records = TABLES[label]
        given = stored(name, place, {"v": records})
        column, declared = real()
        with asked(given, {"v": column}) as session:
            for where in chosen(FILTERS, 2 if remote else 4, (name, label), long_form(name)):
                left = kept(records, FILTERS[where])
                assert dt.inspect.value(dt.Count(), session, where=where) == len(left), (label, where)
            if not remote or LONG:
                where = pick(FILTERS, (name, label, "more"))
                left = kept(records, FILTERS[where])
                key = (name, label, where)
                compare(session, "v", left, declared, private=True, few=2, key=key, where=where)


@pytest.mark.parametrize(("name", "path"), both_ways(some("every group has the", 4, 2, 1, 1, 1)))
def test_every_group_has_the_statistics_of_its_own_records(name, path, place, monkeypatch):
    """One table holds a small dataset in each group: all of them are asked about at once."""
    read_by(path, monkeypatch)
    # Texts out of files are refused in views: there the keys are numbers.
    keys = list(range(len(TABLES) + 2)) if name == "duckdb_view" else [*"abcdefghij"[: len(TABLES) + 1], "other one"]
    groups = dict(zip(keys, TABLES.values(), strict=False)) | {keys[-2]: []}
    rows = [(key, one) for key, records in groups.items() for one in records]
    rows += [(None, 5.0), (keys[-1], INF), (keys[-1], NAN)]
    # Records of a group lie apart from each other.
    rows = rows[::3] + rows[1::3] + rows[2::3]
    given = stored(name, place, {"g": pa.array([key for key, _ in rows]), "v": [one for _, one in rows]})
    nulls = pick(POLICIES, (name, path))
    column, declared = real(nulls)
    declarations = {"v": column, "g": dt.Integer(0, keys[-2]) if name == "duckdb_view" else dt.Category(list(groups))}
    with asked(given, declarations, rows=len(rows)) as session:
        for where in (None, "v <= 5"):
            for one in chosen(questions(private=True), 1 if name in SPARK else 2, (name, path, where), long_form(name)):
                found = dt.inspect.value(one.query("v"), session, by="g", where=where)
                for key, records in groups.items():
                    steps = declared.read(kept(records, where and FILTERS[where]))
                    truth = oracle.plain(one.truth(steps, declared, True))
                    tolerance = one.tolerance * width(declared)
                    assert close(found[(key,)], truth, tolerance), (nulls, where, one.name, key, found[(key,)], truth)


@pytest.mark.parametrize("name", some("numbers as keys of", 3, 2, 1, 1, 0))
def test_numbers_as_keys_of_groups(name, place):
    """Minus zero is zero; what is no declared key, not even rounded to one, is in no group."""
    records = [None, NAN, INF, -INF, -0.0, 0.0, 1.0, 1.5, 2.0, 1e308, 2.0000001]
    given = stored(name, place, {"v": records})
    with asked(given, {"v": dt.Integer(0, 2)}) as session:
        assert dt.inspect.value(dt.Count(), session, by="v") == {(0,): 2, (1,): 1, (2,): 1}
        assert [one.value for one in session.ask(dt.Count(), by="v", **SURE)] == [2, 1, 1]


@pytest.mark.parametrize("name", some("keys of groups that are found", 3, 2, 1, 1, 1))
def test_numbers_between_keys_take_nothing_from_groups_that_are_found(name, place):
    """Where categories are found, a number that is no declared key is in no group, and takes nothing from others.

    (1.5 was read as the key 1, in whose place its count stood: one record changed a count by all others.)
    """
    numbers = [1.0] * 1000 + [1.5, 1.25, 0.75, -0.0, 0.0, 2.0, INF, NAN, None, 1e308]
    given = stored(name, place, {"c": pa.array(["a"] * len(numbers)), "v": numbers})
    with asked(given, {"c": dt.Category(), "v": dt.Integer(0, 2)}) as session:
        found = session.ask(dt.Count(), by=["c", "v"], epsilon=500.0, delta=1e-6, confidence=None)
        assert {(one.group["c"], one.group["v"]): one.value for one in found}[("a", 1)] == 1000


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", some("histograms of numbers", 3, 2, 1, 2, 1))
def test_histograms_of_numbers(name, place):
    """Records outside are in the first and the last bin, missing ones where the schema says."""
    records = TABLES["everything odd"]
    given = stored(name, place, {"v": records})
    for nulls, edges in chosen(
        itertools.product(POLICIES, ([-2.0, 0.0, 3.0, 10.0], [-1.0, 0.25, 0.75], [-5.0, 50.0])),
        1 if name in SPARK else 2,
        name,
        long_form(name),
    ):
        column, declared = real(nulls)
        with asked(given, {"v": column}, rows=len(records)) as session:
            truth = oracle.bins(records, edges, declared)
            assert dt.inspect.value(dt.Histogram("v", edges=edges), session) == truth, (nulls, edges)
            released = session.ask(dt.Histogram("v", edges=edges), **SURE)
            assert released.value == truth, (nulls, edges)
            if len(truth) > 1:
                upto = dt.CountingQueries("v", family="thresholds", edges=edges)
                assert dt.inspect.value(upto, session) == tuple(itertools.accumulate(truth)), (nulls, edges)


@pytest.mark.parametrize("name", some("programs and clusterings get", 3, 2, 1, 1, 1))
def test_programs_and_clusterings_get_the_declared_rows(name, place):
    """All columns of each record, missing values replaced; a record is left out where a column that drops has none."""
    records = TABLES["everything odd"]
    others = [*reversed(records)]
    given = stored(name, place, {"v": records, "w": others})
    (first, declared), (second, dropping) = real(3.0), real("drop")
    with asked(given, {"v": first, "w": second}) as session:
        found = dt.inspect.rows(session, ["v", "w"]).to_pylist()
        wanted = [
            (float(declared.step * one), float(dropping.step * other))
            for one, other in zip(map(declared.steps, records), map(dropping.steps, others), strict=True)
            if other is not None
        ]
        assert Counter((row["v"], row["w"]) for row in found) == Counter(wanted)


@pytest.mark.parametrize("name", some("sums of two columns", 4, 2, 1, 1, 1))
def test_sums_of_two_columns_in_groups(name, place):
    """Correlations and least squares read the declared rows of each group, exactly; no record makes them fail."""
    records = TABLES["everything odd"]
    others, keys = [*reversed(records)], [float(index % 3) for index in range(len(records))]
    given = stored(name, place, {"v": records, "w": others, "g": keys})
    (first, declared), (second, dropping) = real(3.0), real("drop")
    query = dt.LeastSquares(("v", "w"))
    with asked(given, {"v": first, "w": second, "g": dt.Integer(0, 3)}) as session:
        statistic, found = session._inspected_groups(query, by="g")
        for key in range(4):
            steps = [
                (declared.steps(one), dropping.steps(other))
                for one, other, group in zip(records, others, keys, strict=True)
                if group == key and dropping.steps(other) is not None
            ]
            y, x = (
                [one - grid.ends[0] for one in column]
                for grid, column in zip(
                    (statistic.y, *statistic.x), zip(*steps, strict=True) if steps else ([], []), strict=True
                )
            )
            columns = (y, x)
            products = {
                (j, k): sum(a * b for a, b in zip(columns[j], columns[k], strict=True))
                for j, k in ((0, 0), (0, 1), (1, 1))
            }
            assert dataclasses.astuple(found[(key,)]) == (len(steps), (sum(y), sum(x)), products), key
        assert len(session.ask(query, by="g", epsilon=1.0)) == 4
        assert session.ask(dt.Correlation(("v", "w")), where="v > 5", epsilon=1.0).value is not None


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "path"), both_ways(some("people with several rows", 3, 2, 1, 1, 1)))
def test_people_with_several_rows(name, path, place, monkeypatch):
    """Of each person at most the declared rows count, the same for every statistic; rows of nobody do not."""
    read_by(path, monkeypatch)
    people = ["a", "a", "a", "A", "a ", None, "é", "é", "e\u0301", "e\u0301", "b", "b"]
    if name in TEXTS:
        people = ["" if one is None else one for one in people]
    values = [2**index for index in range(len(people))]
    given = stored(name, place, {"u": pa.array(people), "v": pa.array(values, pa.int64())})
    declared = Declared(Fraction(0), Fraction(2**20), Fraction(1))
    for most, where in chosen(
        [(1, None), (2, None), (2, "v > 2"), (5, None)], 1 if name in SPARK else 2, (name, path), long_form(name)
    ):
        columns = {"v": dt.Integer(0, 2**20)}
        with asked(given, columns, unit="u", rows_per_unit=most) as session:
            total = dt.inspect.value(dt.Sum("v"), session, where=where)
            used = [index for index in range(len(people)) if total >> index & 1]
            selected = [i for i in range(len(people)) if people[i] and (where is None or values[i] > 2)]
            counts = Counter(people[index] for index in selected)
            assert set(used) <= set(selected)
            assert Counter(people[index] for index in used) == {who: min(most, n) for who, n in counts.items()}
            steps = [values[index] for index in used]
            for one in chosen(questions(private=True), 1 if name in SPARK else 2, (name, path, most), long_form(name)):
                truth = oracle.plain(one.truth(steps, declared, True))
                found = dt.inspect.value(one.query("v"), session, where=where)
                assert close(found, truth, one.tolerance * width(declared)), (one.name, found, truth)


# --- other types ------------------------------------------------------------------------------------------


def _singles(values):
    return [None if one is None else float(np.float32(one)) for one in values]


_BIG = 2**63 - 1
_DAYS = [
    None,
    datetime.date(1, 1, 1),
    datetime.date(9999, 12, 31),
    datetime.date(1970, 1, 1),
    datetime.date(1970, 4, 11),
    datetime.date(1970, 4, 12),
    datetime.date(1969, 12, 31),
    datetime.date(1970, 2, 1),
]
_TIMES = [None if one is None else datetime.datetime.combine(one, datetime.time(23, 59, 59)) for one in _DAYS]
_WHOLE = (dt.Integer(LOWER, UPPER, nulls="lower"), Declared(Fraction(LOWER), Fraction(UPPER), Fraction(1)))
_WIDE = (dt.Integer(-(2**51), 2**51, nulls="lower"), Declared(Fraction(-(2**51)), Fraction(2**51), Fraction(1)))
_CENTS = (dt.Decimal(LOWER, UPPER, nulls="lower"), Declared(Fraction(LOWER), Fraction(UPPER), Fraction(1, 100)))
_CALENDAR = (dt.Date("1970-01-01", "1970-04-11", nulls="lower"), Declared(Fraction(0), Fraction(100), Fraction(1)))
_FLAGS = (dt.Boolean(nulls=False), Declared(Fraction(0), Fraction(1), Fraction(1)))
TYPES = {
    "float32": (pa.float32(), _singles([*ODD[:4], 3e38, 1e-45, 0.1, *ODD[9:15], 10.3]), real()),
    "int64": (pa.int64(), [None, _BIG, -_BIG - 1, 2**53 + 1, 0, 1, 2, 10, 11, -3], _WHOLE),
    "int64 on a wide grid": (pa.int64(), [None, _BIG, -_BIG - 1, 2**53 + 1, 2**52 - 1, 2**51 + 1, -(2**52), 7], _WIDE),
    "uint64": (pa.uint64(), [None, 2**64 - 1, 2**63, 2**53 + 1, 0, 1, 2, 10, 11], _WHOLE),
    "decimal": (
        pa.decimal128(12, 2),
        [None, *map(Decimal, ("0.25", "0.75", "-2", "10", "10.25", "9999999999.99", "-9999999999.99", "0.01"))],
        real(),
    ),
    "decimal on a decimal grid": (
        pa.decimal128(12, 3),
        [None, *map(Decimal, ("0.25", "0.745", "0.015", "10.005", "99.995", "-9.985", "0.01"))],
        _CENTS,
    ),
    "decimal(38, 0)": (pa.decimal128(38, 0), [None, *map(Decimal, (10**38 - 1, -(10**38) + 1, 3, 0, 10, 11))], real()),
    "decimal(38, 38)": (
        pa.decimal128(38, 38),
        [None, *map(Decimal, ("1e-38", "0.5", "0.25", "0.75", "-0.75"))],
        real(),
    ),
    "boolean": (pa.bool_(), [None, True, False, True, None], _FLAGS),
    "date": (pa.date32(), _DAYS, _CALENDAR),
    "timestamp": (pa.timestamp("us"), _TIMES, _CALENDAR),
}
OBJECTS = {"boolean", "date", "decimal", "decimal on a decimal grid", "decimal(38, 0)", "decimal(38, 38)"}
"""What pandas holds as Python objects, which a session reads as texts."""
ABSENT = {"uint64": {*POSTGRES, *SPARK}, "decimal(38, 38)": set(SPARK)} | {
    kind: {"pandas_numpy", "pandas_nullable"} for kind in OBJECTS
}
ABSENT["decimal(38, 38)"] |= set(SPARK)


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPES)
def test_other_types_of_columns(kind, place, monkeypatch):
    """Single precision, whole numbers beyond 2**53, decimals, flags, days and times, in every source that has them."""
    stored_as, records, (column, declared) = TYPES[kind]
    names = [name for name in EVERYWHERE if name not in ABSENT.get(kind, ())]
    remote, near = [one for one in names if one in SPARK], [one for one in names if one not in SPARK]
    for name in [*chosen(near, 4, kind), *chosen(remote, 1 if kind in ("float32", "decimal(38, 0)") else 0, kind)]:
        read_by(pick(PATHS, (kind, name)), monkeypatch)
        array = pa.array(records, stored_as)
        given = stored(name, place, {"v": array})
        with asked(given, {"v": column}, rows=len(records)) as session:
            key = (kind, name)
            few = 1 if name in SPARK else 3
            compare(
                session, "v", array.to_pylist(), declared, private=False, few=few, key=key, dates=column is _CALENDAR[0]
            )


# Frames of numpy types hold flags with missing ones as Python objects: those are texts, not flags.
FLAGGED = [one for one in some("flags are counted", 3, 2, 1, 1, 0) if one != "pandas_numpy"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", FLAGGED)
def test_flags_are_counted(name, place):
    """A missing flag is false unless declared otherwise."""
    flags = [True, None, False, True, None]
    given = stored(name, place, {"f": pa.array(flags)})
    for nulls, truth in chosen(
        [(None, 2), (True, 4), (False, 2), ("drop", 2)], 1 if name in SPARK else 4, name, long_form(name)
    ):
        with asked(given, {"f": dt.Boolean(nulls=nulls)}, rows=len(flags)) as session:
            assert dt.inspect.value(dt.Count("f"), session) == truth, nulls
            assert session.ask(dt.Count("f"), **SURE).value == truth, nulls
            assert dt.inspect.value(dt.CountingQueries("f"), session) == (truth,), nulls
            assert dt.inspect.value(dt.Count(), session, by="f") == {(False,): 1, (True,): 2}


# --- (b) answers ------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "path"), both_ways(some("every question is answered", 4, 2, 1, 2, 0)))
def test_every_question_is_answered_whatever_the_records_are(name, path, place, monkeypatch):
    """At an ordinary price, with intervals: no exception and no warning."""
    read_by(path, monkeypatch)
    for label in chosen(TABLES, 1, (name, path, "answers")):
        records = TABLES[label]
        given = stored(name, place, {"v": records})
        nulls = pick(POLICIES, (name, label))
        column, _ = real(nulls)
        private = nulls == "drop"
        with asked(given, {"v": column}, rows=len(records)) as session:
            for one in chosen(
                questions(private=private, records=len(records)),
                2 if name in SPARK else 5,
                (name, path),
                long_form(name),
            ):
                prepared = pick(served(session, one), (name, path, one.name))
                released = session.ask(one.query("v"), epsilon=1.0, mechanism=prepared)
                assert released.refused or released.value is not None, (one.name, prepared)
                if one.name in ("Median", "Quantile", "Minimum", "Maximum") and not released.refused:
                    assert LOWER <= released.value <= UPPER
            if name not in SPARK:
                session.ask(dt.Median("v"), epsilon=1.0, where="v > 1")
                session.ask(dt.Mean("v"), epsilon=1.0, where="v IS NOT NULL", mechanism="smooth")


def served(session, one):
    """The mechanisms that a question offers: a public fact, by trying them."""
    offered = []
    for prepared in ("auto", "worst_case", "smooth", "inverse", "ladder", "propose_test", "stable"):
        with contextlib.suppress(dt.DitherError):
            session.plan(one.query("v"), epsilon=1.0, mechanism=prepared)
            offered.append(prepared)
    return offered


@pytest.mark.parametrize(("name", "path"), both_ways(some("at a high price", 3, 2, 1, 1, 0)))
def test_at_a_high_price_the_released_value_is_the_centre(name, path, place, monkeypatch):
    """What ``inspect`` shows is what is released: at epsilon 1e4 another rank is drawn with less than e^-1000."""
    read_by(path, monkeypatch)
    records = TABLES["missing and both infinities"]
    given = stored(name, place, {"v": records})
    column, declared = real()
    steps = declared.read(records)
    with asked(given, {"v": column}, rows=len(records)) as session:
        for share in (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)):
            released = session.ask(dt.Quantile("v", q=share), epsilon=1e4, confidence=None)
            assert released.value == oracle.plain(oracle.quantile(share)(steps, declared, False)), share
        for where in chosen(FILTERS, 3, (name, path, "price")):
            assert session.ask(dt.Count(), where=where, **SURE).value == len(kept(records, FILTERS[where])), where


def test_every_public_question_of_tables_is_in_the_contract(place):
    """A new statistic must be added here; one that is not proved for a private number of records must be refused."""
    given = stored("arrow_frame", place, {"v": [1.0, 2.0, 3.0]})
    public = {
        name for name in dt.__all__ if isinstance(getattr(dt, name), type) and issubclass(getattr(dt, name), Query)
    }
    known = {one.name for one in QUESTIONS} | set(ELSEWHERE)
    assert public - known == set(REFUSED)
    with asked(given, {"v": real()[0]}) as session:
        for made in REFUSED.values():
            question = made()
            with pytest.raises(dt.DitherError):
                session.plan(question, epsilon=1.0)
        for one in QUESTIONS:
            if one.private:
                session.plan(one.query("v"), epsilon=1.0)
            else:
                with pytest.raises(dt.DitherError):
                    session.plan(one.query("v"), epsilon=1.0)


# --- (c) neighbours ---------------------------------------------------------------------------------------

BASES = ([1.0, 2.0, 7.0, 9.0], [NAN, NAN, NAN, 4.0], [None, None, 8.0, 9.0], [INF, INF, -INF, None])


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("name", "path"), both_ways(some("files that differ in", 2, 1, 1, 1, 0)))
def test_files_that_differ_in_one_record_differ_by_at_most_the_first_rung(name, path, place, monkeypatch):
    """Every pair of odd records in the same place of a small file."""
    read_by(path, monkeypatch)
    column, _ = real(pick(POLICIES[:4], (name, path)))
    for base in chosen(BASES, 1, (name, path)):
        placed = chosen([one for one in QUESTIONS if one.has_ladder], 2, (name, path, base, "ladder"), 4)
        seen = {one: [] for one in placed}
        tried = [3.0, *chosen(ODD, 9, (name, path, "odd"))]
        for odd in tried:
            given = stored(name, place, {"v": [*base[:2], odd, *base[2:]]})
            with asked(given, {"v": column}, rows=len(base) + 1) as session:
                for one in placed:
                    rung = dt.inspect.ladder(one.query("v"), session, rungs=1)[0]
                    seen[one].append((odd, dt.inspect.value(one.query("v"), session), rung))
        for one, found in seen.items():
            for (odd, value, rung), (other, there, farther) in itertools.combinations(found, 2):
                moved = abs(value - there)
                assert moved <= min(rung, farther) * (1 + 1e-12), (base, one.name, odd, other, value, there)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "path"), both_ways(some("groups that differ in", 3, 1, 1, 1, 0)))
def test_groups_that_differ_in_one_record_differ_by_at_most_the_first_rung(name, path, place, monkeypatch):
    """Every group holds the same records and one odd one, the last group none: one record more or less."""
    read_by(path, monkeypatch)
    base = pick(BASES, (name, path, "groups"))
    keys = {f"k{index}": odd for index, odd in enumerate(ODD)}
    rows = [(key, one) for key in [*keys, "none"] for one in base] + list(keys.items())
    given = stored(name, place, {"g": pa.array([key for key, _ in rows]), "v": [one for _, one in rows]})
    column, _ = real(pick(POLICIES, (name, path, "groups")))
    with asked(given, {"v": column, "g": dt.Category([*keys, "none"])}) as session:
        for one in chosen(questions(private=True), 1 if name in SPARK else 2, (name, path, "groups"), long_form(name)):
            values = dt.inspect.value(one.query("v"), session, by="g")
            rungs = dt.inspect.ladder(one.query("v"), session, by="g", rungs=2)
            for key, odd in keys.items():
                moved = abs(values[(key,)] - values[("none",)])
                for end in ((key,), ("none",)):
                    assert moved <= rungs[end][0] * (1 + 1e-12), (base, one.name, odd, moved, rungs[end])


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("name", "path"), both_ways(some("people that differ move", 1, 1, 1, 1, 0)))
def test_people_that_differ_move_values_by_at_most_the_first_rung(name, path, place, monkeypatch):
    """All rows of one person are replaced by others, up to twice as many as are used."""
    read_by(path, monkeypatch)
    others = [("b", 1.0), ("b", NAN), ("b", 9.0), ("c", None), ("d", INF), ("", 3.0)]
    rows = [[], [3.0], [INF, INF], [NAN, None, -INF], [10.0, 10.25, 9.0, -2.0]]
    placed = chosen(questions(private=True), 2, (name, path, "people"))
    column, _ = real()
    seen = {one: [] for one in placed}
    for mine in rows:
        both = others[:3] + [("a", one) for one in mine] + others[3:]
        given = stored(name, place, {"u": pa.array([who for who, _ in both]), "v": [one for _, one in both]})
        with asked(given, {"v": column}, unit="u", rows_per_unit=2) as session:
            for one in placed:
                rung = dt.inspect.ladder(one.query("v"), session, rungs=1)[0]
                seen[one].append((dt.inspect.value(one.query("v"), session), rung))
    for one, found in seen.items():
        for (value, rung), (there, farther) in itertools.combinations(found, 2):
            assert abs(value - there) <= min(rung, farther) * (1 + 1e-12), (one.name, found)


# --- tables in which brackets are narrow ------------------------------------------------------------------


TALL = ["parquet_arrow", "parquet_polars", "csv_file", *(one.__name__ for one in BY_ENGINE.values())]
MORE = ["duckdb_table", "parquet_pandas"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", [*TALL, *MORE] if LONG else [one for one in TALL if one not in SPARK])
def test_brackets_in_tables_with_many_records(name, place, monkeypatch):
    """With thousands of records the brackets leave most of them out; odd ones lie below, between and above."""
    read_by("brackets", monkeypatch)
    grid = [one / 8 for one in range(-24, 88)]
    records = [*(grid * 25), *(ODD * 20), *([INF] * 300), *([None] * 200), *([NAN] * 100)]
    records = records[::7] + [one for index, one in enumerate(records) if index % 7]
    groups = [("a", "b", "c", None)[index % 7 % 4] for index in range(len(records))]
    given = stored(name, place, {"v": records, "g": pa.array(groups)})
    for nulls in chosen(POLICIES, 1, name):
        column, declared = real(nulls)
        with asked(given, {"v": column, "g": dt.Category(["a", "b", "c"])}, rows=len(records)) as session:
            compare(session, "v", records, declared, private=nulls == "drop", few=4, key=(name, nulls))
            where = pick(FILTERS, (name, nulls))
            compare(
                session,
                "v",
                kept(records, FILTERS[where]),
                declared,
                private=True,
                few=2,
                key=(name, nulls, where),
                where=where,
            )
            found = dt.inspect.value(dt.Median("v"), session, by="g")
            for key in "abc":
                steps = declared.read([one for one, group in zip(records, groups, strict=True) if group == key])
                assert found[(key,)] == oracle.plain(oracle.quantile(Fraction(1, 2))(steps, declared, True)), key
            assert session.ask(dt.Median("v"), epsilon=1.0).value is not None
            assert session.ask(dt.Maximum("v"), epsilon=1.0).value is not None
