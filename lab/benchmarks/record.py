"""Keep the results of ``dither bench``: docs/benchmarks.json, its rows in docs/benchmarks.md, those that others win in
docs/comparison.md, those of the report in docs/report.md, single figures in the sentences of these pages, and the
picture of costs against sizes, docs/pictures/costs.svg.

    dither bench all --out results && python lab/benchmarks/record.py results/results.json

Several files are joined, the later ones replacing the rows that they have.  Without any, pages are written anew from
docs/benchmarks.json.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from dither_lab.bench.areas import AREAS
from dither_lab.bench.excerpts import lost, reported, with_figures
from dither_lab.bench.explanations import why
from dither_lab.bench.pictures import costs_picture
from dither_lab.bench.result_rows import PEER_LOWER
from dither_lab.bench.run import Results
from dither_lab.bench.texts import explained, footer, markdown

DOCS = Path(__file__).resolve().parents[2] / "docs"
MARKS = {
    "rows": ("<!-- rows of docs/benchmarks.json -->", "<!-- end of rows -->"),
    "explanations": (
        "<!-- explanations of lab/src/dither_lab/bench/explanations.py -->",
        "<!-- end of explanations -->",
    ),
    "lost": ("<!-- rows of docs/benchmarks.json that others win -->", "<!-- end of lost rows -->"),
    "reported": ("<!-- rows of docs/benchmarks.json for the report -->", "<!-- end of the report's rows -->"),
    "run": ("<!-- machine and versions of docs/benchmarks.json -->", "<!-- end of machine and versions -->"),
}


def joined(paths: list[Path]) -> Results:
    """One result of several."""
    results = [Results.from_dict(json.loads(path.read_text())) for path in paths]
    rows = {row.key: row for result in results for row in result.rows}
    ordered = sorted(rows.values(), key=lambda row: AREAS.index(row.area))
    current = [replace(row, why=why(row.key)) if row.verdict == PEER_LOWER else row for row in ordered]
    peers = {name: standing for result in results for name, standing in result.peers.items()}
    seconds = {name: value for result in results for name, value in result.seconds.items()}
    return replace(results[0], rows=current, peers=dict(sorted(peers.items())), seconds=seconds)


def filled(text: str, parts: dict[str, str]) -> str:
    """The page with what stands between its marks replaced."""
    for name, part in parts.items():
        first, last = MARKS[name]
        before, rest = text.split(first)
        _, after = rest.split(last)
        text = f"{before}{first}\n{part.strip()}\n{last}{after}"
    return text


def parts_of(results: Results) -> dict[str, dict[str, str]]:
    """What each page shows of the results."""
    return {
        "benchmarks.md": {
            "rows": markdown(results.rows),
            "explanations": explained(results.rows),
            "run": "\n".join(f"* {line}" for line in footer(results).splitlines()),
        },
        "comparison.md": {"lost": lost(results.rows)},
        "report.md": {"reported": reported(results.rows)},
    }


def pages(results: Results) -> dict[str, str]:
    """The pages as they should be."""
    return {
        name: with_figures(filled((DOCS / name).read_text(), parts), results.rows)
        for name, parts in parts_of(results).items()
    }


def main() -> None:
    """Write all files."""
    results = joined([Path(name) for name in sys.argv[1:]] or [DOCS / "benchmarks.json"])
    payload = results.to_dict()
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in payload.pop("rows"))
    head = json.dumps(payload, indent=1, ensure_ascii=False).removesuffix("\n}")
    (DOCS / "benchmarks.json").write_text(f'{head},\n "rows": [\n{rows}\n]}}\n')
    for name, text in pages(results).items():
        (DOCS / name).write_text(text)
    costs_picture(results.rows, DOCS / "pictures" / "costs.svg")


if __name__ == "__main__":
    main()
