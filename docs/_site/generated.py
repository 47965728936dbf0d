"""All generated pages: a page for each statistic, and the reference."""

from __future__ import annotations

import functools

from reference import api_page, cli_page
from statistic_pages import statistic_pages

from dither.queries.documentation import page


@functools.cache
def generated_pages() -> dict[str, str]:
    """Paths below docs/ and their Markdown."""
    reference = {"reference/queries.md": page(), "reference/api.md": api_page(), "reference/cli.md": cli_page()}
    return {**statistic_pages(), **reference}
