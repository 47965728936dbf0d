"""The recorded results of ``dither bench`` and the page that tells of them."""

import json
import re
import sys
from pathlib import Path

import pytest

from dither_lab.bench.areas import AREAS, area_of
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


def test_the_page_shows_the_recorded_rows(recorded, monkeypatch):
    """Tables, explanations and versions are those of the file."""
    monkeypatch.syspath_prepend(str(ROOT / "lab" / "benchmarks"))
    monkeypatch.delitem(sys.modules, "record", raising=False)
    import record

    assert record.filled(PAGE, record.parts_of(recorded)) == PAGE


def test_no_explanation_is_for_nothing():
    """Each is about a row that a full or a quick run can have."""
    keys = []
    for name in AREAS:
        for one in area_of(name).comparisons(False) + area_of(name).comparisons(True):
            for way in one.others:
                keys += [f"{name}/{one.name}/{measure}/{way.title}" for measure in one.measures]
                keys += [] if one.series is None else [f"{name}/{one.series}/growth/{way.title}"]
    used = {why(key) for key in keys}
    assert {text for text in EXPLANATIONS.values() if text not in used} == set()


def test_every_section_of_figures_has_its_command():
    """A heading with a table below names a command."""
    for section in re.split(r"^(?=#{2,3} )", PAGE, flags=re.MULTILINE)[1:]:
        heading = section.splitlines()[0]
        if "\n|---" in section and "<!--" not in section:
            assert re.search(r"`(DITHER_DATA=\S+ )?(dither bench|python lab/benchmarks/)", heading), heading
