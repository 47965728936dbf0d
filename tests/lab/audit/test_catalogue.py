"""Everything that ships has a check, every check a proof page, and the audit itself can find something."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from dither.errors import InvalidArgument, NotApplicable
from dither.interfaces.cli.main import main
from dither.mechanisms.choice import MECHANISMS, NOISES
from dither.mechanisms.mechanism import MechanismSpec
from dither.privacy import Loss
from dither_lab.audit import audited_queries
from dither_lab.audit.attacks import Direction
from dither_lab.audit.blackbox import Aim, audit
from dither_lab.audit.catalogue import PUBLIC_ONLY, catalogue, selected, shipped, uncovered
from dither_lab.audit.checks import Check, Effort, Evidence, least_epsilon
from dither_lab.audit.laws.registry import law_named
from dither_lab.audit.pictures import page, save
from dither_lab.audit.running import AuditReport, run_checks, timed
from dither_lab.audit.traces import neighbouring_tables, order_of_events, public_decisions

PROOFS = Path(__file__).resolve().parents[3] / "docs" / "proofs"


def test_nothing_ships_without_a_check():
    """Every public name that releases something, every mechanism, noise, tool, aggregator and kind of session."""
    assert uncovered() == set()


@pytest.mark.parametrize(
    "name", ["Median", "smooth", "cauchy", "flip_bits", "kmeans", "order of events", "GraphSession"]
)
def test_what_loses_its_checks_is_noticed(name):
    """The test above can fail."""
    without = [check for check in catalogue().values() if name not in check.covers]
    assert name in uncovered(without)


def test_exempt_names_exist():
    """Names that release nothing are public names, and none of them has become a mechanism."""
    import dither as dt

    exempt = {name for names in PUBLIC_ONLY.values() for name in names}
    assert exempt <= set(dt.__all__)
    assert {"randomized_response", "counting_queries", "norm_release", "median", "smooth"} <= shipped()


def test_every_check_names_its_proof():
    """A page of docs/proofs."""
    named = {check.proof for check in catalogue().values()}
    assert {page_name for page_name in named if not (PROOFS / f"{page_name}.md").is_file()} == set()


def test_the_table_of_noises_is_what_mechanisms_accept():
    """Every noise that a mechanism accepts is audited, and no other is claimed."""
    for name, made in MECHANISMS.items():
        universes = (audited.universe(True) for audited in audited_queries.audited_queries())
        universe = next(
            one for one in universes if isinstance(one.statistic, made.needs) and made().serves(one.statistic)
        )
        accepted = []
        for noise in NOISES:
            try:
                suited = law_named(name).on_few_records(made(), universe.statistic)
                suited.prepare(MechanismSpec(universe.statistic, Loss(4.0, 0.01), NOISES[noise]()))
                accepted.append(noise)
            except NotApplicable:
                continue
        assert sorted(accepted) == sorted(noise for noise in law_named(name).noises if noise), name


def test_checks_are_chosen_by_names():
    """By query, function or law, and by mechanism; what is unknown is named."""
    assert {check.subject for check in selected("median")} >= {"median"}
    assert {check.subject for check in selected("Median")} >= {"median"}
    only = selected("median", ["smooth"], quick=True)
    assert only
    assert {check.mechanism for check in only} == {"smooth"}
    assert len(selected(quick=True)) < len(selected())
    with pytest.raises(InvalidArgument, match="median"):
        selected("no such thing")
    with pytest.raises(InvalidArgument, match="inverse"):
        selected("median", ["nothing"])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("subject", ["filtered mean", "triangles", "covariance", "sum along a chain", "quantiles"])
def test_small_universes_hold(subject):
    """The exhaustive checks of some subjects; the whole list is the command's."""
    for check in selected(subject, quick=True):
        if check.method == "exhaustive":
            result = check.run(Effort(quick=True))
            assert result.holds, (check.key, result)
            assert result.cases > 0


@pytest.mark.slow
def test_worst_pairs_come_near_to_their_claims():
    """On the library of worst pairs every mechanism of an order statistic shows more than 95% of its epsilon."""
    for check in audited_queries.pair_checks():
        result = check.run(Effort(quick=True))
        assert result.holds, check.key
        if check.mechanism in ("inverse", "ladder"):
            assert result.lower > 0.95 * result.claimed.epsilon, check.key


@pytest.mark.slow
def test_sessions_keep_the_order_and_decide_in_public():
    """What ships."""
    assert order_of_events().holds
    assert public_decisions(Effort(quick=True)).holds
    assert len(list(neighbouring_tables(5))) == 6


def test_a_run_counts_findings_and_failures():
    """A check that cannot run shows nothing: that is a finding; failure probabilities are shared."""
    seen = []

    def sampled(effort):
        seen.append(effort.failure_probability)
        return Evidence(True, Loss(1.0), 0.5, None, 10)

    def broken(effort):
        raise ValueError("no such thing")

    checks = [
        Check("one", "black-box", sampled),
        Check("two", "black-box", sampled),
        Check("three", "exact", broken),
        Check("four", "exact", lambda effort: Evidence(True, Loss(1.0), 1.0, 1.0, 4)),
    ]
    report = run_checks(checks, workers=1, false_alarm=1e-6)
    assert seen == [5e-7, 5e-7]
    assert [one.check.subject for one in report.findings] == ["three"]
    assert "could not be run: ValueError" in report.findings[0].result.note
    assert not report.passed
    assert report.counts == {"exact": 2, "black-box": 2}
    crashed = report.findings[0]
    seen_through = replace(crashed, result=replace(crashed.result, was_run=True))
    assert AuditReport([seen_through], quick=True, seconds=0.0, mutants=True).passed
    assert not AuditReport([crashed], quick=True, seconds=0.0, mutants=True).passed


def test_reports_are_saved(tmp_path):
    """JSON, a picture and a page."""
    ran = [check for check in audited_queries.pair_checks() if check.mechanism in ("inverse", "worst_case")]
    report = run_checks(ran, workers=1)
    saved = save(report, tmp_path / "out")
    payload = json.loads(Path(saved["json"]).read_text())
    assert payload["passed"]
    assert payload["checks"] == len(ran)
    assert Path(saved["png"]).stat().st_size > 10_000
    text = Path(saved["html"]).read_text()
    assert "no finding" in text
    assert "audit.png" in text
    assert "<script" not in page(report, None)
    assert "with probability at most" in text
    broken = page(AuditReport(report.findings, quick=True, seconds=0.0, mutants=True), None)
    assert "broken on purpose and must be found" in broken
    assert "with probability at most" not in broken


def test_the_command(tmp_path):
    """A narrow audit through the command line, as table and as JSON; exit codes."""
    runner = CliRunner()
    result = runner.invoke(
        main, ["audit", "quantiles", "--mechanism", "worst_case", "--quick", "--workers", "1", "--json"]
    )
    assert result.exit_code == 0, result.output
    report = json.loads(result.output)
    assert report["passed"]
    assert report["false_alarm_probability"] == 1e-6
    table = runner.invoke(main, ["audit", "count", "--mechanism", "worst_case", "--quick", "--workers", "1"])
    assert table.exit_code == 0, table.output
    assert "no finding" in table.output
    assert runner.invoke(main, ["audit", "nothing"]).exit_code == 2
    listed = runner.invoke(main, ["audit", "count", "--list"])
    assert "count / worst_case / laplace / exhaustive" in listed.output


def test_a_finding_gives_exit_code_1(monkeypatch):
    """What is found is named."""
    broken = Check("made up", "exact", lambda effort: Evidence(False, Loss(1.0), 1.5, None, 1, "made up"))
    monkeypatch.setattr("dither_lab.audit.catalogue.selected", lambda *a, **k: [broken])
    result = CliRunner().invoke(main, ["audit", "--workers", "1"])
    assert result.exit_code == 1
    assert "finding" in result.output
    assert "1.5" in result.output


@pytest.mark.slow
def test_the_pool_gives_what_one_process_gives():
    """Two processes, a few checks."""
    few = [check for check in audited_queries.pair_checks() if check.mechanism == "inverse"]
    few += [check for check in selected("composition") if "basic" in check.detail]
    report = run_checks(few, workers=2, quick=True)
    assert report.passed
    assert [one.check.key for one in report.ran] == [check.key for check in few]


def test_directions_are_learned():
    """A difference along the diagonal of two noisy numbers is found, and none where there is none."""
    import numpy as np

    rng = np.random.default_rng(3)

    def sampler(shift):
        return lambda count: [tuple(row) for row in rng.standard_cauchy((count, 2)) * 0.05 + shift]

    found = audit(sampler(1.0), sampler(0.0), claimed=Loss(0.5), attacks=[Direction()], samples=2000)
    assert found.detected
    same = audit(sampler(0.0), sampler(0.0), claimed=Loss(0.5), attacks=[Direction()], samples=2000)
    assert not same.detected
    refusals = [(None, None)] * 5
    assert Direction().events(refusals, refusals, Aim(Loss(1.0), 5, 1e-3))


def test_the_least_epsilon_of_a_profile():
    """Bisection finds where a falling divergence passes delta."""
    import math

    assert least_epsilon(lambda e: math.exp(-e), 0.1, 1.0) == pytest.approx(math.log(10), rel=2e-3)
    assert least_epsilon(lambda e: 0.0, 0.1, 1.0) == 0.0
    assert least_epsilon(lambda e: 1.0, 0.1, 1.0) == math.inf
    assert timed(Check("x", "exact", lambda effort: Evidence(True)), Effort())[0].holds
