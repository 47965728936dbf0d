"""Tutorials: the notebooks of examples/ as pages, with the outputs that are stored in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"
ORDER = ("first_answers", "table_with_budget", "own_program", "models", "graphs")
"""The order in which they are read; others follow by name."""


def tutorial_pages() -> dict[str, str]:
    """Paths below docs/ and their Markdown."""
    names = sorted(path.stem for path in EXAMPLES.glob("*.ipynb") if path.stem != "papers")
    ordered = [*(name for name in ORDER if name in names), *(name for name in names if name not in ORDER)]
    return {f"tutorials/{name}.md": _page(name) for name in ordered}


def _page(name: str) -> str:
    cells = json.loads((EXAMPLES / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    first, *rest = [part for cell in cells for part in _parts(cell)]
    return "\n\n".join([first, f"As a notebook: `examples/{name}.ipynb`.", *rest]) + "\n"


def _parts(cell: dict[str, Any]) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return [source]
    return [f"```python\n{source}\n```", *(_shown(output) for output in cell["outputs"])]


def _shown(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        return "".join(data["text/html"])
    return f"```text\n{''.join(output.get('text', data.get('text/plain', []))).rstrip()}\n```"
