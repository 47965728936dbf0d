"""Propose-test-release on any ladder: exact laws on whole universes, adversarial pairs at the threshold, refusals."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

import dither as dt
import oracle
from conftest import trials
from dither.errors import InvalidArgument, NotApplicable
from dither.mechanisms.margin_test import MarginTest
from dither.mechanisms.mechanism import MechanismSpec
from dither.mechanisms.propose_test import ProposeTest
from dither.privacy import Loss
from dither.sensitivity.ladder import Ladder
from dither.sources.column import Column
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue, _EvenColumn, evenly_spread
from dither_lab.audit.answers import as_answer
from dither_lab.audit.enumeration import as_column, datasets, neighbours
from dither_lab.audit.law_comparison import draws_follow
from dither_lab.audit.laws.facts import Published
from dither_lab.audit.propose_test_release import REFUSED, Mixed, divergence, mechanism_law

GRID = Grid(Fraction(1), 0, 30)
VALUES = (0, 1, 2, 3, 30)
LOSS = Loss(2.0, 0.01)


def prepare_here(loss=LOSS, bound=2, records=5, rank=3, grid=GRID):
    """A mechanism on few records with a declared bound."""
    return ProposeTest(bound=bound).prepare(MechanismSpec(RankedValue(rank, records, grid), loss))


def worst(prepared, loss):
    """The largest exact divergence over all neighbouring datasets of five records over five values."""
    laws = {x: mechanism_law(prepared, as_column(x, GRID)) for x in datasets(VALUES, 5)}
    return max(divergence(laws[x], laws[y], loss.epsilon) for x in laws for y in neighbours(x, VALUES))


@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-6, 1e-12])
def test_a_margin_of_zero_passes_with_probability_delta(delta):
    """Exactly: the threshold is ln(1/(2 delta)) / epsilon."""
    test = MarginTest(Fraction(1, 3), Fraction(str(delta)))
    assert test.chance(0) == pytest.approx(delta, rel=1e-12)
    assert test.chance(test.least_margin) > 0.5 >= test.chance(test.least_margin - 1)
    assert (
        1 - test.chance(test.margin_for(Fraction(1, 1000)))
        <= 1e-3
        < 1 - test.chance(test.margin_for(Fraction(1, 1000)) - 1)
    )


def test_neighbouring_margins_pass_alike():
    """Pass and refusal probabilities of margins that differ by 1 stay within e^epsilon of each other."""
    test = MarginTest(Fraction(1, 4), Fraction(1, 10**6))
    passed = [test.chance(g) for g in range(120)]
    for p, q in pairwise(passed):
        assert q <= p * math.exp(0.25) * (1 + 1e-9)
        assert 1 - p <= (1 - q) * math.exp(0.25) * (1 + 1e-6)


def test_decisions_follow_the_closed_form():
    """Counts of passes against their chance; each margin is wrong with probability below 1e-9."""
    test, runs = MarginTest(Fraction(1), Fraction(1, 100)), trials(2200, 20_000)
    for margin in (0, 2, 4, 6):
        hits = sum(test.passes(margin) for _ in range(runs))
        chance = test.chance(margin)
        # Bernstein's inequality at 1e-9 on both sides: ln(2e9) is 21.42.
        slack = 21.5 / 3 + math.sqrt((21.5 / 3) ** 2 + 2 * 21.5 * runs * chance * (1 - chance))
        assert abs(hits - runs * chance) <= slack


def test_private_on_a_whole_universe_and_sharp():
    """All neighbours of five records over five values stay within (epsilon, delta), and not within 20% less epsilon."""
    prepared = prepare_here()
    assert worst(prepared, LOSS) <= LOSS.delta * (1 + 1e-9)
    assert worst(prepared, Loss(1.6, LOSS.delta)) > LOSS.delta


@pytest.mark.parametrize(
    "broken",
    [
        lambda m: replace(m, scale=m.scale * Fraction(7, 10)),
        lambda m: replace(m, test=MarginTest(m.test.epsilon * Fraction(13, 10), m.test.delta)),
        lambda m: replace(m, test=MarginTest(m.test.epsilon, m.test.delta * Fraction(13, 10))),
    ],
    ids=["noise 30% smaller", "test 30% dearer", "delta 30% larger"],
)
def test_mutants_are_seen(broken):
    """A mechanism that is 30% wrong in any one place exceeds its loss somewhere."""
    found = max(worst(broken(prepare_here()), LOSS), worst(broken(prepare_here(bound=1)), LOSS))
    assert found > LOSS.delta * 1.05


class Raw(type(prepare_here())):
    """The least number of changes that breaks the bound, used as it is: it starts at one."""

    def margin(self, data):
        return super().margin(data) + 1

    def law_of_draws(self, data):
        """The law that its draws follow."""
        law, passed = Mixed(), self.test.chance(self.margin(data))
        law.atoms[REFUSED] = 1.0 - passed
        for answer, chance in mechanism_law(self, data).atoms.items():
            if answer != REFUSED:
                law.atoms[answer] = chance * passed / self.test.chance(self.margin(data) - 1)
        return law


@pytest.mark.slow
def test_margins_that_start_at_one_are_seen():
    """Their law exceeds the loss, and their refusals are not those of the laboratory's law (false alarm 1e-9)."""
    honest = prepare_here()
    raw = Raw(**{name: getattr(honest, name) for name in honest.__dataclass_fields__})
    grid = honest.statistic.answers
    universe = [as_column(x, grid) for x in datasets(VALUES, 5)]
    facts = Published(honest.statistic)
    data = max(universe, key=lambda one: raw.test.chance(raw.margin(one)) - raw.test.chance(honest.margin(one)))
    for prepared, holds in ((honest, True), (raw, False)):
        answers = [as_answer(prepared.run(data)) for _ in range(3_000)]
        assert draws_follow(honest, facts, [(data, answers)], 1e-9).holds == holds
    laws = {x: raw.law_of_draws(as_column(x, grid)) for x in datasets(VALUES, 5)}
    found = max(divergence(laws[x], laws[y], LOSS.epsilon) for x in laws for y in neighbours(x, VALUES))
    assert found > LOSS.delta * 1.05


def test_two_datasets_at_the_threshold_cannot_be_told_apart():
    """Margins as large as the threshold, values as far apart as the bound allows: within the loss at delta 1e-6."""
    loss, grid = Loss(1.0, 1e-6), Grid(Fraction(1), 0, 10_000)
    prepared = ProposeTest(bound=100).prepare(MechanismSpec(RankedValue(100, 199, grid), loss))
    least = prepared.test.least_margin
    for inside in (least - 1, least, least + 1):
        # ``inside`` records on either side within the bound, all others at the ends of the range.
        near = [5000] * inside + [5100] * inside
        x = [0] * (100 - inside) + near + [10_000] * (99 - inside)
        y = [*x[:-1], 0]
        laws = [mechanism_law(prepared, Column(np.array(one), grid)) for one in (x, y)]
        assert abs(prepared.margin(Column(np.array(x), grid)) - prepared.margin(Column(np.array(y), grid))) <= 1
        assert divergence(*laws, loss.epsilon) <= loss.delta * (1 + 1e-9)
        assert divergence(*reversed(laws), loss.epsilon) <= loss.delta * (1 + 1e-9)


def test_margins_are_those_of_the_definition():
    """min {k : U_k > b}, by looking at every rung; and cut at a public depth."""
    for x in datasets(range(4), 5):
        ladder = RankedValue(2, 5, Grid(Fraction(1), 0, 3)).ladder(as_column(x, Grid(Fraction(1), 0, 3)))
        rungs = oracle.order_ladder(x, 2, 0, 3, 8)
        for bound in range(3):
            truth = next(k for k, u in enumerate(rungs) if u > bound)
            assert ladder.margin(bound) == truth
            assert [ladder.margin(bound, deepest) for deepest in (0, 1, 3)] == [min(truth, d) for d in (0, 1, 3)]


def test_owners_can_look_at_margins():
    """Evenly spaced records: g + 2 of them span more than the bound; bounds at the worst case are refused."""
    query = dt.Median(bounds=(0, 1000), step=1)
    assert dt.inspect.margin(query, np.arange(1000), bound=10) == 10
    for bound in (-1, 1000):
        with pytest.raises(InvalidArgument, match="bound"):
            dt.inspect.margin(query, np.arange(1000), bound=bound)


def test_margins_of_long_ladders_need_few_rungs():
    """A ladder that exceeds the bound late is not climbed rung by rung."""
    asked = []

    def rungs(start, stop):
        asked.append(stop - start)
        return np.arange(start, stop)

    assert Ladder(rungs, 10**9).margin(123_456) == 123_457
    assert sum(asked) < 60
    assert Ladder(rungs, 10**9).margin(10**8, 500) == 500


def test_refusals_cost_what_was_quoted_and_say_why():
    """A refused release has the same loss as an answered one, a public reason, and is shown as refused everywhere."""
    data = np.arange(2000.0)
    refused = dt.median(data, bounds=(0, 2000), epsilon=1.0, delta=1e-6, mechanism=dt.ProposeTest(bound=0.5))
    answered = dt.median(data, bounds=(0, 2000), epsilon=1.0, delta=1e-6, mechanism=dt.ProposeTest(bound=500))
    assert refused.refused
    assert not answered.refused
    assert refused.loss == answered.loss == Loss(1.0, 1e-6)
    assert refused.interval is None
    assert "refused" in str(refused)
    assert "test did not pass" in repr(refused)
    assert "test did not pass" in refused._repr_html_()
    payload = refused.to_dict()
    assert (payload["refused"], payload["value"], payload["epsilon"], payload["delta"]) == (True, None, 1.0, 1e-6)
    assert "test did not pass" in payload["reason"]
    assert answered.to_dict()["reason"] is None


def test_the_default_bound_is_public():
    """It is the same for all data of a size, and data spread evenly pass at it."""
    statistic = RankedValue(5000, 10_000, Grid(Fraction(1), 0, 10**6))
    prepared = ProposeTest().prepare(MechanismSpec(statistic, Loss(1.0, 1e-6)))
    assert prepared.test.chance(prepared.margin(evenly_spread(10_000, statistic.answers))) > 0.99
    assert prepared.composition.epsilon == 1
    assert prepared.composition.delta == Fraction(1, 10**6)


@pytest.mark.parametrize("function", [dt.median, dt.trimmed_mean, dt.iqr])
def test_every_ladder_is_served(function):
    """Bounded statistics with a ladder answer close to the truth."""
    data = np.random.default_rng(1).normal(500, 50, 20_000)
    plain = {"median": np.median(data), "trimmed_mean": data.mean(), "iqr": 67.4}[function.__name__]
    release = function(data, bounds=(0, 1000), epsilon=2.0, delta=1e-6, mechanism="propose_test")
    assert abs(release.value - plain) < 60
    assert release.interval[0] <= release.value <= release.interval[1]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"delta": 0.0}, "delta"),
        ({"mechanism": "propose_test", "noise": "gaussian"}, "noise"),
        ({"mechanism": dt.ProposeTest(bound=100)}, "bound"),
        ({"mechanism": dt.ProposeTest(constants="paper")}, "constants"),
        ({"data": [1.0] * 20}, "at least"),
    ],
)
def test_bad_questions_are_refused_before_anything_is_read(options, named):
    """No delta, a noise that is not used, bounds above the worst case, too few records."""
    asked = {"data": [1.0] * 500, "bounds": (0, 100), "epsilon": 1.0, "delta": 1e-6, "mechanism": "propose_test"}
    asked |= options
    with pytest.raises((InvalidArgument, NotApplicable), match=named) as caught:
        dt.median(asked.pop("data"), **asked)
    assert "nothing was" in str(caught.value)


def test_bad_proposals_are_refused():
    """A bound is positive, constants have names."""
    for bound in (0, -1, math.nan, "wide"):
        with pytest.raises(InvalidArgument, match="bound"):
            dt.ProposeTest(bound=bound)
    with pytest.raises(InvalidArgument, match="constants"):
        dt.ProposeTest(constants="mine")
    with pytest.raises(NotApplicable, match="propose_test"):
        dt.sum([1.0] * 50, bounds=(0, 1), epsilon=1.0, delta=1e-6, mechanism="propose_test")
    for epsilon, delta in ((0, 0.1), (1, 0), (1, 0.5)):
        with pytest.raises(InvalidArgument):
            MarginTest(Fraction(epsilon), Fraction(delta))


@pytest.mark.parametrize("ask", [dt.median, dt.iqr, partial(dt.trimmed_mean, trim=0.1), partial(dt.quantile, q=0.05)])
def test_too_few_records_for_a_default_bound_name_the_least_number(ask):
    """It is enough, and one less is not."""

    def call(records):
        data = np.linspace(-1, 1, records)
        return ask(data, bounds=(-1, 1), epsilon=1.0, delta=1e-6, mechanism="propose_test", confidence=None)

    with pytest.raises(InvalidArgument, match=r"at least [0-9]+ records") as caught:
        call(10)
    least = int(str(caught.value).split("at least ")[1].split()[0])
    call(least)
    with pytest.raises(InvalidArgument, match=f"at least {least} records"):
        call(least - 1)


def test_naming_the_least_number_of_records_looks_at_few_of_them(monkeypatch):
    """Proposals are read off records that are worked out one by one: few records were found by spreading millions."""
    looked = []
    whole = _EvenColumn.ranks
    monkeypatch.setattr(
        _EvenColumn, "ranks", lambda self, first, last: looked.append(last - first + 1) or whole(self, first, last)
    )
    data = np.arange(50.0)
    with pytest.raises(InvalidArgument, match=r"at least [0-9]+ records are enough"):
        dt.winsorised_mean(data, bounds=(0, 100), epsilon=0.1, delta=1e-6, mechanism="propose_test")
    assert 0 < sum(looked) < 100_000


@pytest.mark.parametrize("records", [1, 2, 7])
def test_evenly_spread_records_are_a_column(records):
    """Ranks beyond either end are the bounds; values, totals and moments are those of the listed records."""
    grid = Grid(Fraction(1), -3, 1000)
    spread = evenly_spread(records, grid)
    listed = Column(np.array([-3 + 1003 * (2 * i + 1) // (2 * records) for i in range(records)]), grid)
    assert spread.records == listed.records
    assert spread.values.tolist() == listed.values.tolist()
    assert spread.ranks(-2, records + 3).tolist() == listed.ranks(-2, records + 3).tolist()
    assert spread.ranks(3, 2).tolist() == []
    assert spread.total() == listed.total()
    assert spread.moments() == listed.moments()
