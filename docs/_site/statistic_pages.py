"""A page for each statistic, all of one shape: what it releases, when it is good, an example, its error, its proof."""

from __future__ import annotations

from typing import Any

from curves import kept
from statistic_list import ENTRIES, Entry


def statistic_pages() -> dict[str, str]:
    """Paths below docs/ and their Markdown."""
    drawn = kept()
    pages = {"statistics/index.md": _overview()}
    return pages | {f"statistics/{one.slug}.md": _page(one, drawn) for one in ENTRIES}


def _overview() -> str:
    lines = [
        "# All statistics",
        "",
        "What each is good for; [which statistic?](../which-statistic.md) starts from your question.",
        "",
    ]
    lines += ["| | good when | poor when |", "|---|---|---|"]
    lines += [f"| [{one.title}]({one.slug}.md) | {_first(one.good)} | {_first(one.poor)} |" for one in ENTRIES]
    return "\n".join(lines) + "\n"


def _first(text: str) -> str:
    """The first sentence; links of it are left to the page."""
    sentence = text.split(". ", maxsplit=1)[0].split(": ", maxsplit=1)[0].rstrip(".")
    return "".join(part.split("](")[0] if index else part for index, part in enumerate(sentence.split("[")))


def _page(one: Entry, drawn: dict[str, Any]) -> str:
    lines = [f"# {one.title}", "", one.calls, "", "## What it releases", "", one.releases, "", "## When it is good", ""]
    lines += [
        one.good,
        "",
        "## When it is not",
        "",
        one.poor,
        "",
        "## Example",
        "",
        "```python",
        one.example,
        "```",
        "",
    ]
    if one.curve is not None:
        curve = drawn[one.curve]
        lines += [f"## Error against the number of {curve['xlabel']}", ""]
        lines += [f"![{one.title}: {curve['ylabel']} against {curve['xlabel']}](../pictures/{one.curve}.svg)", ""]
        lines += [one.caption, "", *_table(curve), ""]
    links = ", ".join(f"[{name.replace('_', ' ').replace('-', ' ')}](../proofs/{name}.md)" for name in one.proofs)
    lines += ["## Why it is private", "", f"Proofs: {links}. What a release contains: [release](../release.md)."]
    return "\n".join(lines) + "\n"


def _table(curve: dict[str, Any]) -> list[str]:
    heads = [f"{x:,}" for x in curve["x"]]
    lines = [f"| {curve['xlabel']} | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}"]
    for label, errors in curve["lines"].items():
        lines.append(f"| {label} | {' | '.join('–' if one is None else _short(one) for one in errors)} |")
    return lines


def _short(number: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= size:
            return f"{number / (1e3 if letter == 'k' else size):,.3g}{letter}"
    return f"{number:,.3g}" if number < 1_000 else f"{number:,.0f}"
