"""The tables of docs/reproduce.md from one run: python docs/_site/verdicts.py reproduction/verdicts.csv."""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from itertools import groupby
from pathlib import Path

PAGE = Path(__file__).parent.parent / "reproduce.md"
HEADING = "## Verdicts\n"
COUNTS = re.compile(r"\d+ rows: .*? disagree \(\d+ of them errata\), \d+ are not testable here\.")


def tables(rows: list[dict[str, str]]) -> str:
    """One table for each paper, in the order of the run."""
    parts = []
    for paper, claims in groupby(rows, key=lambda row: row["paper"]):
        lines = [f"### {paper.upper() if paper != 'errata' else 'Errata'}", ""]
        lines += ["| where | the paper says | rule | ours | verdict |", "|---|---|---|---|---|"]
        lines += [_line(one) for one in claims]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _line(row: dict[str, str]) -> str:
    why = f": {row['why']}" if row["why"] else ""
    cells = (row["where"], row["paper says"], row["rule"], row["ours"], f"**{row['verdict']}**{why}")
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def counts(rows: list[dict[str, str]]) -> str:
    """How often each verdict was given."""
    found = Counter(row["verdict"] for row in rows)
    errata = sum(row["paper"] == "errata" and row["verdict"] == "disagrees" for row in rows)
    return (
        f"{len(rows)} rows: {found['agrees']} agree, {found['agrees after a correction']} agree after a correction, "
        f"{found['disagrees']} disagree ({errata} of them errata), {found['not testable here']} are not testable here."
    )


def rewritten(page: str, rows: list[dict[str, str]]) -> str:
    """The page with the tables and counts of this run."""
    start = page.index("### ", page.index(HEADING))
    end = page.index("\n## ", start)
    page = f"{page[:start]}{tables(rows)}\n{page[end:]}"
    return COUNTS.sub(lambda _: counts(rows), page)


if __name__ == "__main__":
    with Path(sys.argv[1]).open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
