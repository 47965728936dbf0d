"""What mkdocs does not do by itself: generated pages, and a place in the navigation for every page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from generated import generated_pages
from mkdocs.structure.files import File, Files


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    for path, text in generated_pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_config(config: Any) -> Any:
    """List generated pages, proofs, and every page that the navigation does not name."""
    folder = Path(config["docs_dir"])
    sections = {next(iter(one)): next(iter(one.values())) for one in config["nav"]}
    for path in generated_pages():
        sections[{"statistics": "Statistics", "tutorials": "Tutorials"}.get(path.split("/")[0], "Reference")].append(
            path
        )
    proofs = sorted(one.name for one in (folder / "proofs").glob("*.md"))
    sections["Proofs"] += [f"proofs/{name}" for name in sorted(proofs, key=lambda name: name != "index.md")]
    listed = {path for pages in sections.values() for path in _paths(pages)}
    sections["Background"] += sorted(one.name for one in folder.glob("*.md") if one.name not in listed)
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Below the table of proofs, a row for every page that it does not name."""
    if page.file.src_uri != "proofs/index.md":
        return markdown
    folder = Path(config["docs_dir"]) / "proofs"
    more = [one for one in sorted(folder.glob("*.md")) if one.name != "index.md" and f"({one.name})" not in markdown]
    return markdown.rstrip() + "".join(f"\n| [{one.stem}]({one.name}) | {_heading(one)} |" for one in more) + "\n"


def _heading(path: Path) -> str:
    return path.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ")


def _paths(pages: Any) -> list[str]:
    if isinstance(pages, str):
        return [pages]
    return [one if isinstance(one, str) else next(iter(one.values())) for one in pages]
