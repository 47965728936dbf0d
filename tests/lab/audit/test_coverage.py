"""Every statistic has something behind it with every mechanism that serves it, and the page that says so is right."""

import functools

import coverage_page

from dither.mechanisms.choice import MECHANISMS
from dither_lab.audit import coverage


@functools.cache
def all_cells():
    """Every statistic with every mechanism that serves it."""
    return list(coverage.cells())


def test_no_cell_is_empty():
    """Each has a proof and either checks of every sort or words that say why not; at most one in twenty has words."""
    assert all(cell.proofs for cell in all_cells())
    assert all(cell.explanation or (cell.enumerated and cell.laws and cell.attacked) for cell in all_cells())
    assert sum(bool(cell.explanation) for cell in all_cells()) <= len(all_cells()) / 20


def test_what_rules_leave_out_is_explained():
    """A mechanism that leaves out statistics with what it needs has a reason on the page, and no reason is idle."""
    assert set(coverage.left_out()) == set(coverage.RULES)


def test_everything_else_has_checks_and_a_reason_for_those_it_has_none_of():
    """What names a new row of the second table and no reason fails here, and so does an idle reason."""
    rows = coverage.others()
    assert all(sum(counted.values()) for counted in rows.values())
    assert {coverage.instead(name) for name in rows} == set(coverage.INSTEAD)


def test_every_mechanism_is_enumerated_somewhere_and_broken_on_purpose():
    """None rests on attacks or on words alone, and for each there is a mistake that is found."""
    assert not coverage.unused()
    for name in MECHANISMS:
        assert any(cell.enumerated and cell.laws for cell in all_cells() if cell.mechanism == name), name
        assert coverage.mutants_of(name), name


def test_the_page_is_up_to_date():
    """docs/coverage.md: `make api` writes it."""
    is_current = coverage_page.PAGE.read_text(encoding="utf-8") == coverage_page.written()
    assert is_current, "docs/coverage.md is out of date: run `make api`, or python docs/_site/coverage_page.py"
