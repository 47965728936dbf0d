"""Logs and metrics: public facts only.  No value, no text of a question, no message of an unexpected error."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
import threading
import time
import traceback
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from dither.plain import Json, JsonObject

_HELP = {
    "dither_requests_total": "Requests by method, route and status.",
    "dither_releases_total": "Questions that were answered.",
    "dither_refusals_total": "Requests that were refused, by code.",
    "dither_failures_total": "Unexpected failures.",
}
MOST_ALIKE, _MINUTE, _MOST_TEMPLATES = 5, 60.0, 1_000
_PLACE = re.compile(r"%[-+ #0-9.*]*[a-zA-Z]")
_PACKAGE = Path(__file__).parents[2]


class JsonLines(logging.Formatter):
    """One JSON object a line.  Messages of other libraries are left out: they may quote anything."""

    def format(self, record: logging.LogRecord) -> str:
        facts: JsonObject = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        if record.name.startswith("dither."):
            facts |= {"event": record.getMessage(), **getattr(record, "facts", {})}
        elif record.exc_info:
            facts |= {"event": "failure", "error": getattr(record.exc_info[0], "__name__", "?")}
        else:
            facts["event"] = _PLACE.sub("…", str(record.msg))[:200]  # without what would be filled in
        if getattr(record, "left_out", 0):
            facts["left_out"] = record.left_out  # type: ignore[attr-defined]
        return json.dumps(facts, ensure_ascii=False)


class Sparing(logging.Filter):
    """Of what other libraries say again and again, a few lines a minute, and then how many were left out."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._seen: dict[tuple[str, str], tuple[float, int]] = {}
        """Since when, and how many."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.startswith("dither."):
            return True
        alike, now = (record.name, str(record.msg)[:80]), time.monotonic()
        with self._lock:
            since, count = self._seen.get(alike, (now, 0))
            if now - since >= _MINUTE:
                record.left_out, since, count = max(0, count - MOST_ALIKE), now, 0
            if len(self._seen) > _MOST_TEMPLATES:
                self._seen.clear()
            self._seen[alike] = since, count + 1
        return count < MOST_ALIKE


LOG = logging.getLogger("dither.server")


def log_to_stderr() -> None:
    """All loggers of this process write JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    handler.addFilter(Sparing())
    logging.root.handlers = [handler]
    logging.root.setLevel(logging.INFO)


def log(event: str, **facts: Json) -> None:
    """One line about something that happened."""
    LOG.info(event, extra={"facts": facts})


class RefusedRequests:
    """Requests that were refused before anything was done for them, logged as counts.

    The first of a minute is logged at once; the others are one line when the minute ends.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, int, str], int] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, method: str, route: str, status: int, code: str) -> None:
        """Count a refused request; called in the event loop."""
        key = (method, route, status, code)
        if key not in self._counts:
            _log_refused(key, 1)
        self._counts[key] = self._counts.get(key, -1) + 1
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_MINUTE, self.flush)

    def flush(self) -> None:
        """Log the counts that are not logged yet."""
        counts, self._counts = self._counts, {}
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for key, count in counts.items():
            if count:
                _log_refused(key, count)


def _log_refused(key: tuple[str, str, int, str], count: int) -> None:
    method, route, status, code = key
    log("requests refused", method=method, route=route, status=status, code=code, count=count)


class WorkFailed(Exception):
    """An unexpected error in a worker: its type and the lines of our own code that it passed."""

    def __init__(self, error: str, places: list[str]) -> None:
        super().__init__(error)
        self.error, self.places = error, places


def places_of(error: BaseException) -> list[str]:
    """The lines of our own code that an error passed, those in the server before those in its worker."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [Path(frame.filename) for frame in frames]
    places = [
        f"{file.relative_to(_PACKAGE)}:{frame.lineno}"
        for file, frame in zip(ours, frames, strict=True)
        if file.is_relative_to(_PACKAGE)
    ]
    return [*places, *(error.places if isinstance(error, WorkFailed) else ())][-8:]


def log_failure(error: BaseException, **facts: Json) -> None:
    """An unexpected failure: its type and the lines of our own code that it passed, without its words."""
    name = error.error if isinstance(error, WorkFailed) else type(error).__name__
    LOG.error("failure", extra={"facts": {"error": name, "places": places_of(error), **facts}})


class Metrics:
    """Counters since the start, as Prometheus reads them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()

    def count(self, name: str, **labels: str | int) -> None:
        """One more."""
        with self._lock:
            self._counts[name, tuple(sorted((key, str(value)) for key, value in labels.items()))] += 1

    def text(self, gauges: list[tuple[str, str, dict[str, str], float]]) -> str:
        """All counters, and the gauges given as (name, help, labels, value)."""
        with self._lock:
            counts = sorted(self._counts.items())
        lines: list[str] = []
        for name, about in _HELP.items():
            lines += [f"# HELP {name} {about}", f"# TYPE {name} counter"]
            lines += [f"{name}{_labels(dict(labels))} {count}" for (item, labels), count in counts if item == name]
        for name in dict.fromkeys(metric[0] for metric in gauges):
            each = [metric for metric in gauges if metric[0] == name]
            lines += [f"# HELP {name} {each[0][1]}", f"# TYPE {name} gauge"]
            lines += [f"{name}{_labels(labels)} {value:.12g}" for _, _, labels, value in each]
        return "\n".join(lines) + "\n"


def _labels(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    quoted = (
        f'{key}="{value}"'
        for key, value in (
            (key, value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")) for key, value in labels.items()
        )
    )
    return "{" + ",".join(quoted) + "}"
