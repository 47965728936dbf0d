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
        sections["Statistics" if path.startswith("statistics/") else "Reference"].append(path)
    proofs = sorted(one.name for one in (folder / "proofs").glob("*.md"))
    sections["Proofs"] += [f"proofs/{name}" for name in sorted(proofs, key=lambda name: name != "index.md")]
    listed = {path for pages in sections.values() for path in _paths(pages)}
    sections["Background"] += sorted(one.name for one in folder.glob("*.md") if one.name not in listed)
    return config


def _paths(pages: Any) -> list[str]:
    if isinstance(pages, str):
        return [pages]
    return [one if isinstance(one, str) else next(iter(one.values())) for one in pages]
