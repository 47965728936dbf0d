"""The two examples of docs/extending.md, under the contracts of everything that ships."""

import contextlib
import functools
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import examples
import pytest

from contract.contracts import MechanismContract, QueryContract
from dither.errors import NotProved
from dither.mechanisms.mechanism import MechanismSpec
from dither.privacy import Loss, Neighbours
from dither.queries import registry
from dither.sources.column import Shape
from dither_lab.audit.enumeration import as_column, datasets, ladder_violations, neighbours, noise_divergence

ROOT = Path(__file__).parents[2]


@functools.cache
def page_names():
    """The names that the page defines; its prints are thrown away.  The first test runs it, no start of the tests."""
    stage = examples.Stage(ROOT)
    for block in examples.blocks((ROOT / "docs" / "extending.md").read_text(encoding="utf-8")):
        if block.language == "python":
            stage.python(block)
    registry._ENTRIES.pop("midhinge")  # other tests look at what ships
    return stage.names


class TestMidhinge(QueryContract):
    values = range(4)
    exact = False

    def statistics(self, records):
        if records > 1:
            statistic = page_names()["Midhinge"](bounds=(0, 3)).resolve(Shape(records, whole=True, nullable=False))
            p, q = statistic.lower.rank, statistic.upper.rank
            yield statistic, lambda x: sorted(x)[p - 1] + sorted(x)[q - 1]


class TestFewRungs(MechanismContract):
    @property
    def cases(self):
        return [(page_names()["FewRungs"](rungs), None, Loss(1.0)) for rungs in (2, 64)]


@pytest.mark.parametrize("records", [4])
def test_the_midhinge_is_private_on_a_whole_universe(records):
    """Smooth noise on the example's ladder, exact divergence between all neighbours; 30% less noise is caught."""
    statistic = page_names()["Midhinge"](bounds=(0, 4)).resolve(Shape(records, whole=True, nullable=False))
    prepared = page_names()["Smooth"]().prepare(MechanismSpec(statistic, Loss(1.0)))
    assert ladder_violations(statistic, range(5), records, records) == []

    def worst(one):
        column = {x: as_column(x, statistic.records_on) for x in datasets(range(5), records)}
        return max(noise_divergence(one, column[x], column[y]).epsilon for x in column for y in neighbours(x, range(5)))

    assert worst(prepared) <= 1.0 + 1e-9
    less = replace(prepared, point=replace(prepared.point, alpha=prepared.point.alpha * Fraction(10, 7)))
    assert worst(less) > 1.0


def test_the_midhinge_of_a_private_number_of_records_is_refused():
    """By name, saying what to ask instead; nothing was charged."""
    shape = Shape(4, whole=True, nullable=False, private=True, neighbours=Neighbours.ADD_REMOVE)
    with pytest.raises(NotProved, match=r"^midhinge: .*; ask median\(c\), .*; nothing was read, nothing was charged$"):
        page_names()["Midhinge"](bounds=(0, 3)).resolve(shape)


def test_each_example_is_about_forty_lines():
    """The page promises 40 lines for a query and for a mechanism."""
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    for block in examples.blocks(page):
        if block.language == "python":
            code = [line for line in block.lines if line.strip() and not line.startswith(("import", "from"))]
            assert len(code) <= 45


@pytest.mark.slow
def test_the_examples_leave_no_trace():
    """A mechanism of one's own is used by what it is, not by its name."""
    with contextlib.suppress(KeyError):
        del sys.modules["page"]
    import dither as dt
    from dither.mechanisms.choice import MECHANISMS

    mechanism = page_names()["FewRungs"](3)
    assert "few_rungs" not in MECHANISMS
    assert dt.median([1.0] * 50, bounds=(0, 2), epsilon=1.0, mechanism=mechanism).mechanism == "few_rungs"
