"""The site builds without a warning, asks nothing of other hosts, and says nothing that is out of date."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import needs_package

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site; warnings are errors."""
    needs_package("mkdocs")
    needs_package("material")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_pages_ask_nothing_of_other_hosts(site):
    """No script, style, picture or font comes from elsewhere; links to read are no requests."""
    asked = re.compile(r"""<(?:script|img|link|iframe|source|video)\b[^>]*(?:src|href)=["']?(?:https?:)?//""")
    styled = re.compile(r"""url\(["']?(?:https?:)?//|@import""")
    for page in site.rglob("*.html"):
        assert not asked.search(page.read_text(encoding="utf-8")), page
    for sheet in site.rglob("*.css"):
        assert not styled.search(sheet.read_text(encoding="utf-8")), sheet


@pytest.mark.slow
def test_every_page_is_built_and_listed(site):
    """Each page of docs/, written or generated, is in the site."""
    from generated import generated_pages

    written = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    for path in [*written, *map(Path, generated_pages())]:
        assert (site / path.with_suffix(".html")).is_file(), path
    assert (site / "search" / "search_index.json").is_file()


def test_the_reference_names_everything_public():
    """Every public name of dither and every command with every option is in the reference."""
    from generated import generated_pages

    import dither
    from dither.interfaces.cli.main import main

    pages = generated_pages()
    for name in dither.__all__:
        assert name in ("__version__", "inspect", "typing") or f"### dt.{name}\n" in pages["reference/api.md"], name
    for name, command in main.commands.items():
        assert f"## dither {name}" in pages["reference/cli.md"]
        for option in command.params:
            hidden = option.param_type_name == "argument" or option.hidden
            assert hidden or option.opts[0].removeprefix("-") in pages["reference/cli.md"]


@pytest.mark.parametrize("name", ["median", "mean", "iqr"])
def test_pictures_show_what_dither_says_today(name):
    """Curves are kept as numbers; those that are quick to compute are computed anew (to a percent)."""
    import curves

    kept = curves.kept()[name]
    line = kept["lines"]["epsilon 1"]
    query = {"median": "Median", "mean": "Mean", "iqr": "IQR"}[name]
    fresh = curves.quoted(getattr(curves.dt, query)("pay"), 10_000, 1.0)
    assert fresh == pytest.approx(line[kept["x"].index(10_000)], rel=0.01)


def test_the_picture_of_filters_shows_what_they_admit():
    """Counts are exact: computed anew, they are those that are kept."""
    import curves

    assert curves.filters() == curves.kept()["filters"]


def test_the_picture_of_structures_names_every_mechanism_and_what_it_needs():
    """It is drawn from the registry; texts of the pictures are texts."""
    from coverage_page import spaced

    from dither.mechanisms.choice import MECHANISMS

    drawn = (ROOT / "docs" / "pictures" / "structures.svg").read_text(encoding="utf-8")
    for name, made in MECHANISMS.items():
        assert f">{name}<" in drawn, "run python docs/_site/draw.py"
        assert all(f">{spaced(need.__name__)}<" in drawn for need in made.needs)


def test_every_curve_is_drawn():
    """Each curve that is kept has its picture, and each entry of the list its curve."""
    from curves import CURVES, PICTURES, kept
    from statistic_list import ENTRIES

    assert kept().keys() == CURVES.keys()
    for name in kept():
        assert (PICTURES / f"{name}.svg").is_file()
    assert {one.curve for one in ENTRIES} - {None} <= kept().keys()
    assert json.loads((PICTURES / "curves.json").read_text(encoding="utf-8"))


def test_files_of_the_laboratory_are_named_as_they_lie():
    """Every path of the audit in a page starts at the root of the repository, and is there."""
    for page in (ROOT / "docs").rglob("*.md"):
        for path in re.findall(r"`((?:[\w/-]*/)?audit/[\w/]+(?:\.py)?)", page.read_text(encoding="utf-8")):
            assert (ROOT / path).exists(), (page.name, path)
