"""Experiments: estimates with intervals, judged claims, sources, subgraphs, and the files of a report."""

import csv
import json
import math

import numpy as np
import pytest

from dither.errors import InvalidArgument
from dither_lab.reproduce import intervals, report, sources
from dither_lab.reproduce.counterfactual import alike, both, power, put, times, without
from dither_lab.reproduce.experiment import (
    EXACT,
    MOST_CHANCE,
    TIMED,
    Chance,
    Claim,
    Experiment,
    Judged,
    MeasuredPoints,
    Point,
    Rule,
    Setting,
    Verdict,
    agrees,
    corrected,
    disagrees,
    settle,
    untested,
)
from dither_lab.reproduce.run import MODULES, PAPERS, experiments, names, run


def line(_setting):
    """y = 2 / x."""
    return [Point("y", "line", x, intervals.exact(2 / x)) for x in (1.0, 2.0, 4.0)]


def drawn(figure, points):
    """One axis."""
    figure.subplots().plot(points.xs, points.ys)


EXAMPLE = Experiment(
    "errata",
    "example",
    "An <example>",
    line,
    [
        Claim(
            "Claim 1",
            "it falls & falls",
            lambda points: settle(points.ys[0] > points.ys[2], "so", "not so"),
            Rule("the first is above the last", "falling means that"),
            power("y", of=2.0),
        ),
        Claim(
            "Claim 2",
            "like 1/x^2",
            lambda points: settle(points.follow(-2), "as 1/x", "the power is another"),
            Rule("the ends are those of 1/x^2, within 30%", "1/x differs by a factor of 4"),
            power("y", of=-1.0),
        ),
    ],
    drawn,
    note="by hand",
)


# --- numbers --------------------------------------------------------------------------------------------------------


def test_bootstraps_cover_and_say_so():
    """A mean and a median of many draws lie within their intervals, which name their kind."""
    samples = np.random.default_rng(1).normal(5, 1, 400)
    for estimate, name in ((intervals.mean(samples), "mean"), (intervals.median(samples), "median")):
        assert estimate.low < estimate.value < estimate.high
        assert abs(estimate.value - 5) < 0.5
        assert estimate.how == f"{name} of 400, bootstrap 95%"
    with pytest.raises(ValueError, match="samples"):
        intervals.mean([])


@pytest.mark.parametrize(("hits", "low", "high"), [(0, 0.0, 0.3085), (5, 0.1871, 0.8129), (10, 0.6915, 1.0)])
def test_shares_have_clopper_and_pearsons_interval(hits, low, high):
    """Of ten trials; published values."""
    estimate = intervals.share(hits, 10)
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=1e-4)


def test_slopes_find_powers():
    """Exactly on a power law, with an interval that shrinks to it; too few points have no interval."""
    xs = np.array([1.0, 3.0, 10.0, 30.0])
    fit = intervals.slope(xs, 7 * xs**-1.5)
    assert fit.value == pytest.approx(-1.5)
    assert fit.high - fit.low < 1e-6
    assert math.isinf(intervals.slope(xs[:2], xs[:2]).high)


def test_processor_time_counts_work_and_takes_fresh_arguments():
    """Three rounds on three different lists; sleeping would cost nothing."""
    given = iter([[1], [2], [3]])
    seen = []
    estimate = intervals.processor(seen.append, 3, fresh=lambda: (next(given),))
    assert seen == [[1], [2], [3]]
    assert 0 <= estimate.low <= estimate.value <= estimate.high
    assert intervals.processor(sorted, 2, [3, 1, 2]).how == "median and range of 2 rounds"


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (1234567, "1,230,000"), (0.12345, "0.123"), (1e-7, "1.00e-7"), (2.5e9, "2.50e9")]
)
def test_numbers_are_shown_with_three_digits(number, text):
    """Thousands apart, small and large ones with a power of ten."""
    assert intervals.short(number) == text


# --- judging --------------------------------------------------------------------------------------------------------


def test_every_verdict_but_agreement_needs_a_reason():
    """A disagreement without a why cannot be made."""
    assert agrees("so").why == ""
    assert corrected("so", "but").verdict is Verdict.CORRECTED
    assert disagrees("no", "because").verdict is Verdict.DISAGREES
    assert settle(True, "so", "else", correction="but").verdict is Verdict.CORRECTED
    assert untested("so", "too few").verdict is Verdict.UNTESTED
    for verdict in (Verdict.CORRECTED, Verdict.DISAGREES, Verdict.UNTESTED):
        with pytest.raises(ValueError, match="reason"):
            Judged(verdict, "ours")


def test_rules_say_what_holds_why_and_how_often_chance_decides():
    """All three are printed; a chance above 1 in 100,000 cannot be stated, and time has no bound."""
    rule = Rule("x < 3", "three is many", Chance(MOST_CHANCE, "Bin(300, 1/2)"))
    assert str(rule) == ("holds if x < 3. Threshold: three is many. Flips by chance: at most 1e-05: Bin(300, 1/2)")
    assert str(EXACT).startswith("0: ")
    assert str(TIMED).startswith("not bounded: ")
    with pytest.raises(ValueError, match=r"bound=0\.01: must be at most 1e-05"):
        Chance(0.01, "often")


def test_counterfactuals_change_what_they_name_and_nothing_else():
    """Factors, powers, values and series of another name; the other points stay."""
    points = MeasuredPoints(
        [*line(None), Point("z", "a", 1.0, intervals.exact(5)), Point("z", "b", 1.0, intervals.exact(7))]
    )
    assert times("y", by=3)(points).of("y").ys.tolist() == [6, 3, 1.5]
    assert power("y", of=1.0)(points).of("y").ys.tolist() == [2, 2, 2]
    assert put("y", 9.0, last=True)(points).of("y").ys.tolist() == [2, 1, 9]
    assert put("z", 0.0, "a")(points).of("z").ys.tolist() == [0, 7]
    assert alike("z", "a", "b")(points).of("z", "a").ys.tolist() == [7]
    assert not without("z", "a")(points).of("z", "a")
    assert without("z")(points) == points[:3]
    assert both(times("z", by=2), times("z", "b", by=2))(points).of("z").ys.tolist() == [10, 28]
    assert times("y", by=3)(points).of("z") == points.of("z")


def test_points_are_found_by_quantity_series_and_place():
    """By rising x; what is not there is an error."""
    points = MeasuredPoints(reversed(line(None)))
    assert points.of("y", "line").xs.tolist() == [1, 2, 4]
    assert points.at("y", "line", 2).value == 1
    assert points.series("y") == ["line"]
    assert points.of("y").follow(-1)
    assert not points.of("y").follow(-2)
    with pytest.raises(KeyError, match="nothing at 3"):
        points.at("y", "line", 3)


def test_settings_pick_sizes_and_repeat_their_data():
    """The same name gives the same data, another name others."""
    assert Setting("quick").pick(tiny=1, quick=2, full=3) == 2
    one, same, other = (Setting("tiny").rng(name).random() for name in ("a", "a", "b"))
    assert one == same != other


# --- running and reporting ------------------------------------------------------------------------------------------


def test_a_run_measures_judges_and_draws():
    """One finding with two rows, one for and one against, and a picture."""
    (finding,) = run([EXAMPLE], Setting("tiny"))
    assert [row.judged.verdict for row in finding.rows] == [Verdict.AGREES, Verdict.DISAGREES]
    assert finding.rows[1].judged.why == "the power is another"
    assert finding.picture.startswith(b"\x89PNG")
    assert len(finding.points) == 3


def test_a_report_is_written_whole(tmp_path):
    """Verdicts, points, JSON, pictures, and one page without links to elsewhere, in which text is escaped."""
    findings = list(run([EXAMPLE], Setting("quick")))
    page = report.write(findings, Setting("quick"), tmp_path / "new" / "folder")
    files = {path.name for path in page.parent.iterdir()}
    assert files == {"report.html", "report.json", "verdicts.csv", "errata-example.csv", "errata-example.png"}
    payload = json.loads((page.parent / "report.json").read_text())
    assert payload["verdicts"] == {
        "agrees": 1,
        "agrees after a correction": 0,
        "disagrees": 1,
        "not testable here": 0,
    }
    assert payload["experiments"][0]["rows"][0]["rule"].startswith("holds if the first is above the last. ")
    assert payload["experiments"][0]["points"][0] == {
        "quantity": "y",
        "series": "line",
        "x": 1.0,
        "value": 2.0,
        "low": 2.0,
        "high": 2.0,
        "interval": "exact",
    }
    with (page.parent / "verdicts.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["verdict"] for row in rows] == ["agrees", "disagrees"]
    text = page.read_text()
    assert "An &lt;example&gt;" in text
    assert "it falls &amp; falls" in text
    assert "Flips by chance: 0: computed, nothing is drawn" in text
    assert "data:image/png;base64," in text
    assert "http" not in text
    assert 'name="viewport"' in text


def test_every_paper_has_modules_and_every_name_is_known():
    """Names are those that the command offers; others are refused by name."""
    assert set(MODULES) == set(PAPERS)
    assert names() == ["dmns06", "nrs11", "dl09", "v17", "coq17", "errata", "all"]
    keys = [(one.paper, one.key) for one in experiments("all")]
    assert len(keys) == len(set(keys))
    assert {paper for paper, _ in keys} == set(PAPERS)
    with pytest.raises(InvalidArgument, match=r"name must .*; got 'smith05'"):
        experiments("smith05")


# --- sources --------------------------------------------------------------------------------------------------------


@pytest.fixture
def no_data(monkeypatch):
    """Without the folder of real data."""
    monkeypatch.delenv(sources.FOLDER, raising=False)
    for cached in (sources.salaries, sources.friendships, sources.connected_subgraph):
        cached.cache_clear()
    yield
    for cached in (sources.salaries, sources.friendships, sources.connected_subgraph):
        cached.cache_clear()


@pytest.mark.usefixtures("no_data")
def test_stand_ins_are_generated_and_said_to_be():
    """As many salaries as the real ones, in order; a graph with hubs."""
    pay, source = sources.salaries()
    assert len(pay) == 148_654
    assert bool(np.all(np.diff(pay) >= 0))
    assert not source.real
    assert "stand-in" in source.words
    assert "stand-in" in sources.friendships()[1].words


@pytest.mark.slow
@pytest.mark.usefixtures("no_data")
@pytest.mark.parametrize(("size", "level"), [(100, 19), (60, 12)])
def test_subgraphs_are_connected_and_have_their_level(size, level):
    """Induced from the whole graph, with exactly so many common neighbours, and the same every time."""
    import igraph

    found = sources.connected_subgraph(size, level)
    assert found.graph.vertices == size == len(set(found.vertices.tolist()))
    assert found.graph.frontier.most_common == level
    assert igraph.Graph(size, found.graph.edges).is_connected()
    whole, _ = sources.friendships()
    members = set(found.vertices.tolist())
    assert found.graph.size == sum(a in members and b in members for a, b in whole.edges.tolist())
    sources.connected_subgraph.cache_clear()
    assert sources.connected_subgraph(size, level).vertices.tolist() == found.vertices.tolist()
