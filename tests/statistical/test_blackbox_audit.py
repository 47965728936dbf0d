"""The black-box auditor finds every mechanism that was broken on purpose, and nothing in what ships.

Every finding is wrong with probability at most 1e-9.  The number of runs of each mutant makes a miss less likely than
1e-4: ``test_the_audit_is_large_enough`` computes it where laws are known; histograms have at least twice those runs, or
look at violations that show at once.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction

import pytest

from conftest import trials
from dither.mechanisms.choice import prepare
from dither.mechanisms.smooth import Smooth
from dither.privacy import Loss
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue
from dither_lab.audit import broken_mechanisms
from dither_lab.audit.answers import answer_law, examine, remembering
from dither_lab.audit.attacks import LikelihoodRatio
from dither_lab.audit.blackbox import FAILURE, Aim
from dither_lab.audit.pairs import worst_pairs
from dither_lab.audit.power import detection_probability


def statistic_of(rank, records, high):
    """An order statistic of few records on the grid 0..high."""
    return RankedValue(rank, records, Grid(Fraction(1), 0, high))


def pair_of(statistic, name):
    """A pair of the library, as private data."""
    (pair,) = (pair for pair in worst_pairs(statistic) if pair.name == name)
    return pair.columns(statistic.answers)


@dataclass(frozen=True)
class Case:
    """A mutation, what it is done to, where it shows, and how many runs on either side find it."""

    broken: str
    mechanism: object
    shape: tuple[int, int, int]
    pair: str
    runs: int
    known: bool = False
    noise: object = "auto"
    epsilon: float = 2.0
    delta: float = 0.0
    confidence: float | None = None
    options: dict = field(default_factory=dict)
    long: bool = False
    """Another way to find the same mutation: only with DITHER_LONG."""

    def __str__(self):
        mechanism = self.mechanism if isinstance(self.mechanism, str) else type(self.mechanism).__name__.lower()
        bar = "-with-bar" if self.confidence else ""
        return f"{self.broken}-{mechanism}-{self.noise}{bar}-{'likelihood' if self.known else 'histogram'}"

    def honest(self):
        _, prepared = prepare(
            statistic_of(*self.shape),
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
            noise=self.noise,
            confidence=self.confidence,
        )
        return remembering(prepared)

    def mutated(self):
        return getattr(broken_mechanisms, self.broken)(self.honest(), **self.options)

    def columns(self):
        return pair_of(statistic_of(*self.shape), self.pair)


CROSSING = "a record crosses the whole range"
GAP = "a gap at the rank"
TIE_DOWN = "a tie broken to the lower bound"
TIE_UP = "a tie broken to the upper bound"
TWO_OUT = "a record two ranks out moves"
MUTANTS = [
    Case("noise_too_small", "worst_case", (1, 1, 8), CROSSING, 24_000),
    Case("noise_too_small", "worst_case", (1, 1, 8), CROSSING, 13_000, known=True),
    Case("noise_too_small", "worst_case", (1, 1, 32), CROSSING, 48_000, known=True, noise="power_law"),
    Case("noise_too_small", "worst_case", (1, 1, 32), CROSSING, 76_000, known=True, noise="student", long=True),
    Case("noise_too_small", Smooth(beta=0.05), (2, 3, 16), CROSSING, 34_000, known=True),
    Case("noise_too_small", "inverse", (1, 5, 64), TIE_UP, 112_000, known=True, epsilon=2.5),
    Case("noise_too_small", "inverse", (1, 5, 64), TIE_UP, 160_000, epsilon=2.5, long=True),
    Case("local_sensitivity_used_raw", "smooth", (2, 3, 8), TIE_UP, 2_000),
    Case("local_sensitivity_used_raw", "smooth", (2, 3, 8), TIE_UP, 2_000, confidence=0.9),
    Case("beta_ignored", "smooth", (2, 3, 8), TIE_UP, 8_000),
    Case("beta_ignored", "smooth", (2, 3, 8), TIE_UP, 6_000, known=True),
    Case("grid_from_data", "smooth", (2, 3, 8), TIE_UP, 2_000),
    Case("grid_from_data", "worst_case", (2, 3, 8), TIE_UP, 2_000),
    Case("grid_from_data", "inverse", (2, 3, 8), TIE_UP, 2_000),
    Case("delta_ignored", "smooth", (2, 3, 32), TIE_DOWN, 12_000, noise="laplace", delta=0.3),
    Case("delta_ignored", "smooth", (2, 3, 32), TIE_DOWN, 6_000, known=True, noise="laplace", delta=0.3),
    Case("interval_unpaid", "smooth", (2, 3, 64), TIE_UP, 4_000, confidence=0.9),
    Case("interval_unpaid", "inverse", (2, 4, 8), "a gap at the rank", 4_000, confidence=0.9),
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", [case for case in MUTANTS if trials(0, 1) or not case.long], ids=str)
def test_every_mutant_is_found(case):
    """The claim is refuted, with the number of runs stated in the case."""
    known = case.honest() if case.known else None
    found = examine(case.mutated(), *case.columns(), samples=case.runs, known=known)
    assert found.detected, str(found)
    assert found.samples == case.runs
    assert found.failure_probability == FAILURE


def test_the_list_of_mutants_is_complete():
    """Whatever broken_mechanisms.py offers is found above; but for what only an independent law can find."""
    offered = {name for name, one in vars(broken_mechanisms).items() if callable(one) and not name.startswith("_")}
    made_there = {name for name in offered if getattr(broken_mechanisms, name).__module__ == broken_mechanisms.__name__}
    only_by_law = {"noise_and_law_too_small"}
    assert made_there - only_by_law == {case.broken for case in MUTANTS}


@pytest.mark.parametrize("case", [case for case in MUTANTS if case.known], ids=str)
def test_the_audit_is_large_enough(case):
    """From the exact laws of the broken mechanism: a miss has probability below 1e-9."""
    laws = [answer_law(case.honest(), data) for data in case.columns()]
    loss = case.mutated().loss
    events = LikelihoodRatio(*laws).events([], [], Aim(loss, case.runs, FAILURE / 2))
    truth = [answer_law(case.mutated(), data) for data in case.columns()]
    power = []
    for event in events:
        likely, rare = (
            sum(law[z] for z, inside in zip(law, event.holds(list(law)), strict=True) if inside)
            for law in (reversed(truth) if event.reverse else truth)
        )
        power.append(detection_probability(min(likely, 1.0), rare, claimed=loss, samples=case.runs))
    assert max(power) > 1 - 1e-9


LIGHT = {"delta": 0.01}
SHIPS = [
    ("inverse", "auto", {}),
    *(("smooth", noise, {}) for noise in ("blunt_power_law", "power_law", "cauchy", "student")),
    *(("smooth", noise, LIGHT) for noise in ("laplace", "gaussian")),
    *(("worst_case", noise, {}) for noise in ("laplace", "power_law", "cauchy", "student")),
    ("worst_case", "gaussian", LIGHT),
]
SHORTLY = (CROSSING, GAP, TIE_UP)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("confidence", [None, 0.9], ids=["value", "bar"])
@pytest.mark.parametrize("ships", SHIPS, ids=lambda ships: f"{ships[0]}-{ships[1]}")
def test_nothing_is_found_in_what_ships(ships, confidence):
    """On the library of worst pairs no claim is refuted (false alarm: 1e-9 for each pair and attack)."""
    mechanism, noise, options = ships
    everything = bool(trials(0, 1))
    for shape in [(2, 4, 8), (1, 4, 8)] if everything or mechanism == "inverse" else [(2, 4, 8)]:
        statistic = statistic_of(*shape)
        for pair in worst_pairs(statistic):
            if not everything and pair.name not in SHORTLY:
                continue
            _, plain = prepare(
                statistic, epsilon=2.0, mechanism=mechanism, noise=noise, confidence=confidence, **options
            )
            prepared, columns = remembering(plain), pair.columns(statistic.answers)
            found = [examine(prepared, *columns, samples=trials(1_000, 4_000))]
            if everything and confidence is None:
                found.append(examine(prepared, *columns, samples=4_000, known=prepared))
            assert not any(one.detected for one in found), f"{pair}: {found}"


@pytest.mark.slow
def test_half_the_price_would_be_seen():
    """What ships is near its claim: sold at half the epsilon, the same mechanisms are found out."""
    for mechanism in ("worst_case", "smooth", "inverse"):
        statistic = statistic_of(2, 3, 16)
        _, plain = prepare(statistic, epsilon=4.0, mechanism=mechanism)
        cheaper = remembering(replace(plain, loss=Loss(1.3)))
        columns = pair_of(statistic, GAP if mechanism == "smooth" else CROSSING)
        # The inverse draw is furthest from its claim on so few records, and needs the most samples.
        samples = 40_000 if mechanism == "inverse" else 6_000
        assert examine(cheaper, *columns, samples=samples).detected, mechanism
