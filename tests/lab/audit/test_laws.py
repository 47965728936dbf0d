"""The laboratory's laws: brute force and formulas of its own, compared with what mechanisms state and draw."""

import ast
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import oracle
from dither.errors import NotApplicable
from dither.interfaces.cli.main import main
from dither.mechanisms.choice import MECHANISMS, NOISES
from dither.mechanisms.mechanism import Mechanism, Prepared
from dither.queries.order import Median
from dither.sensitivity.ladder import Ladder
from dither.statistics.order import RankedValue
from dither_lab.audit import audited_queries, broken_mechanisms, catalogue
from dither_lab.audit.answers import as_answer
from dither_lab.audit.checks import Effort
from dither_lab.audit.enumeration import datasets
from dither_lab.audit.exhaustive import privacy, structures
from dither_lab.audit.law_comparison import draws_follow, own_law
from dither_lab.audit.laws.facts import Enumerated, Published, smooth_bound
from dither_lab.audit.laws.outputs import ListedDistribution, MixtureLaw, Noisy
from dither_lab.audit.laws.registry import law_named, law_of, output_law, registered
from dither_lab.audit.laws.tails import tail_of
from dither_lab.audit.laws_and_losses import LAWS
from dither_lab.audit.running import run_checks
from dither_lab.audit.universes import Universe, column_universe

AUDIT = Path(__file__).resolve().parents[3] / "lab" / "src" / "dither_lab" / "audit"
REGISTRIES = {"laws", "pairs.py"}
"""Where classes of statistics may be told apart: the laws and their facts, and the registry of worst pairs."""
BY_NAME = {audited.name: audited for audited in audited_queries.audited_queries()}
CONSISTENT = [
    ("median", "inverse", ""),
    ("median", "ladder", ""),
    ("median", "smooth", "power_law"),
    ("median", "smooth", "cauchy"),
    ("median", "worst_case", "laplace"),
    ("median", "worst_case", "gaussian"),
    ("median", "propose_test", "laplace"),
    ("2-stars", "largest_local", "power_law"),
    ("covariance", "worst_case", "laplace"),
]


def prepared_for(subject, name, noise, **options):
    """The universe of a query and a mechanism on it."""
    universe = BY_NAME[subject].universe(False)
    return universe, audited_queries.prepare_case(universe, MECHANISMS[name](), noise, **options)


@pytest.fixture
def novel(monkeypatch):
    """A mechanism that nobody has written an independent law for."""

    class Novel(Mechanism):
        name = "novel"

        def prepare(self, ask):
            raise AssertionError

    monkeypatch.setattr("dither.mechanisms.choice.MECHANISMS", {**MECHANISMS, "novel": Novel})
    catalogue.catalogue.cache_clear()
    yield Novel
    catalogue.catalogue.cache_clear()


def test_every_mechanism_and_noise_has_an_independent_law():
    """Under its public name; and what mechanisms prepare bears that name."""
    assert {name.split("/")[0] for name in registered()} == set(MECHANISMS)
    assert run_checks(list(catalogue.independence_checks()), workers=1).passed
    for audited in audited_queries.audited_queries():
        for _, name, mechanism, noises in audited_queries.served(audited):
            universe = audited.universe(True)
            made = audited_queries.prepare_case(universe, mechanism, noises[0])
            assert made.mechanism.split("/")[0] == name
            assert law_of(made) is law_named(name, vector=universe.vector)


def test_a_mechanism_without_an_independent_law_is_a_finding(novel):
    """By name in the whole audit and on the command line."""
    report = run_checks(list(catalogue.independence_checks()), workers=1)
    assert [one.check.mechanism for one in report.findings] == ["novel"]
    found = CliRunner().invoke(main, ["audit", "independent laws", "--mechanism", "novel", "--workers", "1"])
    assert found.exit_code == 1
    assert "no independent law" in found.output


def test_a_query_served_without_an_independent_law_is_a_finding(novel, monkeypatch):
    """For one number and for several; the other mechanisms are audited all the same."""
    monkeypatch.setattr(audited_queries, "applicable", lambda statistic: ["novel", "worst_case"])
    checks = list(audited_queries.query_checks())
    findings = [check for check in checks if check.mechanism == "novel"]
    assert {check.subject for check in findings} == set(BY_NAME)
    assert not any(check.run(Effort(quick=True)).holds for check in findings)
    assert any(check.mechanism == "worst_case" for check in checks)


def test_a_second_law_of_a_name_is_refused():
    """It would take the place of the first, of which nothing would be left to compare with."""
    first = registered()["staircase"]
    with pytest.raises(ValueError, match="two laws are registered for 'staircase'"):
        output_law("staircase")(type(first))
    assert registered()["staircase"] is first


def test_what_has_no_name_has_no_law():
    """A prepared mechanism that says nothing about itself cannot be compared: that does not hold."""

    class Nameless(Prepared):
        statistic, loss, noise_name = BY_NAME["median"].universe(True).statistic, None, "none"

        def run(self, data):
            raise AssertionError

    universe = BY_NAME["median"].universe(False)
    result = own_law(Nameless(), universe.enumerated(), universe.data)
    assert not result.holds
    assert "no independent law" in result.note


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("subject", "name", "noise"), CONSISTENT)
def test_a_mechanism_that_errs_consistently_is_found_by_the_independent_law_alone(subject, name, noise):
    """Its parameters are private, its draws follow its own law; only the law from elsewhere disagrees."""
    universe, honest = prepared_for(subject, name, noise)
    mutant = broken_mechanisms.noise_and_law_too_small(honest)
    data = universe.distinct_data[:: max(len(universe.distinct_data) // 12, 1)]
    facts = universe.enumerated(BY_NAME[subject].bounds)
    assert own_law(honest, facts, data).holds
    assert privacy(mutant, universe).holds
    assert not own_law(mutant, facts, data).holds
    # Draws against the stated tails: Dvoretzky, Kiefer and Wolfowitz, false alarm 1e-9.
    runs = 1_000
    value = np.atleast_1d(universe.statistic.values(data[0]) if universe.vector else universe.statistic.value(data[0]))[
        0
    ]
    answers = [as_answer(mutant.run(data[0]))[0] for _ in range(runs)]
    errors = np.array([abs(answer - value) for answer in answers if answer is not None])
    if len(errors):
        stated = [mutant.error_laws(data[0])[0].beyond(d) for d in range(8)]
        allowed = math.sqrt(math.log(2e9) / (2 * len(errors)))
        assert max(abs(float((errors > d).mean()) - stated[d]) for d in range(8)) <= allowed


def test_draws_that_do_not_follow_the_law_are_found():
    """12,000 runs: allowed distance 0.03 at a false alarm of 1e-9; noise 30% small is 0.06 away."""
    universe, honest = prepared_for("median", "worst_case", "laplace")
    data, facts = universe.data[0], universe.enumerated()
    for prepared, holds in ((honest, True), (broken_mechanisms.noise_too_small(honest, factor=0.7), False)):
        answers = [as_answer(prepared.run(data)) for _ in range(12_000)]
        assert draws_follow(honest, facts, [(data, answers)], 1e-9).holds == holds


def test_refusals_that_are_too_rare_are_found():
    """Answers without a refusal where nearly all should be refused."""
    universe, prepared = prepared_for("median", "stable", "")
    data = max(universe.data, key=lambda one: law_of(prepared).outputs(prepared, universe.enumerated(), one).refused)
    answers = [(universe.statistic.value(data),)] * 400
    assert "refuses" in draws_follow(prepared, universe.enumerated(), [(data, answers)], 1e-9).note


@pytest.mark.sampled(1)
@pytest.mark.parametrize("subject", ["median", "trimmed mean", "filtered median", "triangles", "spanning tree"])
def test_stated_laws_are_the_enumerated_ones(subject):
    """All mechanisms and noises of some queries; the whole list is the command's."""
    for check in audited_queries.query_checks():
        if check.subject == subject and check.detail == audited_queries.LAW:
            result = check.run(Effort(quick=True))
            assert result.holds, (check.key, result)


@pytest.mark.parametrize("records", [2, 3])
def test_enumerated_sensitivities_are_the_definition(records):
    """Against the oracle: the largest local sensitivity within k changes."""
    universe = column_universe(Median(bounds=(0, 3)), range(4), records)
    facts = universe.enumerated()
    for x, data in zip(datasets(range(4), records), universe.data, strict=True):
        truth = oracle.exact_ladder(lambda y: sorted(y)[(records - 1) // 2], x, range(4), records + 1)
        assert facts.enumerated_sensitivities(data, records + 1) == truth
        assert facts.value(data) == sorted(x)[(records - 1) // 2]
        lowest, highest = facts.enumerated_reachable(data)
        assert (lowest[0], highest[0]) == (facts.value(data),) * 2
        assert (lowest[-1], highest[-1]) == (0, 3)


def test_enumerated_facts_look_at_values_alone():
    """No ladder, chain or level of the statistic is asked for, unless it claims to be a bound."""

    class OnlyValues(RankedValue):
        def ladder(self, data, algorithm="exact"):
            raise AssertionError("the laboratory asked for a ladder")

        def reachable_values(self, data):
            raise AssertionError("the laboratory asked for reachable values")

    universe, honest = prepared_for("median", "smooth", "power_law")
    plain = universe.statistic
    values = OnlyValues(plain.rank, plain.records, plain.answers)
    facts = Enumerated(values, universe.data, universe.pairs, frozenset())
    for name, noise in (
        ("inverse", ""),
        ("ladder", ""),
        ("smooth", "power_law"),
        ("worst_case", "laplace"),
        ("propose_test", "laplace"),
        ("stable", ""),
    ):
        prepared = audited_queries.prepare_case(universe, MECHANISMS[name](), noise)
        assert law_of(prepared).outputs(prepared, facts, universe.data[5]).values == (plain.value(universe.data[5]),)
    with pytest.raises(AssertionError, match="ladder"):
        law_of(honest).outputs(
            honest, Enumerated(values, universe.data, universe.pairs, frozenset({"ladder"})), universe.data[5]
        )


def test_wrong_structures_are_found():
    """Ladders that are too low, exact claims that are not, proxies that jump."""

    class Low(RankedValue):
        def ladder(self, data, algorithm="exact"):
            whole = super().ladder(data, algorithm)
            return Ladder(
                lambda start, stop: whole.sensitivity_at_distance(start, stop) * 7 // 10,
                self.global_sensitivity,
                top=None,
            )

    class High(RankedValue):
        def ladder(self, data, algorithm="exact"):
            return Ladder(lambda start, stop: np.full(stop - start, self.global_sensitivity), self.global_sensitivity)

    universe = BY_NAME["median"].universe(False)
    plain = universe.statistic
    for made, bounds, found in ((Low, {"ladder"}, "below"), (High, set(), "said to be exact"), (High, {"ladder"}, "")):
        wrong = Universe(made(plain.rank, plain.records, plain.answers), universe.data, universe.pairs)
        result = structures(wrong, frozenset(bounds))
        assert result.holds == (not found)
        assert found in result.note
    stars = BY_NAME["2-stars"].universe(False)
    steady = stars.statistic

    class Jumps(type(steady)):
        def lipschitz_proxy(self, data):
            return min(2 * super().lipschitz_proxy(data), self.most_lipschitz_proxy)

    fields = {name: getattr(steady, name) for name in steady.__dataclass_fields__}
    assert "proxy" in structures(Universe(Jumps(**fields), stars.data, stars.pairs), frozenset()).note


def test_all_that_mechanisms_see_tells_datasets_apart():
    """Value, ladder, reachable values, proxy and local sensitivity, level: whatever a statistic publishes."""
    for subject, parts in (("2-stars", [1, 0, 1, 1]), ("median", [1, 1, 0, 1]), ("sum along a chain", [1, 0, 0, 1])):
        universe = BY_NAME[subject].universe(True)
        for _, *published in universe.facts:
            assert [bool(part) for part in published] == [bool(part) for part in parts]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_tails_are_integrals_of_the_densities(law):
    """The laboratory's tails against quadrature of the density that the noise publishes."""
    from scipy.integrate import quad

    from dither_lab.audit.laws_and_losses import _loss

    settled = law.point(_loss(law, 1.0, None)).law
    tail = tail_of(settled)
    for near, far in ((0.0, 0.3), (0.3, 1.0), (1.0, 2.5), (2.5, 8.0)):
        mass = 2 * quad(lambda z: float(np.exp(settled.log_density(np.asarray(z)))), near, far)[0]
        assert float(tail(np.asarray(near)) - tail(np.asarray(far))) == pytest.approx(mass, rel=1e-6)
    assert law.name in NOISES


def test_distributions_count_everything_once():
    """What lies below, at and above a place adds up to one, for listed, noisy and mixed numbers."""
    noisy = Noisy(3, 1.7, 0, 8)
    listed = ListedDistribution(noisy.chances())
    mixed = MixtureLaw([(0.25, noisy), (0.75, Noisy(2, 0.5, 0, 8, tail_of(LAWS[1])))])
    for place in range(-1, 10):
        assert noisy.below(place) == pytest.approx(listed.below(place), abs=1e-14)
        assert noisy.above(place) == pytest.approx(listed.above(place), abs=1e-14)
        for number in (noisy, listed, mixed):
            assert number.below(place) + number.above(place - 1) == pytest.approx(1.0, abs=1e-12)
    assert noisy.beyond(3, 8) == 0.0
    with pytest.raises(ValueError, match="bounds"):
        Noisy(3, 1.0, None, None).chances()


def test_smooth_bounds_are_the_formula():
    """``max_k e^{-beta k} U_k`` by hand, and what the ladder computes, to its rounding."""
    assert smooth_bound([1, 1, 4], 10, Fraction(1, 2)) == pytest.approx(max(1, 4 * math.exp(-1), 10 * math.exp(-1.5)))
    universe = BY_NAME["median"].universe(False)
    for data in universe.data[::17]:
        ours = universe.enumerated().smooth(data, Fraction(1, 3))
        assert float(Published(universe.statistic).smooth(data, Fraction(1, 3)) / ours) == pytest.approx(1.0, rel=1e-8)


def test_mutations_refuse_what_they_cannot_break():
    """A value that is released as it is has no noise."""
    _, prepared = prepared_for("median", "stable", "")
    with pytest.raises(NotApplicable, match="noise_too_small"):
        broken_mechanisms.noise_too_small(prepared)


def test_the_older_option_still_works():
    """``--sabotage`` says what it is called now."""
    result = CliRunner().invoke(main, ["audit", "--sabotage", "ladder", "--list"])
    assert result.exit_code == 0
    assert "--mutants" in result.stderr
    assert "noise 20% small / ladder / exhaustive" in result.stdout


# --- nobody decides by a class --------------------------------------------------------------------------

WATCHED = ("dither.mechanisms", "dither.statistics", "dither.sensitivity", "dither.queries")
THINGS = {"prepared", "statistic", "mechanism", "query", "honest", "known", "plain", "universe"}


def class_decisions(source):
    """Lines that tell mechanisms, statistics or queries apart by their class or attributes."""
    tree = ast.parse(source)
    watched = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(WATCHED)
        for alias in node.names
    }
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kinds]):
                if any(isinstance(part, ast.Name) and part.id in watched for part in ast.walk(kinds)):
                    found.add(node.lineno)
            case ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[thing, *_]):
                names = {part.id for part in ast.walk(thing) if isinstance(part, ast.Name)}
                names |= {part.attr for part in ast.walk(thing) if isinstance(part, ast.Attribute)}
                if names & THINGS:
                    found.add(node.lineno)
            case ast.Compare() | ast.Subscript():
                place = node.slice if isinstance(node, ast.Subscript) else node
                called = [part.func for part in ast.walk(place) if isinstance(part, ast.Call)]
                if any(isinstance(function, ast.Name) and function.id == "type" for function in called):
                    found.add(node.lineno)
            case ast.MatchClass(cls=ast.Name(id=name)) if name in watched:
                found.add(node.lineno)
    return sorted(found)


def own_code_calls(source):
    """Lines where a law calls a method of the mechanism that it should be independent of, or imports its code."""
    tree = ast.parse(source)
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="prepared"))):
                found.add(node.lineno)
            case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="prepared"), attr=part))) if (
                part != "statistic"
            ):
                found.add(node.lineno)
            case ast.ImportFrom(module=str(module)) if (
                module.startswith("dither.mechanisms") and module != "dither.mechanisms.mechanism"
            ):
                found.add(node.lineno)
    return sorted(found)


@pytest.mark.parametrize(
    "path",
    sorted(path for path in AUDIT.rglob("*.py") if path.relative_to(AUDIT).parts[0] not in REGISTRIES),
    ids=lambda path: path.relative_to(AUDIT).as_posix(),
)
def test_the_audit_does_not_decide_by_class(path):
    """Outside the registry nothing tells mechanisms, statistics or queries apart."""
    assert class_decisions(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", sorted((AUDIT / "laws").glob("*.py")), ids=lambda path: path.name)
def test_laws_call_no_code_of_mechanisms(path):
    """They read public parameters, and import types alone."""
    assert own_code_calls(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(x, Smooth)",
        "isinstance(x, (int, Smooth))",
        "issubclass(x, Smooth)",
        "getattr(prepared, 'interval', None)",
        "hasattr(self.statistic, 'ladder')",
        "type(x) is Smooth",
        "TABLE[type(x)]",
        "match x:\n    case Smooth():\n        pass",
    ],
)
def test_decisions_by_class_are_recognised(line):
    """Every usual way."""
    assert class_decisions(f"from dither.mechanisms.smooth import Smooth\n{line}\n")
    assert class_decisions("isinstance(x, (int, tuple))\ngetattr(release, 'value')") == []


@pytest.mark.parametrize(
    "line",
    ["prepared.margin(x)", "prepared.test.chance(3)", "from dither.mechanisms.noisy_local import raised_by"],
)
def test_calls_of_own_code_are_recognised(line):
    """Methods of a mechanism and of its parts, and its functions."""
    assert own_code_calls(line)
    assert own_code_calls("float(prepared.rate)\nprepared.statistic.value(x)") == []
