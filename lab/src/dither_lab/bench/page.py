"""One HTML page with all rows and pictures: no other file, no request to another host."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping
from pathlib import Path

from dither_lab.bench.intervals import LEVEL
from dither_lab.bench.result_rows import EQUAL, NO_PEER, NOT_MEASURED, OURS_LOWER, PEER_LOWER, ResultRow
from dither_lab.bench.run import Results
from dither_lab.bench.texts import figure_text, footer, guarantee_text, ratio_text, subject_text, verdict_text

CLASSES = {OURS_LOWER: "ours", PEER_LOWER: "peer", EQUAL: "equal", NOT_MEASURED: "missing", NO_PEER: "equal"}
STYLE = """
:root { color-scheme: light dark; --line: #d7dbe0; --soft: #5b6470; --ours: #2e7d4f; --peer: #b45309; --bad: #b91c1c; }
@media (prefers-color-scheme: dark) {
  :root { --line: #3a4049; --soft: #a4adb8; --ours: #6cc48f; --peer: #f0a95b; --bad: #f28b82; }
}
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 88rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .86rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; } td.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
.ours { color: var(--ours); } .peer { color: var(--peer); } .missing, .broken { color: var(--bad); }
small, .facts { color: var(--soft); } .facts { white-space: pre-line; }
img { max-width: 100%; background: #fff; margin-top: 1rem; }
"""
INTRODUCTION = (
    "All measures are better when lower; a ratio is dither over the peer, measured in one run, all ways taking turns "
    f"on the same data. Intervals hold {LEVEL:.0%} of the bootstrap over datasets (errors) or rounds (times)."
)


def page(results: Results, drawn: Mapping[str, Path]) -> str:
    """The whole page."""
    areas = dict.fromkeys(row.area for row in results.rows)
    parts = [_section(area, [row for row in results.rows if row.area == area], drawn) for area in areas]
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>dither beside other libraries</title><style>{STYLE}</style></head><body>"
        f"<h1>dither beside other libraries</h1><p>{html.escape(INTRODUCTION)}</p>"
        f"<p class='facts'>{html.escape(footer(results))}</p>{''.join(parts)}</body></html>\n"
    )


def _section(area: str, rows: list[ResultRow], drawn: Mapping[str, Path]) -> str:
    headings = ("what", "guarantee; neighbours", "data", "dither", "peer", "", "ratio", "verdict")
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    body = "".join(_line(row) for row in rows)
    images = "".join(_image(title, path) for title, path in drawn.items() if title.startswith(f"{area}:"))
    return (
        f"<h2 id='{area}'>{area} <small><code>dither bench {area}</code></small></h2>"
        f"<div class='scroll'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{images}"
    )


def _line(row: ResultRow) -> str:
    css_class = "broken" if row.held == "no" else CLASSES.get(row.verdict, "equal")
    peer = row.peer if row.version is None else f"{row.peer} {row.version}"
    note = f" <small>{html.escape(row.note)}</small>" if row.note else ""
    cells = (
        f"<td title='{html.escape(row.key, quote=True)}'>{html.escape(subject_text(row))}</td>",
        f"<td>{html.escape(guarantee_text(row))}</td>",
        f"<td>{html.escape(row.data)}</td>",
        f"<td class='number'>{html.escape(figure_text(row.ours, row.unit))}</td>",
        f"<td>{html.escape(peer)}{note}</td>",
        f"<td class='number'>{html.escape(figure_text(row.theirs, row.unit))}</td>",
        f"<td class='number'>{html.escape(ratio_text(row))}</td>",
        f"<td class='{css_class}'>{html.escape(verdict_text(row))}</td>",
    )
    return f"<tr>{''.join(cells)}</tr>"


def _image(title: str, path: Path) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    return f"<img alt='{html.escape(title, quote=True)}' src='data:image/png;base64,{data}'>"
