"""Every mechanism has a proof page, every page its five parts, and every test that a page names exists."""

import ast
import functools
import importlib
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from dither_lab.audit.catalogue import catalogue

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted(path for path in (ROOT / "docs" / "proofs").glob("*.md") if path.name != "index.md")
PARTS = {
    "statement": r"statement",
    "proof": r"proof",
    "constants": r"constants",
    "papers": r"where the papers? differs?",
    "tests": r"which tests? enforces? (it|this)",
}

each_page = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)


def headings(text):
    """All headings of a page, small and without numbers."""
    lines = re.findall(r"^#{2,3} .*$", text, re.MULTILINE)
    return [re.sub(r"^\d+\.\s*", "", line.lstrip("# ").strip()).lower() for line in lines]


@functools.cache
def defined_tests():
    """The names of all test functions and classes, and of what they are made from."""
    found = set()
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.add(node.name)
    return found


def absent(text):
    """Test files and test functions that a text names and that do not exist."""
    files = {name for name in re.findall(r"tests/[\w/]+\.py", text) if not (ROOT / name).is_file()}
    named = set(re.findall(r"\b(test_\w+)(?!\w*\.py)\b", text))
    stems = {path.stem for path in (ROOT / "tests").rglob("*.py")}
    defined = defined_tests()
    return files | {name for name in named - stems if not any(one.startswith(name) for one in defined)}


@each_page
def test_pages_have_their_five_parts(path):
    """Statement, proof, constants, where the papers differ, which test enforces it."""
    found = headings(path.read_text(encoding="utf-8"))
    assert [name for name, part in PARTS.items() if not any(re.match(part, one) for one in found)] == []


@pytest.mark.sampled(7)
@each_page
def test_what_pages_name_exists(path):
    """Tests that were renamed would leave a promise that nothing keeps."""
    assert absent(path.read_text(encoding="utf-8")) == set()


def test_the_look_for_names_can_fail():
    """Names that do not exist are found."""
    assert absent("see `tests/unit/test_nowhere.py` and `test_that_nobody_wrote`") == {
        "tests/unit/test_nowhere.py",
        "test_that_nobody_wrote",
    }


def test_the_index_lists_every_page_and_no_other(monkeypatch):
    """docs/proofs/index.md as the site shows it: pages that its table does not name follow by their headings."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_site"))
    hooks = importlib.import_module("hooks")
    text = (ROOT / "docs" / "proofs" / "index.md").read_text(encoding="utf-8")
    place = SimpleNamespace(file=SimpleNamespace(src_uri="proofs/index.md"))
    rendered = hooks.on_page_markdown(text, place, {"docs_dir": str(ROOT / "docs")})
    assert set(re.findall(r"^\| \[[\w-]+\]\((\w[\w-]*)\.md\) \| .+ \|$", rendered, re.MULTILINE)) == {
        path.stem for path in PAGES
    }
    assert set(re.findall(r"\]\((\w[\w-]*)\.md\)", text)) <= {path.stem for path in PAGES}


def test_sources_cite_pages_that_exist():
    """Whatever a docstring points at."""
    cited = set()
    for path in (ROOT / "src").rglob("*.py"):
        cited |= set(re.findall(r"docs/proofs/([\w-]+)\.md", path.read_text(encoding="utf-8")))
    assert cited <= {path.stem for path in PAGES}
    assert {check.proof for check in catalogue().values()} <= {path.stem for path in PAGES}
