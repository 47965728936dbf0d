"""``dither bench``: the design, its intervals, verdicts and reports, with small workers of this test."""

import ast
import csv
import io
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import dither_lab.bench.pool
from dither.errors import InvalidArgument
from dither.interfaces.cli.main import main
from dither_lab.bench import peers as peers_module
from dither_lab.bench.areas import AREAS, area_of, people
from dither_lab.bench.compare import compare, comparison_of
from dither_lab.bench.design import Area, Asked, Comparison, Data, DataMissing, MeasuringEffort, Way
from dither_lab.bench.explanations import EXPLANATIONS, UNEXPLAINED, why
from dither_lab.bench.intervals import Figure, figure, growth, ratio
from dither_lab.bench.page import page
from dither_lab.bench.peers import Peer, Standing, default_home, ensure
from dither_lab.bench.pool import BenchWorker, Pool, WorkerFailed, unpack
from dither_lab.bench.report import save, write_csv
from dither_lab.bench.result_rows import (
    EQUAL,
    NO_PEER,
    NOT_MEASURED,
    OURS_LOWER,
    PEER_LOWER,
    ResultRow,
    held,
    verdict_of,
)
from dither_lab.bench.run import Results, measure_area, run
from dither_lab.bench.texts import figure_text, footer, markdown
from dither_lab.bench.workers import loop

pytestmark = pytest.mark.slow

WORKERS = Path(loop.__file__).parent
TASKS = """
import os, time

def echo(options, data):
    return lambda: float(data["x"].mean()) + options.get("shift", 0.0)

class Clocks:  # both stand still but for the work that a task says it does
    wall = processor = 0.0

time.perf_counter = lambda: Clocks.wall
time.process_time = lambda: Clocks.processor

def works(options, data):
    def work():
        Clocks.wall += options["wall"]
        Clocks.processor += options["processor"]
    return work

def broken(options, data):
    def work():
        raise ValueError("cannot do that")
    return work

def dies(options, data):
    return lambda: os._exit(3)

def sleeps(options, data):
    return lambda: time.sleep(60)

def refuses(options, data):
    return lambda: None
"""
OWN = {"dither": Standing("dither", Path(sys.executable))}
GONE = Standing("Gone", None, reason="pip: no such package")


def made(index: int, folder: Path) -> dict[str, object]:
    """Dataset ``index``."""
    return {"x": np.arange(5.0) + index}


def distance(answer: float, data: dict[str, object]) -> float:
    """To the mean."""
    return abs(answer - float(np.mean(data["x"])))


def comparison(name: str = "echo", **more: object) -> Comparison:
    """A small one, with some fields replaced."""
    given = {
        "what": f"the task {name}",
        "data": Data("numbers", made, 3),
        "ours": Way("dither", "echo", options={"shift": 1.0}),
        "others": (Way("dither", "echo", "twice as far", {"shift": 2.0}), Way("Gone", "echo")),
        "measures": ("error",),
        "score": distance,
        "effort": MeasuringEffort(3, 2, 0.1),
    }
    return Comparison(name=name, **(given | more))


@pytest.fixture
def fake(monkeypatch):
    """Workers of an area that is called fake."""

    def with_fake(folder: Path) -> Path:
        unpack(folder)
        (folder / "fake_dither.py").write_text(TASKS)
        return folder

    monkeypatch.setattr(dither_lab.bench.pool, "unpack", with_fake)
    return {**OWN, "Gone": GONE}


def rows_by_peer(rows: list[ResultRow]) -> dict[str, ResultRow]:
    """Rows by the name of the other way."""
    return {row.peer: row for row in rows}


def test_ways_are_compared_on_the_same_datasets(fake):
    """Errors 1 and 2 on every dataset: ratio one half, exactly, and a peer that is gone is told of with its reason."""
    rows = rows_by_peer(measure_area("fake", [comparison(asked=(Asked("error", 0.6),))], fake, lambda text: None))
    twice = rows["twice as far"]
    assert (twice.ours.value, twice.theirs.value, twice.ratio.value) == (1.0, 2.0, 0.5)
    assert (twice.verdict, twice.held) == (OURS_LOWER, "yes")
    assert (rows["Gone"].verdict, rows["Gone"].why) == (NOT_MEASURED, "pip: no such package")
    assert rows["Gone"].ours.value == 1.0


@pytest.mark.parametrize(
    ("task", "reason"),
    [("broken", "ValueError: cannot do that"), ("dies", "worker ended"), ("missing", "no attribute")],
)
def test_a_way_that_fails_is_told_of(fake, task, reason):
    """Whatever it raises, also when its process is gone, and the others are measured all the same."""
    same = Way("dither", "echo", "same", {"shift": 1.0})
    listed = [comparison(f"{task} {place}", others=(Way("dither", task, "other"), same)) for place in range(2)]
    for row in measure_area("fake", listed, fake, lambda text: None):
        if row.peer == "other":
            assert row.verdict == NOT_MEASURED
            assert reason in row.why
        else:
            assert row.verdict == EQUAL


def test_refusals_are_counted_and_not_scored(fake):
    """A way that refuses everything has no error, and its row says why."""
    rows = measure_area("fake", [comparison(others=(Way("dither", "refuses", "other"),))], fake, lambda text: None)
    assert rows[0].verdict == NOT_MEASURED
    assert rows[0].why.startswith("refused")


def test_ours_that_fails_is_told_of(fake):
    """With our own name."""
    rows = measure_area("fake", [comparison(ours=Way("dither", "broken"))], fake, lambda text: None)
    assert {row.verdict for row in rows} == {NOT_MEASURED}
    assert all(row.why == "dither: ValueError: cannot do that" for row in rows if row.peer != "Gone")


@pytest.mark.parametrize(("clock", "seconds"), [("wall", 0.002), ("processor", 0.001)])
def test_times_memory_and_growth(fake, clock, seconds):
    """Work of 2 ms, half of it on the processor, against a hundredth: a row for each measure, one for the growth."""
    ours = Way("dither", "works", options={"wall": 2e-5, "processor": 1e-5})
    busy = Way("dither", "works", "busy", {"wall": 2e-3, "processor": 1e-3})
    listed = [
        comparison(
            f"busy/{size}",
            ours=ours,
            others=(busy,),
            score=None,
            measures=("time", "memory") if size == 100 else ("time",),
            series="busy",
            size=size,
            effort=MeasuringEffort(3, 3, 1.0),
        )
        for size in (1, 10, 100)
    ]
    rows = measure_area("fake", listed, fake, lambda text: None, clock)
    times = [row for row in rows if row.measure == "time"]
    assert [(row.clock, row.verdict) for row in times] == [(clock, OURS_LOWER)] * 3
    assert [row.theirs.value for row in times] == pytest.approx([seconds] * 3)
    assert [row.ours.value for row in times] == pytest.approx([seconds / 100] * 3)
    assert [row.measure for row in rows if row.measure != "time"] == ["memory", "growth"]
    assert rows[-1].theirs.value == pytest.approx(0, abs=1e-6)


def test_comparisons_without_a_peer_have_a_row(fake):
    """And a promise that is broken is said to be."""
    (row,) = measure_area(
        "fake", [comparison(others=(), asked=(Asked("error", 0.5, of="ours"),))], fake, lambda t: None
    )
    assert (row.verdict, row.peer, row.held) == (NO_PEER, "-", "no")


def test_a_worker_that_never_answers_is_ended(fake, tmp_path):
    """After the patience given."""
    pool = Pool(fake, tmp_path)
    worker = pool.worker("fake", "dither")
    np.savez(tmp_path / "data.npz", x=np.zeros(1))
    files = [str(tmp_path / "data.npz")]
    worker.ask({"do": "prepare", "name": "n", "task": "sleeps", "options": {}, "files": files})
    with pytest.raises(WorkerFailed, match="no answer in 0 s"):
        worker.ask({"do": "round", "name": "n", "dataset": 0, "calls": 1, "seconds": 0.0}, patience=0.2)
    pool.clear()


def test_a_worker_that_does_not_start_says_why(tmp_path):
    """The last line that it wrote."""
    script = tmp_path / "bad.py"
    script.write_text("raise ImportError('nothing here')")
    unpack(tmp_path)
    worker = BenchWorker(OWN["dither"], script, tmp_path / "log")
    with pytest.raises(WorkerFailed, match="ImportError: nothing here"):
        worker.ask({"do": "round"})
    worker.end()


def test_a_package_that_cannot_be_installed_is_reported(tmp_path, monkeypatch):
    """Through pip itself, without a network; and the second time again, because nothing is marked as ready."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    peer = Peer("Nobody", "dither-no-such-package", "nobody", "none")
    standing = ensure(peer, tmp_path)
    assert not standing.ready
    assert "dither-no-such-package" in standing.reason
    assert not (tmp_path / "nobody" / "ready").exists()


def test_a_package_that_does_not_start_is_reported(tmp_path):
    """Its environment is there, its interpreter is not."""
    (tmp_path / "nobody").mkdir()
    (tmp_path / "nobody" / "ready").touch()
    assert ensure(Peer("Nobody", "nobody", "nobody", "none"), tmp_path).reason.startswith("does not start")


def test_data_that_cannot_be_had_are_a_reason(fake):
    """Rows say why nothing was measured; other comparisons go on."""

    def nowhere(index, folder):
        raise DataMissing("the generator: no such package")

    rows = measure_area("fake", [comparison(data=Data("gone", nowhere)), comparison("rest")], fake, lambda text: None)
    gone = [row for row in rows if "rest" not in row.key]
    assert {row.verdict for row in gone} == {NOT_MEASURED}
    assert all("the generator: no such package" in row.why for row in gone)
    assert any(row.verdict != NOT_MEASURED for row in rows)


def test_errors_of_statements_are_by_cell():
    """The largest of the groups of a size, in percent."""
    data = {"Q truth": np.array([[100.0, 10.0], [5.0, 1.0]]), "Q rows": np.array([2_000_000, 40])}
    answer = [101.0, 10.0, 4.0, 1.0]
    assert people.largest_error(answer, data, name="Q", above=1_000_000) == pytest.approx(1.0)
    assert people.largest_error(answer, data, name="Q", below=1_000) == pytest.approx(20.0)
    assert people.largest_error(answer, data, name="Q") == pytest.approx(20.0)


def test_a_quick_run_installs_nothing_that_takes_minutes(tmp_path):
    """It says so instead."""
    standing = ensure(Peer("Heavy", "heavy", "heavy", "none", heavy=True), tmp_path, quick=True)
    assert "--quick" in standing.reason
    assert not list(tmp_path.iterdir())


def test_environments_are_where_the_user_wants_them(monkeypatch, tmp_path):
    """A variable, or the user's cache."""
    monkeypatch.setenv("DITHER_BENCH_PEERS", str(tmp_path / "here"))
    assert default_home() == tmp_path / "here"
    monkeypatch.delenv("DITHER_BENCH_PEERS")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_home() == tmp_path / "dither" / "peers"


def test_the_command_with_a_fake_area(fake, monkeypatch, tmp_path):
    """Table, JSON, CSV, picture and page; progress goes to standard error."""
    area = Area("fake", "Fake", lambda quick: [comparison(), comparison("other", measures=("error", "time"))])
    monkeypatch.setattr("dither_lab.bench.run.area_of", lambda name: area)
    monkeypatch.setattr("dither_lab.bench.run.ensure_all", lambda names, home, quick, tell: fake)
    result = CliRunner().invoke(main, ["bench", "fake", "--quick", "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "twice as far" in result.stdout
    assert "Gone NOT MEASURED (pip: no such package)" in result.stdout.replace("\n", " ")
    stored = Results.from_dict(json.loads((tmp_path / "out" / "results.json").read_text()))
    assert [row.key for row in stored.rows][:2] == ["fake/echo/error/twice as far", "fake/echo/error/Gone"]
    with (tmp_path / "out" / "results.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["key"] for line in lines] == [row.key for row in stored.rows]
    assert float(lines[0]["ratio"]) == 0.5
    text = (tmp_path / "out" / "index.html").read_text()
    assert text.count("<tr>") == len(stored.rows) + 1
    assert "http" not in text
    assert (tmp_path / "out" / "fake.png").read_bytes().startswith(b"\x89PNG")
    as_json = CliRunner().invoke(main, ["bench", "fake", "--only", "other", "--json"])
    assert [row["area"] for row in json.loads(as_json.stdout)["rows"]] == ["fake"] * 4


def test_unknown_areas_are_refused():
    """With the names that there are."""
    result = CliRunner().invoke(main, ["bench", "everything"])
    assert result.exit_code != 0
    assert "noise, quantiles, arrays, tables, people, graphs, models, composition, server or all" in str(
        result.output
    ) + str(result.exception)
    with pytest.raises(InvalidArgument):
        area_of("everything")


def test_a_real_area_without_peers(monkeypatch, tmp_path):
    """Composition: our figures are there, and every peer is reported as missing."""

    def none(names, home, quick, tell):
        return {**OWN, **{name: Standing(name, None, reason="not installed") for name in names if name != "dither"}}

    monkeypatch.setattr("dither_lab.bench.run.ensure_all", none)
    results = run(["composition"], quick=True, home=tmp_path, only="1000")
    assert {row.verdict for row in results.rows} == {NOT_MEASURED}
    thousand = next(row for row in results.rows if row.key == "composition/equal/1000/error/dp-accounting")
    assert 1.36 < thousand.ours.value <= 1.37
    assert thousand.held == "yes"
    assert all(row.why for row in results.rows)
    assert "dp-accounting NOT MEASURED (not installed)" in footer(results)


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("name", AREAS)
def test_every_way_has_its_task(name, quick):
    """In a worker script of the package; names of rows are unique; a promise is about something that is measured."""
    listed = area_of(name).comparisons(quick)
    assert len({one.name for one in listed}) == len(listed)
    for one in listed:
        assert {asked.measure for asked in one.asked} <= set(one.measures)
        assert "error" not in one.measures or one.score is not None
        ways = (one.ours, *one.others)
        assert len({way.title for way in ways}) == len(ways)
        assert one.ours.who == "dither"
        for way in ways:
            assert way.who == "dither" or way.who in peers_module.PEERS
            if way.absent is None:
                script = WORKERS / f"{name}_{way.who.lower().replace('-', '_')}.py"
                tree = ast.parse(script.read_text())
                assert way.task in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_workers_of_peers_need_nothing_of_ours():
    """They run where dither is not installed."""
    for script in WORKERS.glob("*.py"):
        if not script.stem.endswith("_dither"):
            assert "import dither" not in script.read_text()
            assert "from dither" not in script.read_text()


def test_the_loop_counts_calls_and_stops_in_time():
    """At least one answer, at most the calls."""
    counted = loop.round_of(lambda: 1.0, 4, 10.0)
    assert counted["answers"] == [1.0] * 4
    assert len(loop.round_of(lambda: 1.0, 1_000_000, 0.0)["answers"]) == 1
    assert loop.plain(np.array([[1, 2]])) == [[1.0, 2.0]]
    assert loop.plain(None) is None
    with pytest.raises(ArithmeticError):
        loop.plain(math.nan)


def test_the_loop_sees_memory():
    """An array of 64 MiB that is written to, in a process that never held as much."""
    program = "import loop, numpy; print(loop.memory_of(lambda: numpy.ones(8 << 20)))"
    done = subprocess.run([sys.executable, "-c", program], cwd=WORKERS, capture_output=True, text=True, check=True)
    assert float(done.stdout) > 50


def test_intervals_cover():
    """More than 95% of 99% intervals of ratios of 8 exponential pairs cover (fixed seed; 97% and more are seen)."""
    rng = np.random.default_rng(3)
    draws = [(rng.exponential(2.0, 8), rng.exponential(1.0, 8)) for _ in range(400)]
    covered = [found.low <= 2.0 <= found.high for found in (ratio(*pair, "mean") for pair in draws)]
    assert np.mean(covered) > 0.95


def test_figures_and_verdicts():
    """Zeros, equal within half a percent, promises within the interval."""
    assert figure(np.array([2.0, 2.0]), "mean") == Figure(2.0, 2.0, 2.0)
    assert ratio(np.zeros(3), np.zeros(3), "mean").value == 1.0
    assert ratio(np.ones(3), np.zeros(3), "mean") is None
    assert ratio(np.zeros(3), np.ones(3), "mean").value == 0.0
    assert verdict_of(Figure(1.002, 1.002, 1.002)) == EQUAL
    assert verdict_of(Figure(1.2, 1.1, math.inf)) == PEER_LOWER
    assert held(Asked("time", 1.0), None, Figure(1.1, 0.9, 1.3)) == "within the interval"
    assert held(Asked("time", 1.0, of="ours"), Figure(2.0, 2.0, 2.0), None) == "no"
    assert held(Asked("time", 1.0), None, None) is None
    assert figure_text(Figure(2e-6, 1e-6, math.inf), "s") == "2 µs [1, inf]"


def test_growth_finds_the_power():
    """Times that grow as the power 1.5; one round is a percent slow at the least size and fast at the most, one is
    the other way round: the interval reaches from the one's power to the other's."""
    sizes = np.array([10.0, 100.0, 1000.0])
    off = np.array([[1.0, 1.01, 0.99], [1.0, 1.0, 1.0], [1.0, 0.99, 1.01]])
    found = growth(sizes, list(sizes[:, None] ** 1.5 * off))
    width = math.log(1.01 / 0.99) / math.log(100)
    assert [found.low, found.value, found.high] == pytest.approx([1.5 - width, 1.5, 1.5 + width])


def row(**more: object) -> ResultRow:
    """A row with some fields replaced."""
    given = {
        "key": "a/b/error/P",
        "area": "a",
        "what": "<b>",
        "measure": "error",
        "quantity": "error",
        "unit": "",
        "guarantee": "epsilon 1",
        "neighbours": "change one record",
        "data": "generated",
        "ours": Figure(2.0, 1.0, 3.0),
        "peer": "P",
        "version": "1.0",
        "theirs": Figure(1.0, 1.0, 1.0),
        "ratio": Figure(2.0, 1.5, math.inf),
        "verdict": PEER_LOWER,
        "why": "because | of & that",
    }
    return ResultRow(**(given | more))


def results(*rows: ResultRow) -> Results:
    """Results of a machine that does not exist."""
    facts = {"system": "S", "cores": 2, "memory_gib": 4.0, "python": "3", "load": 0.0, "day": "2026-01-01"}
    return Results(list(rows), {"P": {"version": "1.0", "reason": None}}, facts, {"dither": "0"}, quick=False)


def test_results_are_the_same_after_json():
    """An interval without an end is no JSON number."""
    both = results(row(), row(ratio=None, ours=None))
    text = json.dumps(both.to_dict(), allow_nan=False)
    assert Results.from_dict(json.loads(text)) == both


def test_reports_escape(tmp_path):
    """Markup in names is shown, not followed."""
    alone = results(row())
    assert "&lt;b&gt;" in page(alone, {})
    assert "because | of &amp; that" in page(alone, {})
    assert "| <b>, error | epsilon 1; change one record | 2 [1, 3] | P | 1 | 2 [1.5, inf] | peer lower |" in markdown(
        [row()]
    )
    file = io.StringIO()
    write_csv(alone.rows, file)
    assert list(csv.reader(io.StringIO(file.getvalue())))[1][0] == "a/b/error/P"
    assert {path.name for path in save(alone, tmp_path)} == {"results.json", "results.csv", "index.html", "a.png"}


def test_no_host_is_named():
    """Cores, memory and versions only."""
    import platform

    text = json.dumps(results(row()).to_dict()) + json.dumps(dither_lab.bench.machine.machine())
    assert platform.node() not in text or len(platform.node()) < 4


def test_explanations_fit_keys():
    """Every explanation is a sentence."""
    assert why("nothing/like/that") == UNEXPLAINED
    assert all(text.endswith(".") and text != UNEXPLAINED for text in EXPLANATIONS.values())


def test_a_ratio_is_worse_only_twice_in_a_row():
    """By a third and by three widths; a row that was worse once is measured again; what is not recorded is counted."""
    recorded = [
        row(key="a/slow/error/P", ratio=Figure(1.0, 0.95, 1.05)),
        row(key="a/noisy/error/P", ratio=Figure(1.0, 0.5, 1.5)),
        row(key="a/b/time/P", measure="time", clock="wall", ratio=Figure(1.0, 1.0, 1.0)),
    ]
    now = [
        row(key="a/slow/error/P", ratio=Figure(1.4, 1.3, 1.5)),
        row(key="a/noisy/error/P", ratio=Figure(2.9, 2.5, 3.5)),
        row(key="a/new/error/P"),
        row(key="a/b/time/P", measure="time", clock="processor", ratio=Figure(9.0, 9.0, 9.0)),
    ]
    asked = []

    def again(value):
        def measured(item):
            asked.append(comparison_of(item))
            return row(key=item.key, ratio=Figure(value, value, value))

        return measured

    steady = compare(now, recorded, again(1.35))
    assert [item.key for item in steady.worse] == ["a/slow/error/P"]
    assert (steady.compared, steady.unrecorded) == (2, ["a/new/error/P", "a/b/time/P"])
    assert not compare(now, recorded, again(1.3)).worse
    assert asked == ["slow", "slow"]


@pytest.mark.parametrize("name", ["arrays", "tables"])
def test_a_full_run_has_every_size_of_a_quick_one(name):
    """Else a quick run would find nothing in the record to be compared with."""
    area = dither_lab.bench.run.area_of(name)
    full, quick = ({item.name for item in dither_lab.bench.run._listed(area, given, None)} for given in (False, True))
    assert quick <= full


def test_names_of_people_say_the_scale():
    """A quick run has smaller tables; a row of theirs must not be compared with one of the full size."""
    area = dither_lab.bench.run.area_of("people")
    assert all(item.name.startswith("scale 0.1/") for item in area.comparisons(True))
    assert {item.name for item in area.comparisons(True)} < {item.name for item in area.comparisons(False)}


def test_names_with_slashes_are_measured_again():
    """A peer of ``cwida/privacy``, a size of ``beta=1/10``: the comparison's own name is what is asked for again."""
    item = row(key="a/median cell/Q1/sums/error/cwida/privacy, archived", peer="cwida/privacy, archived")
    assert comparison_of(item) == "median cell/Q1/sums"


def test_the_command_fails_where_the_record_was_better(fake, monkeypatch, tmp_path):
    """The ratio of this area is a half: a record of a half is met, one of a tenth is not."""
    area = Area("fake", "Fake", lambda quick: [comparison()])
    monkeypatch.setattr("dither_lab.bench.run.area_of", lambda name: area)
    monkeypatch.setattr("dither_lab.bench.run.ensure_all", lambda names, home, quick, tell: fake)
    for best, status in ((0.5, 0), (0.1, 1)):
        key = "fake/echo/error/twice as far"
        stored = results(row(key=key, area="fake", ratio=Figure(best, best, best)))
        (tmp_path / "record.json").write_text(json.dumps(stored.to_dict()))
        ran = CliRunner().invoke(main, ["bench", "fake", "--compare", str(tmp_path / "record.json")])
        assert ran.exit_code == status, ran.output
        assert "1 ratios compared" in ran.stdout
        assert (key in ran.stdout) == bool(status)
