"""The table of endpoints in docs/server.md and the routes that exist."""

import re
from pathlib import Path

from dither.interfaces.http.routes import OWNER, registered_endpoints

PAGE = Path(__file__).parents[2] / "docs" / "server.md"


def documented(text):
    """(method, path) -> whether it is for owners alone, by the table of the page."""
    table = text.split("## The API")[1].split("### Questions")[0]
    rows = (line.split("|") for line in table.splitlines() if line.startswith("| `"))
    return {found: row[2].strip() == "owner" for row in rows for found in re.findall(r"`([A-Z]+) (/[^`?]*)`", row[1])}


def test_the_page_lists_every_endpoint_and_who_may_use_it():
    """An endpoint without a row, a row without an endpoint, or one with another role fails here."""
    routes = {(one.method, one.path): one.who == OWNER for one in registered_endpoints()}
    assert documented(PAGE.read_text(encoding="utf-8")) == routes


def test_a_row_that_is_left_out_is_noticed():
    """The comparison can fail."""
    text = PAGE.read_text(encoding="utf-8")
    shorter = re.sub(r"^\| `GET /v1/ledger/verify`.*\n", "", text, flags=re.MULTILINE)
    assert documented(text).keys() - documented(shorter).keys() == {("GET", "/v1/ledger/verify")}
