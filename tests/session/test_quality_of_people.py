"""quality(*): which share of people has more rows than count; one person with all rows moves it as one record."""

import functools
import itertools
import json
import math
from fractions import Fraction

import pytest
from click.testing import CliRunner

import dither as dt
from conftest import trials
from dither.errors import InvalidArgument, InvalidText, NotApplicable
from dither.interfaces.cli.main import main
from dither.queries.presence import share_ends
from dither.queries.wire import from_json, to_json
from dither.session.plan import plan as plan_for

ROWS = {"who": [str(number % 50) for number in range(400)] + ["x", None], "pay": [1.0] * 402}
"""50 people with 8 rows each, one with 1, and a row of nobody."""
COLUMNS = {"pay": dt.Real(0, 100), "flag": dt.Boolean()}
OWNED = tuple(rows for count in range(4) for rows in itertools.combinations_with_replacement((False, True), count))
"""What one person may own: up to three rows, each of which a filter selects or does not."""


CASES = ((1, None), (2, None), (1, "flag"))
"""Limits and filters."""


def opened(data=None, limit=7, **options):
    """A session about people."""
    rows = {**ROWS, "flag": [True] * len(ROWS["who"])} if data is None else data
    given = {"columns": COLUMNS, "unit": "who", "rows_per_unit": limit, "budget": dt.Budget(1e6, 0.5)}
    return dt.open(rows, ledger=":memory:", **{**given, **options})


# --- sensitivity --------------------------------------------------------------------------------------------------


def table(people):
    """A table of people who own these rows, and a row of nobody."""
    rows = [("nobody", None, True), *((f"p{at}", f"p{at}", flag) for at, own in enumerate(people) for flag in own)]
    return {"who": [who for _, who, _ in rows], "flag": [flag for *_, flag in rows], "pay": [1.0] * len(rows)}


def owned(people, limit, where):
    """In plain Python: how many people have a row and at most so many, and how many have more."""
    counts = [sum(own) if where else len(own) for own in people]
    return sum(0 < count <= limit for count in counts), sum(count > limit for count in counts)


@functools.cache
def read(people, limit, where):
    """What the shipped question reads of that table, before any noise; in which order people lie does not matter."""
    return _readings(tuple(sorted(people)))[limit, where]


@functools.cache
def _readings(people):
    with opened(table(people)) as session:
        made = {case: plan_for(dt.Quality(limit=case[0]), session.schema, epsilon=1.0, where=case[1]) for case in CASES}
        groups = {case: session._source.groups_for_owner(each) for case, each in made.items()}
    return {case: tuple(records.bin_counts(2)) for case, each in groups.items() for records in each.values()}


def neighbours():
    """All pairs of tables of two people that differ in all rows of one; one who owns nothing is not there."""
    for other in OWNED:
        for before, after in itertools.combinations(OWNED, 2):
            yield (before, other), (after, other)


def farthest(reading):
    """How far one person moves both counts together: who changes, and who comes or goes."""
    moved = {"change": 0, "come or go": 0}
    for here, there in neighbours():
        how = "come or go" if () in (here[0], there[0]) else "change"
        far = sum(abs(one - two) for one, two in zip(reading[here], reading[there], strict=True))
        moved[how] = max(moved[how], far)
    return moved


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("limit", "where"), CASES)
def test_one_person_with_all_rows_moves_the_counts_as_one_record(limit, where):
    """Over all tables of two people with up to three rows; read through the engine, and as plain Python does.

    The same search must find that a reading of rows instead of people moves farther.
    """
    tables = list(itertools.product(OWNED, repeat=2))
    shipped = {people: read(people, limit, where) for people in tables}
    assert shipped == {people: owned(people, limit, where) for people in tables}
    made = plan_for(dt.Quality(limit=limit), opened().schema, epsilon=1.0, where=where)
    assert (made.statistic.l1, made.statistic.l2_squared) == (2, 2)
    # (where a filter selects no row of a person who is there, to change is to come or go)
    assert farthest(shipped) == {"change": made.statistic.l1, "come or go": 1}
    of_rows = {people: (sum(map(len, people)), sum(max(len(own) - limit, 0) for own in people)) for people in tables}
    assert farthest(of_rows)["come or go"] > 1


@pytest.mark.parametrize("limit", [1, 7, "private"])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_noise_is_for_one_person_whatever_rows_count(limit, delta):
    """The same scale under every declared limit: l1 sensitivity over scale is at most epsilon."""
    made = plan_for(dt.Quality(limit=3), opened(limit=limit).schema, epsilon=0.5, delta=delta)
    assert made.statistic.rows_per_person == 1
    assert made.loss.exact_epsilon <= Fraction(1, 2)
    assert made.loss.exact_delta <= Fraction(delta)
    assert made.noise == "laplace"
    assert made.statistic.l1 / made.prepared.unit <= Fraction(1, 2)


# --- answers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("limit", "share"), [(1, 50 / 51), (7, 50 / 51), (8, 0.0)])
def test_the_share_is_that_of_people_above_the_declared_limit(limit, share):
    """At epsilon 500 a count is off by 1 less often than once in e^250; the interval holds the share."""
    with opened(limit=limit) as session:
        answer = session.ask("quality(*)", epsilon=500.0)
    assert answer.value == (pytest.approx(share),)
    ((low, high),) = answer.interval
    assert low <= share <= high
    assert answer.title == f"share of people with more than {limit} row{'' if limit == 1 else 's'}"
    assert answer.person_limit is None
    assert answer.notes() == ["hides one person of who"]


def test_the_total_loss_is_what_was_given():
    """Alone and beside a count: nothing is spent beyond it, and a stored answer is free."""
    with opened() as session:
        first = session.ask(dt.Quality(), epsilon=0.5)
        assert session.ask(dt.Quality(limit=7), epsilon=0.5) == first
        assert session.budget.spent == dt.Loss(0.5)
        session.sql("SELECT count(*), quality(*) FROM data", epsilon=1.0)
        assert session.budget.spent.epsilon == pytest.approx(1.5, abs=1e-12)
        session.ask(dt.Quality(limit=2), epsilon=0.5, delta=1e-6)
        assert session.budget.spent.epsilon <= 2.0
        assert session.budget.spent.delta <= 1e-6


def test_intervals_cover_the_share():
    """95% of the time, within Hoeffding's bound for 1e-9."""
    runs, covered = trials(60, 2_000), 0
    with opened() as session:
        for _ in range(runs):
            ((low, high),) = session.ask(dt.Quality(), epsilon=0.3, again=True).interval
            covered += low <= 50 / 51 <= high
    assert covered >= 0.95 * runs - math.sqrt(runs * math.log(1e9) / 2)


def test_the_ends_are_those_of_all_counts_within_their_intervals():
    """By enumeration: the smallest and the largest share that any two counts within their intervals have."""
    for within, above in itertools.product([(0, 2), (-1, 3), (2, 2)], repeat=2):
        counts = itertools.product(*(range(max(low, 0), high + 1) for low, high in (within, above)))
        shares = [two / (one + two) for one, two in counts if one + two]
        ((low, high),) = share_ends((within, above), None)
        assert low <= min(shares)
        assert high >= max(shares)


def test_every_interface_takes_it(tmp_path):
    """SQL, JSON, and the shell; a private limit is named by the answer that it is asked about."""
    with opened(limit="private") as session:
        count = session.ask(dt.Count(), epsilon=500.0)
        asked = f"quality(*, limit => {count.person_limit.rows})"
        assert f"ask {asked} for the share of people who have more rows than that" in count.notes()
        assert session.ask(asked, epsilon=500.0).value == (0.0,)
    query = dt.Quality(limit=4)
    assert from_json(json.loads(json.dumps(to_json(query)))) == query
    (tmp_path / "pay.csv").write_text("who,pay\n1,5\n1,6\n2,7\n")
    (tmp_path / "pay.toml").write_text(
        '[dataset]\nsource = "pay.csv"\nunit = "who"\nrows_per_unit = 1\n[budget]\nepsilon = 1000\n'
        '[columns.pay]\ntype = "real"\nbounds = [0, 9]\n'
    )
    arguments = ["ask", str(tmp_path / "pay.toml"), "quality(*)", "--epsilon", "500", "--json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert '"above the limit"' in result.output


def test_what_is_not_asked_about_people_is_refused_and_costs_nothing():
    """Groups, a limit beside a column, a limit that each answer finds, tables and lists without people."""
    with opened(limit="private") as session:
        for query, options, error, says in (
            (dt.Quality(), {}, InvalidArgument, "give the one that an answer names"),
            (dt.Quality(limit=3), {"by": "flag"}, NotApplicable, "all rows of a person"),
            (dt.Quality(limit=3), {"interval": "population"}, NotApplicable, "sample"),
        ):
            with pytest.raises(error, match=says):
                session.ask(query, epsilon=1.0, **options)
        assert session.budget.spent == dt.Loss(0.0)
    with opened(unit=None, limit=1) as session:
        with pytest.raises(InvalidArgument, match="must be a declared column"):
            session.ask("quality(*)", epsilon=1.0)
        with pytest.raises(NotApplicable, match="tells people apart"):
            session.ask(dt.Quality(limit=3), epsilon=1.0)
        with pytest.raises(InvalidText):
            session.ask("quality(pay, limit => 3)", epsilon=1.0)
    with pytest.raises(NotApplicable, match="tells people apart"):
        dt.quality([1.0], limit=3, epsilon=1.0)
    for limit in (0, 1.5, True, "3"):
        with pytest.raises(InvalidArgument, match="must be a whole number"):
            dt.Quality(limit=limit)


def test_answers_that_leave_out_rows_name_the_question():
    """A count and a sum within a declared limit; what weighs rows leaves none out."""
    says = "ask quality(*) for the share of people who have more rows than that"
    with opened() as session:
        for query in (dt.Count(), dt.Sum("pay")):
            assert says in session.ask(query, epsilon=1.0).notes()
        assert says not in session.ask(dt.Count(people=True), epsilon=1.0).notes()
    with opened(limit="private") as session:
        assert "quality" not in str(session.ask(dt.Mean("pay"), epsilon=10.0))
