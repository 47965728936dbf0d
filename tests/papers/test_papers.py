"""Every item of the papers has a row, and every row does what the paper says, on two inputs with different results."""

import ast
import dataclasses
import re
from pathlib import Path

import papers_page
import pytest

from papers import coq17, dl09, dmns06, nrs11, v17
from papers.items import PAPERS, Item, close, failures, near, within

FILES = {"DMNS06": dmns06, "NRS11": nrs11, "DL09": dl09, "V17": v17, "COQ17": coq17}
EVERY = [item for file in FILES.values() for item in file.ITEMS]
ROWS = [pytest.param(item, id=f"{paper}-{item.id}") for paper, file in FILES.items() for item in file.ITEMS]
LONG_ROWS = {11, 12, 15, 53, 59, 81, 82, 84}
"""Numbers of items whose rows take seconds."""
DOCS = Path(papers_page.PAGE).parent


@pytest.mark.sampled(24)
@pytest.mark.parametrize("item", [row for row in ROWS if row.values[0].number not in LONG_ROWS])
def test_a_row_does_what_its_oracle_says(item):
    """On both inputs the result is the oracle's, and neither result would be right for the other input."""
    assert failures(item) == []


@pytest.mark.slow
@pytest.mark.parametrize("item", [row for row in ROWS if row.values[0].number in LONG_ROWS])
def test_a_long_row_does_what_its_oracle_says(item):
    """The same of rows that take seconds."""
    assert failures(item) == []


def test_a_row_is_a_call_of_a_user_on_its_input():
    """It uses the public face alone, imports nothing and looks at every part of its input."""
    for item in EVERY:
        tree = ast.parse(item.call)
        assert not any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree)), item.id
        assert {"dt", "cli"} & item.names(), item.id
        assert not re.search(r"\._[a-z]", item.call), item.id
        assert item.given.keys() == item.other.keys(), item.id
        assert item.given.keys() <= item.names(), item.id
        assert all(len(line) <= 120 for line in item.call.splitlines()), item.id


def test_links_of_a_row_lead_somewhere():
    """Its proof and its page are there, with the sections that are named."""
    from generated import generated_pages

    pages = generated_pages()
    for item in EVERY:
        for path in (f"proofs/{item.proof}", item.page):
            page, _, section = path.partition("#")
            text = pages.get(page) or (DOCS / page).read_text(encoding="utf-8")
            assert not section or section in papers_page.anchors(text), (item.id, path)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_item_of_a_paper_has_a_row(paper):
    """In order, none twice, none left out."""
    file = FILES[paper]
    numbers = [item.number for item in file.ITEMS]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(PAPERS[paper])
    assert len({item.id for item in file.ITEMS}) == len(numbers)


def test_there_are_157_items():
    """The papers' ranges are those of the list of items, without a gap."""
    assert sorted(number for numbers in PAPERS.values() for number in numbers) == list(range(1, 158))


@pytest.mark.parametrize("path", sorted(Path(__file__).parent.glob("[!t]*.py")), ids=lambda path: path.name)
def test_oracles_are_independent_of_the_library(path):
    """Files with rows import nothing of dither; only ``outcome`` and ``cli``, which run the calls, do."""
    runs = {"outcome", "cli"} if path.name == "items.py" else set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [one for one in tree.body if not (isinstance(one, ast.FunctionDef) and one.name in runs)]
    for node in ast.walk(tree):
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not any(re.match(r"dither(_lab)?\b", name) for name in names), ast.unparse(node)


def test_the_page_is_what_the_rows_say():
    """docs/papers.md is up to date: `python docs/_site/papers_page.py` writes it."""
    assert papers_page.PAGE.read_text(encoding="utf-8") == papers_page.page(
        {name: file.ITEMS for name, file in FILES.items()}
    )


SOUND = Item(
    number=1,
    place="Example",
    title="the true sum",
    call="dt.inspect.value(dt.Sum(bounds=(0, 9), step=1), x)",
    given={"x": [1, 2, 3]},
    other={"x": [4, 5]},
    oracle=lambda x: float(sum(x)),
    proof="totals.md",
    page="release.md",
)


def test_rows_that_rot_are_found():
    """A right row passes; a constant, a wrong result, inputs that do not differ and a lax comparison do not."""
    assert failures(SOUND) == []
    assert len(failures(dataclasses.replace(SOUND, call="dt.inspect and 6.0"))) == 2
    assert len(failures(dataclasses.replace(SOUND, oracle=lambda x: 1.3 * sum(x)))) == 2
    assert len(failures(dataclasses.replace(SOUND, other={"x": [3, 2, 1]}))) == 2
    assert len(failures(dataclasses.replace(SOUND, agrees=within(10)))) == 2


def test_results_are_compared_by_kind():
    """Numbers to nine digits or as said, truth values are no numbers, lists entry by entry, mappings by key."""
    assert close(0.1 + 0.2, 0.3)
    assert not close(1.0, 1.0 + 1e-6)
    assert not close(1, True)
    assert not close(True, 1)
    assert close([1, (2.0, "a")], [1, (2, "a")])
    assert not close([1], [1, 2])
    assert not close({"a": 1}, {"b": 1})
    assert near(0.1)({"a": 1.05}, {"a": 1.0})
    assert not near(0.01)(1.05, 1.0)
    assert not close(None, 0.0)
