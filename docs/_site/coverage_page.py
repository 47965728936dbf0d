"""docs/coverage.md from the registries, the audit and the contract tests: python docs/_site/coverage_page.py."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dither_lab.audit.coverage import Cell

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "coverage.md"
HEAD = """# What stands behind each claim

A claim of privacy may rest on a proof, on looking at every pair of neighbours of a small universe, on the law of the
answers computed a second time by code of its own, on attacks on real answers, and on mistakes made on purpose that such
checks find. This page counts them for everything that ships. It is written from the registries of queries and
mechanisms, from the checks of [`dither audit`](audit.md) and from the sources of the contract tests; a test fails where
it is out of date, and where a statistic, a mechanism or a source has nothing behind it.
"""
COUNTS = """There are {cells} pairs of a statistic and a mechanism that serves it; words stand in for checks in {words}
of them. {mutants} things are broken on purpose, and found.
"""
MATRIX = """## Statistics and mechanisms

| mark | what there is |
|---|---|
| ● | proof, enumeration of all pairs of neighbours, comparison of the law with the laboratory's, attack on answers |
| ◐ | words stand in for a part of it: see below |
| · | the statistic does not offer the structure that the mechanism needs |
| – | it does, and a public rule of the mechanism leaves it out: see below |

*Filtered* statistics are those behind a filter (records come, go or change), *grouped* ones those of groups (records
come and go), *of people* those where somebody owns several rows; *vertices are people* stands for graphs whose
neighbours differ in a vertex with all its edges. All others change one record, one edge or one weight.
"""
OTHERS = """## Procedures, noises, sessions

Checks of everything else, counted. Where there is no number, a letter says what stands there instead.
The order of events is traced in sessions and servers, which everything else is asked through.
"""
SOURCES = """## Sources

Every source is read with odd records (missing, NaN, infinite, huge, denormal, at and beyond the bounds, half steps,
texts that are no numbers), whole and by brackets, with filters, groups and people; the value that a mechanism is
centred on must be that of plain arithmetic, and one record may move it by no more than the ladder says
(`tests/contract`). A mechanism sees a source through the value and the structures of its statistic alone, so these hold
for every cell above. The audit does the same, on the machine of whoever runs it, for the sources in its own row.
"""
DOORS = """Columns of whole numbers, decimals, dates, truth values and categories are compared with a reading of their
own in `tests/contract/test_readings.py`. The HTTP server draws nothing: its answers are those of sessions. The audit
asks a real one about neighbours with odd records (*server*, above): everything but drawn numbers must be the same, and
answers are attacked over HTTP; times are looked at in `tests/http`.
"""

_METHODS = ("exact", "exhaustive", "black-box", "trace")


def page(cells: Sequence[Cell], sources: Iterable[tuple[str, Sequence[str]]]) -> str:
    """The whole page."""
    from dither.mechanisms.choice import MECHANISMS
    from dither_lab.audit.coverage import INSTEAD, RULES, found_in_all, instead, left_out, others

    ruled = left_out()
    words = [cell for cell in cells if cell.explanation]
    parts = [
        HEAD,
        COUNTS.format(cells=len(cells), words=len(words), mutants=found_in_all()),
        MATRIX,
        *_matrix(cells, list(MECHANISMS), ruled),
        "### Where words stand in\n",
        *_table(("statistic", "mechanism", "why"), ((c.subject, f"`{c.mechanism}`", c.explanation) for c in words)),
        "### What rules leave out\n",
        *_table(
            ("mechanism", "statistics", "why"),
            ((f"`{name}`", str(len(ruled[name])), RULES[name]) for name in MECHANISMS if name in ruled),
        ),
        "## Mechanisms\n",
        *_table(
            ("mechanism", "what it needs", "statistics", "enumerations", "comparisons of laws", "attacks", "mutants"),
            (_mechanism(name, [cell for cell in cells if cell.mechanism == name]) for name in MECHANISMS),
        ),
        OTHERS,
        *_table(("letter", "what stands instead of a check"), INSTEAD.items()),
        *_table(
            ("what", "computed exactly", "enumerated", "attacked", "traced"),
            (
                (name, *(str(counted[method] or instead(name)) for method in _METHODS))
                for name, counted in others().items()
            ),
        ),
        SOURCES,
        *_table(("family", "sources"), ((name, ", ".join(listed)) for name, listed in sources)),
        DOORS,
    ]
    return "\n".join(parts)


def _matrix(cells: Sequence[Cell], mechanisms: Sequence[str], ruled: Mapping[str, Sequence[str]]) -> list[str]:
    rows = []
    for subject in dict.fromkeys(cell.subject for cell in cells):
        served = {cell.mechanism: cell for cell in cells if cell.subject == subject}
        proofs = dict.fromkeys(proof for cell in served.values() for proof in cell.proofs[:1])
        links = ", ".join(f"[{proof.replace('_', ' ')}](proofs/{proof}.md)" for proof in proofs)
        marks = (_mark(served.get(name), ruled=subject in ruled.get(name, ())) for name in mechanisms)
        rows.append((subject, links, *marks))
    return _table(("statistic", "proof", *(f"`{name}`" for name in mechanisms)), rows)


def _mark(cell: Cell | None, *, ruled: bool) -> str:
    if cell is None:
        return "–" if ruled else "·"
    return "◐" if cell.explanation else "●"


def _mechanism(name: str, cells: Sequence[Cell]) -> tuple[str, ...]:
    from dither.mechanisms.choice import MECHANISMS
    from dither_lab.audit.coverage import mutants_of

    needs = " or ".join(spaced(need.__name__) for need in MECHANISMS[name].needs)
    sums = (sum(getattr(cell, field) for cell in cells) for field in ("enumerated", "laws", "attacked"))
    return (f"`{name}`", needs, str(len(cells)), *map(str, sums), str(mutants_of(name)))


def spaced(name: str) -> str:
    """The name of a structure in words.

    >>> spaced("HasReachableValues")
    'reachable values'
    """
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name.removeprefix("Has")).strip()


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    return ["\n".join(lines) + "\n"]


def written() -> str:
    """The page as it should be."""
    from contract.record_sources import FILES, FRAMES, POSTGRES, SPARK, SQLITE, TEXTS
    from dither_lab.audit.coverage import cells
    from dither_lab.audit.records import FORMATS

    families = {
        "files of the embedded engine": FILES,
        "frames": FRAMES,
        "text files": TEXTS,
        "PostgreSQL": POSTGRES,
        "Spark": SPARK,
        "SQLite": SQLITE,
    }
    audited = ("in the audit", list(FORMATS))
    return page(list(cells()), [*((name, list(family)) for name, family in families.items()), audited])


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "tests")]
    PAGE.write_text(written(), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE}\n")
