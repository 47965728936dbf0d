"""Commands of the documentation use no variable that their reader was not asked to set."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OF_SHELLS = {"HOME", "PWD", "PATH", "USER"}


def unset_variables(text: str) -> set[str]:
    """Variables that commands of a page read and neither command nor sentence of it sets."""
    blocks = re.findall(r"^```(?:console|sh)[^\n]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    read = {name for block in blocks for name in re.findall(r"\$\{?([A-Z][A-Z_]+)", block)}
    return read - OF_SHELLS - set(re.findall(r"\b([A-Z][A-Z_]+)=", text))


def test_every_variable_is_set_on_its_page():
    """Tokens above all: the server prints them, and the page says where they go."""
    assert not {page.name: found for page in PAGES if (found := unset_variables(page.read_text(encoding="utf-8")))}


@pytest.mark.parametrize("command", ["$ curl -H $TOKEN", "$ dither --key ${KEY_FILE}"])
def test_an_unset_variable_is_found(command):
    """The check sees both ways to write one."""
    assert unset_variables(f"```console\n{command}\n```\n")
