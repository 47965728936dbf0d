"""The recorded results of ``dither bench`` and the page that tells of them."""

import importlib
import json
import re
import sys
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from dither_lab.bench.areas import AREAS, area_of
from dither_lab.bench.excerpts import MISSING, REPORTED, is_other, keys_in, with_figures
from dither_lab.bench.explanations import EXPLANATIONS, UNEXPLAINED, why
from dither_lab.bench.peers import PEERS
from dither_lab.bench.result_rows import NOT_MEASURED, PEER_LOWER
from dither_lab.bench.run import Results

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "benchmarks.md").read_text()


@pytest.fixture(scope="module")
def recorded() -> Results:
    """docs/benchmarks.json."""
    return Results.from_dict(json.loads((ROOT / "docs" / "benchmarks.json").read_text()))


def test_all_areas_and_peers_are_recorded(recorded):
    """In a full run; every peer has a version or a reason."""
    assert not recorded.quick
    assert list(dict.fromkeys(row.area for row in recorded.rows)) == list(AREAS)
    assert set(recorded.peers) == set(PEERS)
    assert all((peer["version"] is None) != (peer["reason"] is None) for peer in recorded.peers.values())
    assert len({row.key for row in recorded.rows}) == len(recorded.rows)


def test_every_row_where_a_peer_is_lower_is_explained(recorded):
    """In the package, and on the page in the same words with the row's key."""
    lower = [row for row in recorded.rows if row.verdict == PEER_LOWER]
    assert lower
    for row in lower:
        assert row.why == why(row.key) != UNEXPLAINED, row.key
        assert row.why in PAGE
        assert f"`{row.key}`" in PAGE


def test_every_promise_that_is_missed_is_explained(recorded):
    """A figure that was asked for and does not hold is told of."""
    for row in recorded.rows:
        if row.held == "no":
            assert why(row.key) != UNEXPLAINED, row.key
            assert why(row.key) in PAGE


def test_what_was_not_measured_says_why(recorded):
    """And what was measured has figures with intervals."""
    for row in recorded.rows:
        if row.verdict == NOT_MEASURED:
            assert row.why
        else:
            assert row.ours.low <= row.ours.value <= row.ours.high


@pytest.fixture
def record(monkeypatch):
    """lab/benchmarks/record.py."""
    monkeypatch.syspath_prepend(str(ROOT / "lab" / "benchmarks"))
    monkeypatch.delitem(sys.modules, "record", raising=False)
    return importlib.import_module("record")


def test_pages_show_the_recorded_rows(recorded, record):
    """Tables, explanations, versions, rows that others win, rows of the report and figures in sentences."""
    for name, text in record.pages(recorded).items():
        assert (ROOT / "docs" / name).read_text() == text, f"{name}: run python lab/benchmarks/record.py"


def test_a_figure_that_changes_changes_in_every_page(recorded, record):
    """What stands in a table or in a sentence follows the file, and a figure that is not recorded says so."""
    changed = replace(
        recorded, rows=[replace(row, theirs=row.theirs and replace(row.theirs, value=1234.5)) for row in recorded.rows]
    )
    assert all("1,230" in text or "1,234" in text for text in record.pages(changed).values())
    key = "noise/scalar/laplace/time/OpenDP"
    sentence = f"it takes <!-- ours: {key} -->?<!-- / -->"
    assert with_figures(sentence, []) == f"it takes <!-- ours: {key} -->{MISSING}<!-- / -->"
    assert "µs" in with_figures(sentence, recorded.rows)


def test_figures_in_sentences_and_rows_of_the_report_are_measured():
    """Each is of a row that a full run has."""
    keys = _keys(quick=False)
    for name in ("benchmarks.md", "comparison.md", "report.md"):
        assert keys_in((ROOT / "docs" / name).read_text()) <= keys
    for pattern in REPORTED:
        assert any(fnmatchcase(key, pattern) for key in keys), pattern


def test_every_row_that_another_library_or_method_wins_is_in_the_comparison(recorded):
    """Unless it is a yardstick or our own, a peer counts as another's, also one that nobody has listed."""
    page = (ROOT / "docs" / "comparison.md").read_text()
    for row in recorded.rows:
        if row.verdict == PEER_LOWER and row.peer.startswith(("OpenDP", "PyDP", "Tumult", "diffprivlib", "dp-acc")):
            assert f"| {row.peer} |" in page
    assert is_other("a method of next year")
    assert not any(map(is_other, ("DuckDB", "-", "least squares, not private")))


def _keys(*, quick: bool) -> set[str]:
    """The keys of all rows of a run."""
    keys: set[str] = set()
    for name in AREAS:
        for one in area_of(name).comparisons(quick):
            titles = [way.title for way in one.others] or ["-"]
            keys |= {f"{name}/{one.name}/{measure}/{title}" for measure in one.measures for title in titles}
            keys |= set() if one.series is None else {f"{name}/{one.series}/growth/{title}" for title in titles}
    return keys


def test_no_explanation_is_for_nothing():
    """Each is about a row that a full or a quick run can have."""
    used = {why(key) for key in _keys(quick=False) | _keys(quick=True)}
    assert {text for text in EXPLANATIONS.values() if text not in used} == set()


def test_every_section_of_figures_has_its_command():
    """A heading with a table below names a command."""
    for section in re.split(r"^(?=#{2,3} )", PAGE, flags=re.MULTILINE)[1:]:
        heading = section.splitlines()[0]
        if "\n|---" in section and "<!--" not in section:
            assert re.search(r"`(DITHER_DATA=\S+ )?(dither bench|python lab/benchmarks/)", heading), heading
