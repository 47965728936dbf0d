"""The web page of the curator: hand-written HTML, CSS and JavaScript that talk to the HTTP API."""

from dither.interfaces.web.page import POLICY, add_page

__all__ = ["POLICY", "add_page"]
