"""A real server in a process of its own, a real browser, and tabs that must not complain.

Pictures go to the folder DITHER_ARTEFACTS, or to pytest's own temporary folder.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import Browser, Tab, chromium
from conftest import missing, needs_package
from page_server import Curator


@pytest.fixture(scope="session")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    """One server for all tests of a process; each test has datasets of its own."""
    for package in ("starlette", "uvicorn", "httpx"):
        needs_package(package)
    made = Curator(tmp_path_factory.mktemp("curator"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests of a process; each test has a profile of its own."""
    found = chromium()
    if found is None:
        missing("needs chromium (Debian: chromium)")
    made = Browser(found)
    yield made
    made.close()


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures of the page are kept."""
    kept = os.environ.get("DITHER_ARTEFACTS")
    return Path(kept) / "page" if kept else tmp_path_factory.mktemp("pictures")


class Visit:
    """A tab at the server's page, and what a person does there."""

    def __init__(self, tab: Tab, curator: Curator) -> None:
        self.tab, self.curator = tab, curator

    def sign_in(self, token: str | None = None) -> None:
        """Paste a token."""
        self.tab.go(self.curator.address)
        self.tab.see("Access token")
        self.tab.fill("input[name=token]", token or self.curator.owner)
        self.tab.click_text("Sign in", "button")

    def open(self, dataset: str, tab: str = "") -> None:
        """Go to a dataset."""
        self.tab.run(f"location.hash = '#/datasets/{dataset}{'/' + tab if tab else ''}'")
        self.until_title(f"{tab.capitalize() or 'Ask'}: {dataset}")

    def go(self, place: str, title: str) -> None:
        """Go to a place that is not a dataset."""
        self.tab.run(f"location.hash = '#/{place}'")
        self.until_title(title)

    def until_title(self, title: str) -> None:
        """The title changes together with what is shown."""
        self.tab.until(f"document.title === {json.dumps(title + ' · dither')}", title)

    def pay(self) -> None:
        """Press the button that says what it costs, and wait for the answer."""
        self.tab.until("document.querySelector('button[name=ask]')?.innerText.startsWith('Spend ε')", "a quote")
        self.tab.run("document.querySelector('[aria-label=Answer]')?.remove()")
        self.tab.click("button[name=ask]")
        self.tab.see("Save CSV", "[aria-label=Answer]")


@pytest.fixture
def visit(browser: Browser, curator: Curator, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """A fresh tab; afterwards it must not have complained, nor asked another host for anything."""
    tab = browser.tab(**getattr(request, "param", {}))
    yield Visit(tab, curator)
    elsewhere = [one for one in tab.requests if not one.startswith((curator.address, "blob:", "about:"))]
    complaints = list(tab.complaints)
    tab.close()
    assert elsewhere == []
    assert complaints == []
