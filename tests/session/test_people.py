"""People who own any number of rows: limits that are found and paid for, what a release says, every query shape."""

import json
import math
import pickle

import numpy as np
import pytest
from click.testing import CliRunner

import dither as dt
from conftest import trials
from dither.errors import InvalidText
from dither.interfaces.answers import ReleaseAnswer
from dither.interfaces.cli.main import main
from dither.privacy import Neighbours, Relation
from dither.release import PersonLimit, Release
from dither.session.plan import plan
from dither.sources.schema import Schema
from dither.sources.schema_file import dump_schema, load_schema

RNG = np.random.default_rng(7)
ROWS = RNG.poisson(3, 3_000) + 1
WHO = np.repeat(np.arange(len(ROWS)), ROWS)
PAY = RNG.lognormal(3, 0.5, len(WHO))
JOB = RNG.choice(["clerk", "nurse"], len(WHO))
TABLE = {"who": WHO, "pay": PAY, "free": PAY - 20, "job": JOB, "trade": JOB, "boss": PAY > 30}
COLUMNS = {
    "pay": dt.Real(0, 200),
    "free": dt.Real(None, None),
    "job": dt.Category(["clerk", "nurse"]),
    "trade": dt.Category(),
    "boss": dt.Boolean(),
}


def opened(table=None, **options):
    """The table, with people who own any number of rows."""
    given = {"unit": "who", "rows_per_unit": "private", "budget": dt.Budget(1e6, 0.5), "columns": COLUMNS, **options}
    return dt.open(TABLE if table is None else table, **given)


CLERKS = JOB == "clerk"
TRUTHS = {
    "count(*)": len(WHO),
    "count_if(boss)": np.sum(PAY > 30),
    "sum(pay)": PAY.sum(),
    "sum(free)": (PAY - 20).sum(),
    "avg(pay)": PAY.mean(),
    "median(pay)": np.median(PAY),
    "quantile(pay, 0.9)": np.quantile(PAY, 0.9),
    "count(pay)": len(WHO),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("asked", TRUTHS)
def test_answers_are_near_the_truth(asked):
    """At epsilon 50 a miss by a tenth is less likely than 1e-9; the release says which limit was found."""
    release = opened().ask(asked, epsilon=50.0)
    assert release.value == pytest.approx(TRUTHS[asked], rel=0.1)
    assert release.neighbours is Neighbours.PERSON
    assert release.loss.epsilon == 50.0
    assert 0 < release.person_limit.epsilon <= 12.5
    assert release.interval[0] <= release.value <= release.interval[1]
    assert "found privately" in str(release)


@pytest.mark.parametrize("by", ["job", "trade"])
@pytest.mark.parametrize(
    ("query", "truth"),
    [(dt.Count(), CLERKS.sum()), (dt.Sum("pay"), PAY[CLERKS].sum()), (dt.Sum("free"), (PAY - 20)[CLERKS].sum())],
)
def test_groups_that_are_declared_or_found_are_near_the_truth(by, query, truth):
    """Everybody's groups are scaled down together, with one limit for all; at epsilon 100 far within a tenth."""
    releases = opened().ask(query, epsilon=100.0, delta=1e-6 if by == "trade" else 0.0, by=by)
    assert [release.group[by] for release in releases] == ["clerk", "nurse"]
    assert releases[0].value == pytest.approx(truth, rel=0.1)
    assert len({release.person_limit for release in releases}) == 1
    assert releases[0].person_limit.is_weighted


def test_a_delta_does_not_change_the_noise_of_groups():
    """All groups together have Laplace noise, whose loss adds up over them; Gaussian noise has another law."""
    for release in opened().ask(dt.Count(), epsilon=1.0, delta=1e-6, by="job"):
        assert release.noise == "laplace"
        assert release.loss == dt.Loss(1.0)


def test_other_statistics_keep_so_many_rows_of_each_person():
    """Medians by found groups, histograms, variances, correlations: a limit of rows is drawn, then they are asked."""
    session = opened()
    for query, options in (
        (dt.Median("pay"), {"by": "trade", "delta": 1e-6}),
        (dt.Histogram("pay", edges=[0, 10, 20, 200]), {}),
        (dt.Variance("pay"), {"where": "boss"}),
        (dt.Mean("pay"), {"by": "job"}),
    ):
        answered = session.ask(query, epsilon=50.0, **options)
        for release in answered if isinstance(answered, list) else [answered]:
            assert release.person_limit.rows >= 4
            assert release.loss.epsilon == 50.0
    spent = session.budget.spent
    assert spent.epsilon == 200.0


@pytest.mark.slow
def test_intervals_cover_the_totals_within_the_limit():
    """95% of the time, within Hoeffding's bound for 1e-9; against plain Python under the limit that was released."""
    runs, covered = trials(60, 2_000), 0
    session = opened()
    for _ in range(runs):
        release = session.ask(dt.Count(), epsilon=1.0, confidence=0.9, again=True)
        covered += release.interval[0] <= np.minimum(ROWS, release.person_limit.rows).sum() <= release.interval[1]
    assert covered >= 0.9 * runs - math.sqrt(runs * math.log(1e9) / 2)


def test_few_people_are_refused_a_sum_and_pay_for_it():
    """The refusal is the outcome of a noisy count of people (three of 1,600 needed: it cannot pass by chance)."""
    session = opened({name: column[:12] for name, column in TABLE.items()})
    release = session.ask(dt.Sum("pay"), epsilon=0.5)
    assert release.refused
    assert "too few people" in release.reason
    assert session.budget.spent.epsilon == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("rows", [0, 1])
def test_tables_of_nobody_are_answered(rows):
    """No row, and a row without a person: every shape answers."""
    table = {name: np.asarray(column)[:rows] for name, column in TABLE.items()} | {
        "who": np.array([None] * rows, dtype=object)
    }
    with opened(table) as session:
        for asked in TRUTHS:
            assert session.ask(asked, epsilon=1.0) is not None
        for query in (dt.Count(), dt.Sum("pay")):
            assert len(session.ask(query, epsilon=1.0, by="job")) == 2


def test_the_same_rows_count_in_every_answer_of_an_account(tmp_path):
    """With a declared limit and noise of 2, four answers are within 150 of each other, also in a later session.

    Sums of other rows differ by 700 on average; noise alone by more than 150 with a probability below 1e-9.
    """
    options = {"rows_per_unit": 1, "ledger": tmp_path / "kept.ledger", "name": "kept"}
    sums = []
    for _ in range(2):
        with opened(**options) as session:
            sums += [session.ask(dt.Sum("pay"), epsilon=1e5, again=True).value for _ in range(2)]
    assert max(sums) - min(sums) < 150.0


def test_keys_are_those_of_a_ledger_and_nobody_sees_them(tmp_path):
    """Two ledgers have two; the key is in no text and in nothing that is kept of a question."""
    keys = set()
    for name in ("one", "two"):
        with opened(rows_per_unit=1, ledger=tmp_path / f"{name}.ledger", name="kept") as session:
            keyed = session._keyed(session.plan(dt.Sum("pay"), epsilon=1.0))
            keys.add(keyed.key)
            assert len(keyed.key) == 32
            assert keyed.key not in repr(keyed)
            assert keyed.key not in json.dumps(keyed.asked)
    assert len(keys) == 2


def test_plans_travel_to_workers():
    """A plan with a limit that is drawn later is plain data."""
    schema = Schema("a.csv", COLUMNS, unit="who", rows_per_unit="private")
    for query, by in ((dt.Count(), None), (dt.Median("pay"), None), (dt.Sum("pay"), "job"), (dt.Median("pay"), "job")):
        made = plan(query, schema, epsilon=1.0, by=by)
        assert pickle.loads(pickle.dumps(made)).loss == made.loss


def test_releases_keep_their_limit_in_json():
    """In the line, in HTML, in JSON and back; servers' answers have it too."""
    for asked in ("count(*)", "sum(free)", "avg(pay)", "median(pay)"):
        release = opened().ask(asked, epsilon=20.0)
        written = json.loads(json.dumps(release.to_dict()))
        assert Release.from_dict(written) == release
        assert "found privately" in release._repr_html_()
        assert ReleaseAnswer.model_validate(written).person_limit is not None
    assert "person_limit" not in dt.count([True], epsilon=1.0).to_dict()
    assert (
        PersonLimit(0.2, 12).text(None)
        == "uses at most 12 rows per person, a limit that was found privately for epsilon 0.2; rows beyond that are "
        "not counted"
    )


def test_schema_files_and_the_command_line_take_private_limits(tmp_path):
    """Written, read, registered, asked; any other word is refused."""
    schema = Schema("pay.csv", COLUMNS, unit="who", rows_per_unit="private", budget=dt.Budget(10.0))
    (tmp_path / "a.toml").write_text(dump_schema(schema))
    assert load_schema(tmp_path / "a.toml").rows_per_unit == "private"
    assert schema.relation == Relation(Neighbours.PERSON, ("who",), "private")
    assert Relation.from_dict(schema.relation.to_dict()) == schema.relation
    assert "all rows each" in str(schema.relation)
    for wrong in ("private", 0, "none"):
        with pytest.raises(dt.InvalidArgument, match="rows_per_unit"):
            Schema("a.csv", COLUMNS, unit=None if wrong == "private" else "who", rows_per_unit=wrong)
    lines = ["who,pay", *(f"{who},{pay:.2f}" for who, pay in zip(WHO, PAY, strict=True))]
    (tmp_path / "pay.csv").write_text("\n".join(lines))
    arguments = ["--column", "pay=real:0:200", "--unit", "who", "--rows-per-unit", "private", "--epsilon", "5"]
    drafted = CliRunner().invoke(
        main, ["register", str(tmp_path / "pay.csv"), "-o", str(tmp_path / "b.toml"), *arguments]
    )
    assert drafted.exit_code == 0, drafted.output
    asked = CliRunner().invoke(main, ["ask", str(tmp_path / "b.toml"), "count(*)", "--epsilon", "2"])
    assert asked.exit_code == 0, asked.output
    assert "found privately" in " ".join(asked.output.split())


@pytest.mark.parametrize("limit", [1, 3, "private"])
def test_people_are_counted_whatever_rows_count(limit):
    """In SQL and in Python, behind filters, in declared and found groups; noise of 1/epsilon (misses below 1e-9)."""
    session = opened(rows_per_unit=limit)
    counted = session.sql("SELECT count(DISTINCT who) FROM data", epsilon=5.0)
    assert abs(counted.value - len(ROWS)) <= 10
    assert counted.query == "number of people"
    assert counted.neighbours is Neighbours.PERSON
    assert counted.person_limit is None
    few = session.ask(dt.Count(people=True), epsilon=5.0, where="boss")
    assert abs(few.value - len(set(WHO[PAY > 30]))) <= 10
    for by, delta in (("job", 0.0), ("trade", 1e-6)):
        clerks, _ = session.ask(dt.Count(people=True), epsilon=100.0, delta=delta, by=by)
        assert clerks.value == pytest.approx(len(set(WHO[CLERKS])), rel=0.05)
        assert clerks.person_limit.counted == "groups"


def test_people_are_counted_only_where_they_are_told_apart():
    """Other columns, arrays, tables without a unit and counts of a flag are refused before anything is read."""
    for text in ("SELECT count(DISTINCT job) FROM data", "SELECT sum(DISTINCT who) FROM data"):
        with pytest.raises(InvalidText, match="DISTINCT is not supported"):
            opened().sql(text, epsilon=1.0)
    plain = opened(unit=None, rows_per_unit=1)
    with pytest.raises(dt.NotApplicable, match="unit="):
        plain.ask(dt.Count(people=True), epsilon=1.0)
    with pytest.raises(dt.NotApplicable, match="unit="):
        dt.ask(dt.Count(people=True), [True], epsilon=1.0)
    with pytest.raises(dt.InvalidArgument, match="leave the column out"):
        dt.Count("boss", people=True)


def test_quotes_of_private_limits_name_the_mechanism_that_runs():
    """A median of whole numbers, under whatever limit is found."""
    ages = {"who": np.repeat(np.arange(50), 6), "age": np.arange(300) % 100}
    with opened(ages, columns={"age": dt.Integer(0, 120)}, budget=dt.Budget(1e6)) as session:
        quoted, release = (ask(dt.Median("age"), epsilon=9.0) for ask in (session.quote, session.ask))
    assert release.mechanism == quoted.mechanism == "permute_and_flip"


def test_quotes_of_private_limits_say_that_the_error_is_not_known():
    """It depends on the limit; the loss and the mechanism are known."""
    for query in (dt.Count(), dt.Median("pay")):
        quoted = opened().quote(query, epsilon=1.0)
        assert quoted.loss.epsilon == 1.0
        assert quoted.expected_error is None
