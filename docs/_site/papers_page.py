"""docs/papers.md from the rows in tests/papers: python docs/_site/papers_page.py."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from papers.items import Item

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "papers.md"
HEAD = """# The papers, item by item

Every definition, algorithm, theorem, example, experiment and figure of five papers, and the call that does it.
Definitions and lower bounds come with the check that shows them.

Every row runs in the tests, on two inputs with different results, and is compared with an oracle that shares no code
with dither: all datasets of a small universe, an exact formula, another algorithm. A row whose call returns a constant
fails. Inputs and oracles are in `tests/papers/`; `x` is the data of a row. Here `dt` is `import dither as dt`, `np` is
numpy, and `cli("dither ...")` is a command. `dt.inspect` shows true values: it is for the owner of the data.

How the measurements of the papers come out: [the papers, measured again](reproduce.md).
The papers: [references](references.md).
"""


def page(rows: Mapping[str, Iterable[Item]]) -> str:
    """The whole page: a table for each paper."""
    from papers.items import TITLES

    parts = [HEAD]
    for paper, items in rows.items():
        parts.append(f"## {paper}\n\n{TITLES[paper]}.\n")
        lines = ["| # | item | call | see |", "|---|---|---|---|", *(_line(one) for one in items)]
        parts.append("\n".join(lines) + "\n" if len(lines) > 2 else "")
    return "\n".join(parts)


def _line(item: Item) -> str:
    title = f"**{item.place}**: {item.title}" + (f"<br>*{item.remark}*" if item.remark else "")
    call = "<br>".join(_code(line) for line in item.call.splitlines())
    proof = item.proof.partition(".")[0].replace("_", " ").replace("-", " ")
    see = f"[proof: {proof}](proofs/{item.proof}), [{_name(item.page)}]({item.page})"
    return f"| {item.number} | {_escaped(title)} | {call} | {see} |"


def _code(line: str) -> str:
    indent = len(line) - len(line.lstrip())
    return "&nbsp;" * indent + f"`{_escaped(line.strip())}`"


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")


def _name(path: str) -> str:
    return path.partition("#")[0].removesuffix(".md").rsplit("/", 1)[-1].replace("_", " ").replace("-", " ")


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as the site makes them."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", title.replace("`", "")).strip().lower() for title in titles)
    return {re.sub(r"[-\s]+", "-", title) for title in plain}


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "tests")]
    names = importlib.import_module("papers.items").PAPERS
    found = {name: importlib.import_module(f"papers.{name.lower()}").ITEMS for name in names}
    PAGE.write_text(page(found), encoding="utf-8")
