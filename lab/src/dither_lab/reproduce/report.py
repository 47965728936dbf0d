"""What was found, as files: one CSV of verdicts, CSV and PNG for each experiment, JSON, and one page of HTML."""

from __future__ import annotations

import base64
import csv
import html
import json
import platform
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dither_lab.reproduce.experiment import Reproduction, Setting, Verdict
from dither_lab.reproduce.run import PAPERS

MARKS = {Verdict.AGREES: "yes", Verdict.CORRECTED: "but", Verdict.DISAGREES: "no", Verdict.UNTESTED: "open"}


def summary(findings: Sequence[Reproduction], setting: Setting) -> dict[str, Any]:
    """Everything, for JSON."""
    import dither  # noqa: PLC0415

    return {
        "dither": dither.__version__,
        "size": setting.size,
        "machine": {"python": platform.python_version(), "processor": platform.machine(), "system": platform.system()},
        "processor_seconds": round(sum(finding.seconds for finding in findings), 1),
        "verdicts": {verdict.value: count for verdict, count in counts(findings).items()},
        "experiments": [finding.to_dict() for finding in findings],
    }


def counts(findings: Sequence[Reproduction]) -> dict[Verdict, int]:
    """How many rows have each verdict."""
    payload = Counter(row.judged.verdict for finding in findings for row in finding.rows)
    return {verdict: payload[verdict] for verdict in Verdict}


def write(findings: Sequence[Reproduction], setting: Setting, folder: Path) -> Path:
    """All files into a folder; returns the path of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    payload = summary(findings, setting)
    (folder / "report.json").write_text(json.dumps(payload, indent=1) + "\n")
    with (folder / "verdicts.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["paper", "experiment", "where", "paper says", "rule", "ours", "verdict", "why"])
        for item in payload["experiments"]:
            for row in item["rows"]:
                cells = (row[k] for k in ("where", "paper", "rule", "ours", "verdict", "why"))
                table.writerow([item["paper"], item["experiment"], *cells])
    for finding in findings:
        name = f"{finding.experiment.paper}-{finding.experiment.key}"
        with (folder / f"{name}.csv").open("w", newline="") as file:
            points = csv.writer(file)
            points.writerow(["quantity", "series", "x", "value", "low", "high", "interval"])
            for p in finding.points:
                points.writerow([p.quantity, p.series, p.x, p.y.value, p.y.low, p.y.high, p.y.how])
        if finding.picture is not None:
            (folder / f"{name}.png").write_bytes(finding.picture)
    page = folder / "report.html"
    page.write_text(rendered(findings, payload))
    return page


STYLE = """
:root{--ink:#1d2733;--soft:#5b6770;--line:#e1e5e9;--yes:#2f7d4f;--but:#9a6b12;--no:#b03a2e;--open:#5b6770}
*{box-sizing:border-box}
body{margin:0 auto;max-width:62rem;padding:1.2rem 1rem 4rem;font:16px/1.5 system-ui,sans-serif;
color:var(--ink);background:#fff}
h1{font-size:1.6rem;line-height:1.2;margin:.4rem 0}
h2{font-size:1.25rem;margin:2.6rem 0 .2rem;padding-top:.8rem;border-top:2px solid var(--ink)}
h3{font-size:1.05rem;margin:2rem 0 .2rem}
p{margin:.4rem 0}
.soft{color:var(--soft);font-size:.9rem}
.row{border:1px solid var(--line);border-left:4px solid var(--mark);border-radius:6px;
padding:.6rem .8rem;margin:.7rem 0}
.row dl{display:grid;grid-template-columns:3rem 1fr;gap:.25rem .6rem;margin:.3rem 0 0}
.row dt{color:var(--soft);font-size:.85rem;padding-top:.1rem}
.row dd{margin:0;overflow-wrap:anywhere}
.head{display:flex;flex-wrap:wrap;gap:.3rem .8rem;justify-content:space-between;font-weight:600}
.mark{color:var(--mark);white-space:nowrap}
.yes{--mark:var(--yes)}.but{--mark:var(--but)}.no{--mark:var(--no)}.open{--mark:var(--open)}
img{width:100%;min-width:33rem;height:auto;border:1px solid var(--line);border-radius:6px;margin:.5rem 0}
figure{margin:0;overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.92rem}
.wide{overflow-x:auto}
th,td{text-align:left;padding:.3rem .6rem .3rem 0;border-bottom:1px solid var(--line);vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
details{margin:.4rem 0}summary{cursor:pointer;color:var(--soft);font-size:.9rem}
a{color:#2a5ea8}
"""


def rendered(findings: Sequence[Reproduction], payload: dict[str, Any]) -> str:
    """The page: an overview, then paper / ours / verdict for each claim, with plots inside."""
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>dither reproduces</title><style>{STYLE}</style></head><body>",
        "<h1>The papers, measured again</h1>",
        _opening(findings, payload),
        _overview(findings),
    ]
    for paper in dict.fromkeys(finding.experiment.paper for finding in findings):
        parts.append(
            f'<h2 id="{paper}">{html.escape(paper.upper())}</h2><p class="soft">{html.escape(PAPERS[paper])}</p>'
        )
        parts += [_section(finding) for finding in findings if finding.experiment.paper == paper]
    return "\n".join([*parts, "</body></html>"])


def _opening(findings: Sequence[Reproduction], payload: dict[str, Any]) -> str:
    number = counts(findings)
    rows = sum(number.values())
    size = "" if payload["size"] == "full" else f" --{payload['size']}"
    papers = {finding.experiment.paper.lower() for finding in findings}
    name = f" {papers.pop()}" if len(papers) == 1 else ""
    stand_ins = sorted({s for finding in findings for s in finding.sources if "stand-in" in s})
    warning = "".join(f"<p><strong>{html.escape(s)}</strong></p>" for s in stand_ins)
    return (
        f"<p>{rows} claims and what we find when we measure them again with our own code: "
        f"{number[Verdict.AGREES]} agree, {number[Verdict.CORRECTED]} agree after a correction, "
        f"{number[Verdict.DISAGREES]} disagree, {number[Verdict.UNTESTED]} are not testable here, and say why. Every "
        f"rule was stated before its run, with the probability that the verdict flips by chance.</p>{warning}"
        f'<p class="soft">dither {payload["dither"]}, <code>dither reproduce{name}{size}</code>, '
        f"{payload['processor_seconds']:,.0f} s of processor time, Python {payload['machine']['python']} on "
        f"{payload['machine']['processor']}. Numbers vary from run to run; brackets hold an interval (95% unless it is "
        f"said "
        "otherwise), numbers without brackets are computed exactly. Times are processor time.</p>"
    )


def _overview(findings: Sequence[Reproduction]) -> str:
    papers = list(dict.fromkeys(finding.experiment.paper for finding in findings))
    lines = []
    for paper in papers:
        number = counts([finding for finding in findings if finding.experiment.paper == paper])
        cells = "".join(f'<td class="n">{number[verdict] or ""}</td>' for verdict in Verdict)
        lines.append(f'<tr><td><a href="#{paper}">{paper.upper()}</a></td>{cells}</tr>')
    heads = "".join(f'<th class="n">{verdict.value}</th>' for verdict in Verdict)
    return f'<div class="wide"><table><tr><th>paper</th>{heads}</tr>{"".join(lines)}</table></div>'


def _section(finding: Reproduction) -> str:
    experiment = finding.experiment
    parts = [f'<h3 id="{experiment.paper}-{experiment.key}">{html.escape(experiment.title)}</h3>']
    if experiment.note:
        parts.append(f'<p class="soft">{html.escape(experiment.note)}</p>')
    if finding.sources:
        parts.append(f'<p class="soft">Data: {html.escape("; ".join(finding.sources))}.</p>')
    for row in finding.rows:
        verdict = row.judged.verdict
        label = "note" if verdict is Verdict.AGREES else "why"
        why = f"<dt>{label}</dt><dd>{html.escape(row.judged.why)}</dd>" if row.judged.why else ""
        parts.append(
            f'<div class="row {MARKS[verdict]}"><div class="head"><span>{html.escape(row.where)}</span>'
            f'<span class="mark">{verdict.value}</span></div><dl><dt>paper</dt><dd>{html.escape(row.says)}</dd>'
            f'<dt>rule</dt><dd class="soft">{html.escape(str(row.rule))}</dd>'
            f"<dt>ours</dt><dd>{html.escape(row.judged.ours)}</dd>{why}</dl></div>"
        )
    if finding.picture is not None:
        data = base64.b64encode(finding.picture).decode()
        alt = html.escape(f"plot: {experiment.title}", quote=True)
        parts.append(f'<figure><img src="data:image/png;base64,{data}" alt="{alt}"></figure>')
    parts.append(_numbers(finding))
    return "\n".join(parts)


def _numbers(finding: Reproduction) -> str:
    lines = "".join(
        f"<tr><td>{html.escape(p.quantity)}</td><td>{html.escape(p.series)}</td><td class='n'>{p.x:g}</td><td "
        f"class='n'>{html.escape(str(p.y))}</td><td>{html.escape(p.y.how)}</td></tr>"
        for p in finding.points
    )
    return (
        f"<details><summary>{len(finding.points)} measured numbers, {finding.seconds:.1f} s of processor time</summary>"
        '<div class="wide"><table><tr><th>quantity</th><th>series</th><th class="n">at</th><th class="n">value</th>'
        f"<th>interval</th></tr>{lines}</table></div></details>"
    )
