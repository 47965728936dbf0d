"""The public interface is the one that tests/core/api.txt lists: whoever changes it says so in the changelog."""

import difflib
import re

import pytest

from core import public_api

REMEDY = (
    "the public interface has changed: run `make api`, look at the difference of tests/core/api.txt, and add a line "
    "for users under Unreleased in CHANGELOG.md"
)


def difference(before: str, after: str) -> list[str]:
    """Lines that are gone (-) and lines that are new (+)."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "api.txt", "now", n=0, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def test_the_public_interface_is_the_listed_one():
    """Names, parameters, defaults, commands, options, keys, routes, fields, functions of SQL."""
    changed = difference(public_api.FILE.read_text(encoding="utf-8"), public_api.dump())
    if changed:
        pytest.fail("\n".join([REMEDY, *changed]), pytrace=False)


@pytest.mark.parametrize(
    "line",
    [
        r"dither\.median\(.*bounds=None.*epsilon.*\)",
        r"dither\.Release\(value, .*\)",
        r"dither\.Release\.plot\(ax=None\)",
        r"dither\.queries\.query\.ColumnQuery.*",
        r"dither ask FILE QUESTION .*--epsilon .*\[--delta\].*",
        r"dataset: \[name\] source .*",
        r"POST /v1/datasets name schema \[answer_seconds\] -> 201 DatasetAnswer",
        r"Median: kind column .*",
        r"stddev_samp\(column\)",
        r"smoothed_ladder",
    ],
)
def test_the_list_has_what_users_rely_on(line):
    """One line of each sort; a dump that loses a sort would change nothing but that."""
    assert re.search(f"^{line}$", public_api.FILE.read_text(encoding="utf-8"), re.MULTILINE)


def test_a_change_is_shown():
    """A parameter with another default, and a name that is gone."""
    before = public_api.dump()
    after = before.replace("dither.Release.plot(ax=None)\n", "dither.Release.plot(axes=None)\n")
    assert difference(before, after) == ["-dither.Release.plot(ax=None)", "+dither.Release.plot(axes=None)"]
