"""An audit as a picture and as a page: what was claimed against what was shown."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

from dither_lab.audit.checks import METHODS
from dither_lab.audit.running import AuditReport, Ran

_COLOURS = {"exact": "#1f5aa6", "exhaustive": "#2e8b57", "black-box": "#d98c21", "trace": "#777777"}
_MARKS = {"exact": "D", "exhaustive": "o", "black-box": "v", "trace": "s"}
_FINDING = "#c0392b"
_MOST = 2.4
"""Shares above are drawn here: some are infinite."""


def draw(report: AuditReport, path: Path) -> None:
    """One picture: every check as a point, the share of the claimed epsilon that it shows, by subject."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    with_bounds = [check for check in report.ran if _has_point(check, mutants=report.mutants)]
    subjects = list(dict.fromkeys(column.check.subject for column in with_bounds))[::-1]
    place = {subject: row for row, subject in enumerate(subjects)}
    figure = Figure(figsize=(9.5, max(3.0, 0.24 * len(subjects) + 1.9)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for number, method in enumerate(METHODS):
        own = [column for column in with_bounds if column.check.method == method]
        if not own:
            continue
        across = [min(_share(distance), _MOST) for distance in own]
        height = [place[distance.check.subject] + 0.22 * (1 - number) for distance in own]
        colours = [_FINDING if distance.result.holds is report.mutants else _COLOURS[method] for distance in own]
        axes.scatter(across, height, s=20, marker=_MARKS[method], c=colours, alpha=0.75, linewidths=0)
        axes.scatter([], [], s=28, marker=_MARKS[method], c=_COLOURS[method], label=f"{method} ({len(own)})")
    axes.axvline(1.0, color="#333333", lw=1.2)
    axes.text(1.0, len(subjects) - 0.25, " the claim", ha="left", va="bottom", fontsize=8, color="#333333")
    axes.set_yticks(range(len(subjects)), subjects, fontsize=8)
    axes.set_ylim(-0.7, len(subjects) + 0.4)
    axes.set_xlim(-0.03, max([1.12, *(min(_share(column), _MOST) + 0.05 for column in with_bounds)]))
    beyond = f"; {_MOST:g} stands for all above" if any(_share(column) > _MOST for column in with_bounds) else ""
    axes.set_xlabel(f"epsilon that was proved, as a share of the epsilon that is claimed{beyond}", fontsize=8)
    axes.grid(axis="x", color="#dddddd", lw=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    axes.set_title(headline(report), loc="left", fontsize=10, fontweight="bold")
    figure.savefig(path, dpi=140)


def _has_point(item: Ran, *, mutants: bool) -> bool:
    """Whether a claim of epsilon was tested; a mutant that is found by something else has no place on that axis."""
    if not item.result.claimed or item.result.lower is None:
        return False
    return not mutants or item.result.holds or _share(item) > 1.0


def _share(item: Ran) -> float:
    claimed = item.result.claimed.epsilon if item.result.claimed else 1.0
    return (item.result.lower or 0.0) / claimed


def headline(report: AuditReport) -> str:
    """The outcome in one line."""
    count = len(report.ran)
    if report.mutants:
        return f"{len(report.findings)} of {count} things broken on purpose are found"
    result = len(report.findings)
    return f"{count:,} checks, {'no finding' if not result else f'{result} finding' + 's' * (result > 1)}"


def page(report: AuditReport, picture: str | None) -> str:
    """The whole audit as one HTML page without scripts."""
    rows = "\n".join(
        _row(check, mutants=report.mutants) for check in sorted(report.ran, key=lambda check: check.result.holds)
    )
    methods = ", ".join(f"{count:,} {method}" for method, count in report.counts.items())
    image = "" if picture is None else f'<p><img src="{html.escape(picture)}" alt="claimed against shown epsilon"></p>'
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>dither audit</title><style>
body {{ font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; color: #222 }}
h1 {{ font-size: 1.5rem }} img {{ max-width: 100%; height: auto; border: 1px solid #ddd }}
table {{ border-collapse: collapse; width: 100%; font-size: 13px }}
th, td {{ text-align: left; padding: .25rem .6rem; border-bottom: 1px solid #e5e5e5; vertical-align: top }}
td.n {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }}
tr.finding td {{ background: #fdecea }}
@media (prefers-color-scheme: dark) {{ body {{ background: #16181c; color: #ddd }} th, td {{ border-color: #333 }}
tr.finding td {{ background: #4a1f1b }} img {{ background: #fff }} }}
</style></head><body>
<h1>{html.escape(headline(report))}</h1>
<p>{methods}; {report.seconds:.0f} seconds{", quick" if report.quick else ""}. {_meaning(report)}</p>
{image}
<table><thead><tr><th>subject</th><th>mechanism</th><th>noise</th><th>check</th><th>method</th><th>claimed</th>
<th>shown at least</th><th>at most</th><th>cases</th><th>outcome</th></tr></thead><tbody>
{rows}
</tbody></table></body></html>
"""


def _meaning(report: AuditReport) -> str:
    if report.mutants:
        return "Each of these was broken on purpose and must be found: an auditor that misses one is not to be trusted."
    return (
        f"If everything is sound, a finding is reported with probability at most {report.false_alarm:g}: black-box "
        "checks share it, the others do not sample. &ldquo;Not refuted&rdquo; is no proof: the proofs are."
    )


def _row(item: Ran, *, mutants: bool) -> str:
    check, result = item.check, item.result
    outcome = outcome_of(item, mutants=mutants)
    cells = [
        check.subject,
        check.mechanism,
        check.noise,
        check.detail,
        check.method,
        "" if result.claimed is None else str(result.claimed),
    ]
    numbers = [number(result.lower), number(result.upper), f"{result.cases:,}"]
    text = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
    text += "".join(f'<td class="n">{html.escape(cell)}</td>' for cell in numbers)
    note = html.escape(result.note)
    marked = ' class="finding"' if result.holds is mutants else ""
    return f'<tr{marked}>{text}<td title="{note}">{html.escape(outcome)}</td></tr>'


def outcome_of(item: Ran, *, mutants: bool = False) -> str:
    """The outcome of one check in a word."""
    if mutants:
        return "missed" if item.result.holds else "found"
    if not item.result.holds:
        return "FINDING"
    return "not refuted" if item.check.method == "black-box" else "holds"


def number(value: float | None) -> str:
    """A bound, short."""
    return "" if value is None else f"{value:.3g}"


def save(report: AuditReport, folder: Path) -> dict[str, str]:
    """``audit.json``, ``audit.png`` and ``audit.html`` in a folder."""
    import json  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    paths: dict[str, Any] = {ending: folder / f"audit.{ending}" for ending in ("json", "png", "html")}
    paths["json"].write_text(json.dumps(report.to_dict(), indent=1), encoding="utf-8")
    drawable = any(check.result.claimed and check.result.lower is not None for check in report.ran)
    if drawable:
        draw(report, paths["png"])
    else:
        del paths["png"]
    paths["html"].write_text(page(report, "audit.png" if drawable else None), encoding="utf-8")
    return {ending: str(path) for ending, path in paths.items()}
