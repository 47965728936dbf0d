"""The command ``dither reproduce``."""

import json

import pytest
from click.testing import CliRunner

from dither.interfaces.cli.main import main
from dither_lab.commands.reproduce import NAMES


def invoke(*arguments):
    """Run the command line."""
    return CliRunner().invoke(main, list(arguments))


@pytest.mark.slow
def test_errata_are_reproduced_as_tables_plots_and_a_page(tmp_path):
    """The quickest name: every row has a verdict on the screen and in the files."""
    result = invoke("reproduce", "errata", "--quick", "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    assert "disagree" in result.output
    assert "report.html" in result.output
    assert "s of processor time" in result.output
    payload = json.loads((tmp_path / "out" / "report.json").read_text())
    assert payload["size"] == "quick"
    assert "dither reproduce errata --quick" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert all(row["verdict"] for one in payload["experiments"] for row in one["rows"])
    assert len(list((tmp_path / "out").glob("*.png"))) == len(payload["experiments"]) >= 18


@pytest.mark.slow
def test_json_is_all_that_is_printed(tmp_path):
    """What is printed is what is stored."""
    result = invoke("reproduce", "errata", "--quick", "--json", "--out", str(tmp_path))
    assert result.exit_code == 0
    printed = json.loads(result.stdout)
    assert printed == json.loads((tmp_path / "report.json").read_text())


def test_names_are_those_of_the_papers():
    """The list in the command, which is imported at once, is the list of the package, which is not."""
    from dither_lab.reproduce.run import names

    assert list(NAMES) == names()


@pytest.mark.parametrize("wrong", [["smith05"], ["errata", "--fast"]])
def test_unknown_names_and_options_are_refused(wrong):
    """Before anything is measured."""
    result = invoke("reproduce", *wrong)
    assert result.exit_code == 2
    assert not result.output.startswith("paper")
