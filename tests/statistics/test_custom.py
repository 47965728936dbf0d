"""The owner's own functions: rounding, failures and claims, against enumeration of whole small universes."""

import math
import warnings
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dither as dt
import oracle
from dither.mechanisms.mechanism import MechanismSpec
from dither.mechanisms.noisy_local import NoisyLocal
from dither.privacy import Loss
from dither.sources.grid import Grid
from dither.statistics.custom import AnswerGrid
from dither.statistics.own_code import number_of, numbers_of
from dither_lab.audit.enumeration import noise_divergence, output_law

VALUES = (0, 1, 3, None)
RECORDS = 3
DATASETS = list(product(VALUES, repeat=RECORDS))
TOP, DEFAULT = 3, 2


def spread(x):
    """Fails where a record is missing."""
    return max(x) - min(x)


def whole(x):
    """The same with its default: what all claims are about."""
    return DEFAULT if None in x else max(x) - min(x)


def near(x):
    """All datasets that differ in one record."""
    return [(*x[:i], v, *x[i + 1 :]) for i in range(len(x)) for v in VALUES if v != x[i]]


PAIRS = [(x, y) for x in DATASETS for y in near(x)]
LADDERS = {x: oracle.exact_ladder(whole, x, VALUES, RECORDS + 1) for x in DATASETS}
LOCAL = {x: LADDERS[x][0] for x in DATASETS}
CHANGE = max(abs(LOCAL[x] - LOCAL[y]) for x, y in PAIRS)
FOUND = sorted(set(LOCAL.values()) | {TOP})


def level(x):
    """By local sensitivity."""
    return FOUND.index(LOCAL[x]) + 1


LEVELS = dt.LevelFunction(dt.Levels(FOUND, pairs={(level(x), level(y)) for x, y in PAIRS}), level)
CLAIMS = {
    "none": {},
    "ladder": {"ladder": lambda x, k: LADDERS[x][min(k, RECORDS)]},
    "smooth_bound": {"smooth_bound": lambda x, beta: oracle.smooth_bound(LADDERS[x], beta)},
    "levels": {"levels": LEVELS},
    "local_sensitivity": {"local_sensitivity": lambda x: LOCAL[x], "local_sensitivity_change": CHANGE},
}


def own(claims, **facts):
    """The function with some claims."""
    return dt.Custom(
        name="spread", value=spread, **({"bounds": (0, TOP), "step": 1, "default": DEFAULT} | facts), **claims
    )


def statistic_of(query, data=DATASETS[0]):
    """The statistic, from public facts."""
    return query.resolve(query.shape(data))


every_claim = pytest.mark.parametrize("claims", CLAIMS.values(), ids=CLAIMS)


# --- rounding -----------------------------------------------------------------------------------------------

reals = st.fractions(min_value=-50, max_value=50, max_denominator=999)


@settings(deadline=None)
@given(reals, reals, st.fractions(min_value=Fraction(1, 50), max_value=7, max_denominator=99))
def test_places_are_no_further_apart_than_sensitivities_rounded_up(one, other, step):
    """On every grid, bounded or not: the proof of docs/proofs/custom.md, section 2."""
    for grid in (Grid(step, None, None), Grid(step, -5, 9)):
        on = AnswerGrid(grid, 0)
        assert abs(on.place(one) - on.place(other)) <= on.outward(abs(one - other))


def test_rounding_up_is_needed():
    """A move of a tenth of a step can be a whole step of the grid; sensitivities rounded down would be refuted."""
    on = AnswerGrid(Grid(Fraction(1), None, None), 0)
    assert on.place(Fraction(51, 100)) - on.place(Fraction(49, 100)) == 1 == on.outward(Fraction(2, 100))


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.integers(0, 39), st.floats(0, 1))
def test_floats_without_a_declared_step_stay_within_the_spare_step(records, index, new):
    """A mean in floats moves by more than 1/n in its last digit; on the grid it stays within the claim."""
    n = len(records)
    query = dt.Custom(name="mean", value=np.mean, bounds=(0, 1), global_sensitivity=Fraction(1, n), default=0)
    statistic = statistic_of(query)
    changed = [*records[: index % n], new, *records[index % n + 1 :]]
    moved = abs(statistic.value(np.array(records)) - statistic.value(np.array(changed)))
    assert moved <= statistic.global_sensitivity


# --- claims on whole universes ------------------------------------------------------------------------------


@every_claim
def test_values_and_ladders_on_every_dataset(claims):
    """The value with its default; true claims give rungs that bound the truth and keep both axioms."""
    statistic = statistic_of(own(claims))
    rungs = {x: [int(u) for u in statistic.ladder(x).sensitivity_at_distance(0, RECORDS + 3)] for x in DATASETS}
    for x in DATASETS:
        assert statistic.value(x) == whole(x)
        assert statistic.fails(x) == (None in x)
        assert all(u >= t for u, t in zip(rungs[x], LADDERS[x], strict=False))
        if "ladder" in claims:
            assert rungs[x][: RECORDS + 1] == LADDERS[x]
    for x, y in PAIRS:
        assert abs(whole(x) - whole(y)) <= rungs[x][0]
        assert all(a <= b for a, b in zip(rungs[x], rungs[y][1:], strict=False))
        assert rungs[x] == sorted(rungs[x])
        assert rungs[x][-1] <= statistic.global_sensitivity


@pytest.mark.parametrize("beta", [Fraction(1, 50), Fraction(1, 3), Fraction(2)])
@every_claim
def test_smooth_bounds_are_smooth(claims, beta):
    """At least the local sensitivity on the grid, and at most e^beta that of every neighbour."""
    statistic = statistic_of(own(claims))
    smooth = {x: float(statistic.ladder(x).smooth(beta)) for x in DATASETS}
    for x, y in PAIRS:
        assert smooth[x] >= LOCAL[x]
        assert smooth[x] <= smooth[y] * math.exp(beta)


@every_claim
def test_smooth_noise_is_private_on_the_whole_universe_and_30_percent_less_is_not(claims):
    """The exact divergence between all neighbours; a bound 30% smaller must be seen."""
    # A smooth bound has a step of the grid to spare, which a coarse grid would count as noise.
    facts = {"step": Fraction(1, 64)} if "smooth_bound" in claims else {}
    statistic = statistic_of(own(claims, **facts))
    prepared = dt.Smooth().prepare(MechanismSpec(statistic, Loss(1.0)))

    def worst(one):
        return max(noise_divergence(one, x, y).epsilon for x, y in PAIRS[::5])

    assert worst(prepared) <= 1.0 + 1e-9
    factor = Fraction(10, 7)
    assert worst(replace(prepared, point=replace(prepared.point, alpha=prepared.point.alpha * factor))) > 1.0


@pytest.mark.parametrize("name", ["ladder", "levels", "local_sensitivity", "smooth_bound"])
def test_the_ladder_mechanism_is_private_and_short_claims_are_seen(name):
    """Exact output laws of all neighbours; with rungs 30% short the loss is exceeded."""

    def worst(statistic):
        prepared = dt.LadderMechanism().prepare(MechanismSpec(statistic, Loss(1.0)))
        laws = {x: output_law(prepared, x) for x in DATASETS}
        return max(abs(math.log(laws[x][z] / laws[y][z])) for x, y in PAIRS for z in laws[x])

    assert worst(statistic_of(own(CLAIMS[name]))) <= 1.0 + 1e-9
    short = {"ladder": lambda x, k: Fraction(7, 10) * LADDERS[x][min(k, RECORDS)] // 1}
    assert worst(statistic_of(own(short))) > 1.0


def test_every_structure_has_its_mechanisms():
    """What serves which claims is documented in docs/extending.md."""
    from dither.mechanisms.choice import applicable

    served = {name: set(applicable(statistic_of(own(claims)))) for name, claims in CLAIMS.items()}
    tested = {"propose_test", "stable"}
    assert served["none"] >= {"worst_case"}
    assert not served["none"] & tested
    for name in ("ladder", "smooth_bound", "levels", "local_sensitivity"):
        assert served[name] >= {"worst_case", "smooth", "ladder"} | tested
    assert "largest_local" in served["levels"]
    assert "noisy_local" in served["local_sensitivity"]
    prepared = NoisyLocal().prepare(MechanismSpec(statistic_of(own(CLAIMS["local_sensitivity"])), Loss(1.0, 1e-3)))
    assert prepared.proxy_epsilon is None  # how far the local sensitivity moves is public: nothing to buy


def test_vectors_move_by_no_more_than_claimed_with_rounding():
    """Both norms, values that are no multiples of the step, all datasets; 30% less is refuted."""
    for norm, power in (("l1", 1), ("l2", 2)):

        def both(x):
            return (max(x) / 7, min(x) / 7, sum(x) / 7)

        def true(x):
            return (0.0, 0.0, 0.0) if None in x else both(x)

        claim = max(sum(abs(a - b) ** power for a, b in zip(true(x), true(y), strict=True)) for x, y in PAIRS)
        claim = math.nextafter(claim ** (1 / power), math.inf)
        query = dt.Custom(
            name="three",
            value=both,
            bounds=[(0, 1), (0, 1), (0, 2)],
            step=Fraction(1, 100),
            global_sensitivity=claim,
            norm=norm,
            default=0,
        )
        assert not dt.inspect.refute(query, values=VALUES, records=RECORDS, failing=(), build=tuple)
        small = replace(query._statistic, norm_sensitivity=math.ceil(0.7 * claim * 100))
        object.__setattr__(query, "_statistic", small)
        assert dt.inspect.refute(query, values=VALUES, records=RECORDS, failing=(), build=tuple)


def ends(x):
    """Two numbers; fails where a record is missing."""
    return max(x), min(x)


def norm_of(x, y, norm):
    """How far two datasets' numbers are apart, defaults included."""
    one, other = ((0, 0) if None in z else ends(z) for z in (x, y))
    moves = [abs(a - b) for a, b in zip(one, other, strict=True)]
    return sum(moves) if norm == "l1" else math.hypot(*moves)


def norm_ladders(norm):
    """By trying all ways: the furthest that one more change moves both numbers, after k changes."""
    local = {x: max(norm_of(x, y, norm) for y in near(x)) for x in DATASETS}
    rungs = {x: [local[x]] for x in DATASETS}
    for _ in range(RECORDS):
        last = {x: rungs[x][-1] for x in DATASETS}
        for x in DATASETS:
            rungs[x].append(max(last[y] for y in (x, *near(x))))
    return rungs


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("kind", ["ladder", "smooth_bound", "local_sensitivity"])
def test_smooth_noise_for_several_numbers_is_private_and_30_percent_less_is_not(norm, kind):
    """NRS11 Lemma 2.6 in R^d: the log-ratios of independent coordinates add up, over all neighbours of the universe."""
    from dither_lab.audit.divergence import hockey_stick

    rungs = norm_ladders(norm)
    change = max(abs(rungs[x][0] - rungs[y][0]) for x, y in PAIRS)
    claims = {
        "ladder": {"ladder": lambda x, k: rungs[x][min(k, RECORDS)]},
        "smooth_bound": {"smooth_bound": lambda x, beta: oracle.smooth_bound(rungs[x], beta)},
        "local_sensitivity": {"local_sensitivity": lambda x: rungs[x][0], "local_sensitivity_change": change},
    }[kind]
    facts = {"bounds": [(0, TOP), (0, TOP)], "step": Fraction(1, 256), "default": 0, "norm": norm}
    query = dt.Custom(name="ends", value=ends, **facts, **claims)
    assert not dt.inspect.refute(query, values=VALUES, records=RECORDS, failing=(), build=tuple)
    statistic = statistic_of(query)
    prepared = dt.Smooth().prepare(MechanismSpec(statistic, Loss(1.0)))
    point = prepared.point
    stretch = math.sqrt(2) if norm == "l2" else 1.0

    def worst(noise):
        scale = {
            x: float(statistic.norm_ladder(x).smooth(point.beta)) * stretch * noise / float(point.alpha)
            for x in DATASETS
        }
        found = {
            (
                *((b - a) / scale[x] for a, b in zip(statistic.values(x), statistic.values(y), strict=True)),
                math.log(scale[y] / scale[x]),
            )
            for x, y in PAIRS
        }
        return max(
            sum(hockey_stick(point.law, one, dilation, 1.0).epsilon for one in shifts) for *shifts, dilation in found
        )

    assert worst(1.0) <= 1.0 + 1e-6
    assert worst(0.7) > 1.0


def test_intervals_of_several_numbers_cover():
    """Each number's interval, 1,000 draws at 90%: fewer than 80% have probability below 1e-20 (binomial)."""
    facts = {"bounds": [(-1000, 1000)] * 2, "default": 0, "norm": "l2"}
    query = dt.Custom(name="two", value=lambda x: (3.0, -4.0), smooth_bound=lambda x, beta: 1.0, **facts)
    prepared = dt.Smooth().prepare(MechanismSpec(statistic_of(query), Loss(1.0), confidence=Fraction(9, 10)))
    truth = statistic_of(query).values(None)
    covered = np.zeros(2)
    for _ in range(1_000):
        ranges = prepared.run(None).interval
        covered += [low <= one <= high for one, (low, high) in zip(truth, ranges, strict=True)]
    assert (covered >= 800).all()
    assert prepared.typical_half_widths(None)[0] < prepared.worst_case_error(0.9).quantile[0]


@pytest.mark.parametrize("seed", range(12))
def test_random_functions_with_true_claims_keep_the_axioms(seed):
    """Any table of reals and failures, any step: true claims about it give true structures on the grid."""
    rng = np.random.default_rng(seed)
    records, values = 2 + seed % 2, range(3)
    datasets = list(product(values, repeat=records))
    beside = {x: [(*x[:i], v, *x[i + 1 :]) for i in range(records) for v in values if v != x[i]] for x in datasets}
    table = {x: None if rng.random() < 0.2 else float(rng.uniform(-3, 8)) for x in datasets}
    low, high, default = -1, 6, 2.5
    exactly = {x: Fraction(min(max(default if v is None else v, low), high)) for x, v in table.items()}
    local = {x: max(abs(exactly[x] - exactly[y]) for y in beside[x]) for x in datasets}
    rungs = {x: [local[x]] for x in datasets}
    for _ in range(records):
        last = {x: rungs[x][-1] for x in datasets}
        for x in datasets:
            rungs[x].append(max(last[y] for y in (x, *beside[x])))
    change = max(abs(local[x] - local[y]) for x in datasets for y in beside[x])
    claims = (
        {"ladder": lambda x, k: rungs[x][min(k, records)]},
        {"smooth_bound": lambda x, beta: oracle.smooth_bound([float(u) for u in rungs[x]], beta)},
        {"local_sensitivity": lambda x: local[x], "local_sensitivity_change": change},
    )
    for claim, step in product(claims, (None, 1, Fraction(1, 3), 5)):
        facts = {"bounds": (low, high), "step": step, "default": default, "global_sensitivity": max(local.values())}
        statistic = statistic_of(dt.Custom(name="table", value=table.get, **facts, **claim))
        ladders = {x: statistic.ladder(x) for x in datasets}
        climbed = {x: ladders[x].sensitivity_at_distance(0, records + 3).tolist() for x in datasets}
        smooth = {x: float(ladders[x].smooth(Fraction(1, 4))) for x in datasets}
        for x in datasets:
            for y in beside[x]:
                moved = abs(statistic.value(x) - statistic.value(y))
                assert moved <= climbed[x][0]
                assert moved <= smooth[x]
                assert smooth[x] <= smooth[y] * math.exp(0.25)
                assert all(a <= b for a, b in zip(climbed[x], climbed[y][1:], strict=False))


# --- rules for failures -------------------------------------------------------------------------------------


def test_rules_where_claims_fail_or_fall():
    """The running maximum of a ladder; the global sensitivity, or the highest level, where a claim fails."""
    raised = {0: 1, 1: 2, 2: 0, 3: math.nan, 4: 1}
    ladder = statistic_of(own({"ladder": lambda x, k: raised[k]})).ladder((0, 0, 0))
    assert ladder.sensitivity_at_distance(0, 6).tolist() == [1, 2, 2, 3, 3, 3]
    short = statistic_of(own({"ladder": lambda x, k: 1}, rungs=4)).ladder((0, 0, 0))
    assert short.sensitivity_at_distance(2, 7).tolist() == [1, 1, 3, 3, 3]
    for bad in (-1, math.nan, math.inf, "text", None, [1], 1j):
        for claims in (
            {"ladder": lambda x, k, bad=bad: bad},
            {"smooth_bound": lambda x, beta, bad=bad: bad},
            {"local_sensitivity": lambda x, bad=bad: bad, "local_sensitivity_change": 0},
            {"levels": dt.LevelFunction(dt.Levels([0, 1, TOP]), lambda x, bad=bad: bad)},
        ):
            statistic = statistic_of(own(claims))
            assert statistic.ladder((0, 0, 0))[0] == TOP
            assert float(statistic.ladder((0, 0, 0)).smooth(Fraction(1))) == pytest.approx(TOP)
    for outside in (0, 4, 1.5):
        levels = statistic_of(own({"levels": dt.LevelFunction(dt.Levels([0, 1, TOP]), lambda x, at=outside: at)}))
        assert levels.level_function().level((0, 0, 0)) == 3


def failing(how):
    """A function that fails in one of many ways."""

    def function(data):
        if how == "raises":
            raise RuntimeError(f"a record is {data}")
        if how == "ends":
            raise SystemExit(3)
        if how == "divides":
            return np.array([1.0]) / np.array([0.0])
        if how == "warns":
            warnings.warn(f"a record is {data}", stacklevel=1)
            return math.nan
        if how == "recurses":
            return function(data)
        return how

    return function


@pytest.mark.parametrize(
    "how",
    [
        "raises",
        "ends",
        "divides",
        "warns",
        "recurses",
        math.nan,
        -math.inf,
        None,
        "7",
        1j,
        [1.0, 2.0],
        {},
        Decimal("1e999999999"),
    ],
    ids=str,
)
def test_no_failure_leaves_a_trace(how, recwarn, capfd):
    """The value is the default; nothing is raised, warned of or printed."""
    query = dt.Custom(name="odd", value=failing(how), bounds=(0, 9), step=1, default=4, global_sensitivity=1)
    with np.errstate(all="raise"):
        release = dt.ask(query, [1, 2], epsilon=50.0)
    assert 0 <= release.value <= 9
    assert statistic_of(query).value([1, 2]) == 4
    assert statistic_of(query).fails([1, 2])
    assert not recwarn.list
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("found", "number"),
    [
        (True, 1),
        (7, 7),
        (0.5, Fraction(1, 2)),
        (Fraction(1, 3), Fraction(1, 3)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Decimal("1e-999999"), 0),
        (np.float32(0.25), Fraction(1, 4)),
        (np.int8(-3), -3),
        (np.bool_(True), 1),
        (np.array(2.5), Fraction(5, 2)),
        (np.array([2.5]), None),
        (np.datetime64("2020-01-01"), None),
    ],
    ids=str,
)
def test_numbers_of_many_types_are_read_exactly(found, number):
    """Python's, numpy's and Arrow's; what is no real number fails."""
    import pyarrow as pa

    assert number_of(lambda: found) == number
    assert number_of(lambda: pa.scalar(2.5)) == Fraction(5, 2)
    assert numbers_of(lambda: pa.array([1, 2]), 2) == (1, 2)
    assert numbers_of(lambda: np.ones((1, 2)), 2) is None
    assert numbers_of(lambda: (1, math.nan), 2) is None
    assert numbers_of(lambda: (1, 2, 3), 2) is None


def test_functions_that_change_their_data_do_not_change_what_the_next_one_sees():
    """Arrays and lists are copied for every call; the caller's stay as they are."""

    def spoils(x, k=0):
        x[:] = [9.0] * len(x)
        return float(k) + 1.0

    for data in (np.array([1.0, 2.0]), [1.0, 2.0]):
        query = dt.Custom(name="spoils", value=lambda x: x[0], ladder=spoils, bounds=(0, 9), step=1, default=0)
        statistic = statistic_of(query)
        assert statistic.ladder(data)[1] == 2
        assert statistic.value(data) == 1
        assert list(data) == [1.0, 2.0]


def test_an_interrupt_at_the_keyboard_is_no_failure():
    """Whoever waits may stop waiting."""

    def slow(data):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dt.ask(dt.Custom(name="slow", value=slow, bounds=(0, 1), default=0), [1], epsilon=1.0)
