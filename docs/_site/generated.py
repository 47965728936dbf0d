"""All generated pages: tutorials, a page for each statistic, and the reference."""

from __future__ import annotations

import functools

from reference import api_page, cli_page
from statistic_pages import statistic_pages
from tutorials import tutorial_pages

from dither.mechanisms.documentation import page as mechanisms_page
from dither.queries.documentation import page as queries_page


@functools.cache
def generated_pages() -> dict[str, str]:
    """Paths below docs/ and their Markdown."""
    reference = {
        "reference/queries.md": queries_page(),
        "reference/mechanisms.md": mechanisms_page(),
        "reference/api.md": api_page(),
        "reference/cli.md": cli_page(),
    }
    return {**tutorial_pages(), **statistic_pages(), **reference}
