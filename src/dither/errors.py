"""Every error dither raises on purpose.

Messages have public facts only: the argument, the value that was given, what to pass instead, and whether
anything was read or charged.  Private values never appear in an exception.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, TypeAlias

if TYPE_CHECKING:
    from dither.privacy import Loss

LONGEST_WORD = 100
"""Longer words are not compared with those that are accepted."""
WIDEST = 160
"""How much of a line an error shows."""


Reduced: TypeAlias = "tuple[type[DitherError], tuple[object, ...]]"  # as pickles rebuild it


def suggested(given: object, accepted: Iterable[str]) -> str:  # given: anything, it was refused
    """The nearest of the accepted words, as a question.

    >>> suggested("Prize", ["price", "cut"])
    '; did you mean price?'
    """
    if not isinstance(given, str) or len(given) > LONGEST_WORD:
        return ""
    words = {word.lower(): word for word in accepted}
    close = difflib.get_close_matches(given.lower(), list(words), 1)
    return f"; did you mean {words[close[0]]}?" if close else ""


AFTER_DRAW = "a number had been drawn: this request_id is not answered any more, and another one is charged"
"""A note of an error that a draw may have decided about: to ask again and pay nothing would be draws for nothing."""


def note_draw(error: BaseException) -> None:
    """Note that a number was drawn before this error."""
    if not came_after_draw(error):
        error.add_note(AFTER_DRAW)


def came_after_draw(error: BaseException) -> bool:
    """Whether a number was drawn before this error."""
    return AFTER_DRAW in getattr(error, "__notes__", ())


class DitherError(Exception):
    """Base of all errors raised on purpose; ``code`` is stable and safe to match on."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500


class InvalidArgument(DitherError, ValueError):
    """An argument that cannot be used; found before anything was read or charged."""

    code = "invalid-argument"
    status = 422

    def __init__(self, argument: str, given: object, accepted: str) -> None:  # given: anything, it was refused
        """``accepted`` continues the name of the argument ("must be ...", "is ...") or is a sentence of its own."""
        continues = accepted.startswith(("must ", "is "))
        self.rule = f"{argument} {accepted}" if continues else accepted
        """The sentence without the value, for errors that point at where the value was written."""
        value = _formatted(given)
        got = "" if accepted.startswith("is missing") else f"; got {value}"
        what = f"{self.rule}{got}" if continues else f"{argument}={value}: {accepted}"
        super().__init__(f"{what}; nothing was read, nothing was charged")
        self.argument = argument
        self.given = given
        self.accepted = accepted

    def __reduce__(self) -> Reduced:
        return type(self), (self.argument, self.given, self.accepted)


def check_callable(argument: str, given: Callable[..., None] | None) -> None:
    """Refuse what cannot be called where a function says how far work has come."""
    if given is not None and not callable(given):
        raise InvalidArgument(argument, given, "must be a function: pass progress=dt.ProgressBar(), or progress=print")


class EpsilonTooSmall(InvalidArgument):
    """An epsilon so small that a mechanism would take too much memory or time; found from public facts."""

    code = "epsilon-too-small"

    def __init__(self, given: float, least: float, steps: int) -> None:
        super().__init__(
            "epsilon",
            given,
            f"must be at least {least:g} here, because its draw would look at {steps:,} ranks or distances; "
            "noise that is added (mechanism='worst_case') has no such limit",
        )
        self.least = least
        self.steps = steps

    def of_whole(self, given: float, parts: float) -> EpsilonTooSmall:
        """The same for the whole epsilon, of which the mechanism got one part of so many."""
        if parts == 1:
            return self
        return EpsilonTooSmall(given, float(f"{self.least * parts * 1.005:.3g}"), self.steps)

    def __reduce__(self) -> Reduced:
        return type(self), (self.given, self.least, self.steps)


class InvalidText(InvalidArgument):
    """A text (SQL, a filter, a schema file) that cannot be used; points at the place."""

    code = "invalid-text"

    def __init__(self, argument: str, text: str, reason: str, start: int = 0, end: int | None = None) -> None:
        last = max(start + 1, len(text) if end is None else end)
        line_start = text.rfind("\n", 0, start) + 1
        whole = text[line_start:].split("\n", 1)[0]
        column = start - line_start
        # A window of a long line; what cannot be printed must not steer a terminal.
        cut = max(0, column - WIDEST // 2) if len(whole) > WIDEST else 0
        line = "".join(item if item.isprintable() else "\ufffd" for item in whole[cut : cut + WIDEST])
        marks = " " * (column - cut) + "^" * max(1, min(last - line_start - cut, len(line)) - (column - cut))
        place = f"line {text.count(chr(10), 0, start) + 1}, column {column + 1}"
        super().__init__(argument, text, reason)
        self.args = (f"{argument}, {place}: {reason}\n  {line}\n  {marks}\nnothing was read, nothing was charged",)
        self.reason, self.start, self.end = reason, start, last

    def __reduce__(self) -> Reduced:
        return type(self), (self.argument, self.given, self.reason, self.start, self.end)


class NotApplicable(DitherError, ValueError):
    """A mechanism, noise or option that does not apply to this query; names what does."""

    code = "not-applicable"
    status = 422

    # given: anything, it was refused
    def __init__(self, argument: str, given: object, reason: str, applicable: str) -> None:
        super().__init__(
            f"{argument}={_formatted(given)}: {reason}; applicable here: {applicable}; "
            "nothing was read, nothing was charged"
        )
        self.argument = argument
        self.given = given
        self.reason = reason
        self.applicable = applicable

    def __reduce__(self) -> Reduced:
        return type(self), (self.argument, self.given, self.reason, self.applicable)


class NotInstalled(DitherError, ImportError):
    """A part of dither that needs a package which is not there."""

    code = "not-installed"
    status = 500

    def __init__(self, what: str, needed: str, package: str) -> None:
        super().__init__(f"{what} needs {needed}; install it with: pip install '{package}' (in a checkout: make setup)")
        self.what, self.needed, self.package = what, needed, package

    def __reduce__(self) -> tuple[type[NotInstalled], tuple[str, str, str]]:
        return type(self), (self.what, self.needed, self.package)


class NeedsLinux(DitherError):
    """A part of dither that runs on Linux only, on another system."""

    code = "needs-linux"
    status = 500

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(f"{what} does not run here: {reason}; nothing was started")
        self.what, self.reason = what, reason

    def __reduce__(self) -> tuple[type[NeedsLinux], tuple[str, str]]:
        return type(self), (self.what, self.reason)


class InvalidData(DitherError, ValueError):
    """Data that break the declared schema.  The message never contains a record or a count of records."""

    code = "invalid-data"
    status = 422


class SourceFailed(DitherError):
    """A source that could not be read, or that changed while it was being read.  Never quotes a record."""

    code = "source-failed"
    status = 503


class NotProved(DitherError, ArithmeticError):
    """A privacy condition that could not be proved; the mechanism refuses to be built."""

    code = "not-proved"
    status = 422


class UnknownField(DitherError, ValueError):
    """An unknown field of a JSON object; found before anything was read or charged."""

    code = "unknown-field"
    status = 400

    def __init__(self, field: str, accepted: tuple[str, ...]) -> None:
        super().__init__(
            f"{field[:80]!r} is not known here; accepted are {', '.join(accepted)}; "
            "nothing was read, nothing was charged"
        )
        self.field, self.accepted = field, accepted

    def __reduce__(self) -> tuple[type[UnknownField], tuple[str, tuple[str, ...]]]:
        return type(self), (self.field, self.accepted)


class BudgetExceeded(DitherError):
    """The privacy loss of a release does not fit into what is left."""

    code = "budget-exceeded"
    status = 403

    def __init__(self, *, dataset: str, asked: Loss, left: Loss, analyst: str | None = None) -> None:
        whose = "" if analyst is None else f" for {analyst!r}"
        super().__init__(
            f"dataset {dataset!r} has {left} left{whose}, this release costs {asked}; "
            "nothing was read, nothing was charged"
        )
        self.dataset = dataset
        self.asked = asked
        self.left = left
        self.analyst = analyst


class UnknownDataset(DitherError, LookupError):
    """A dataset that was never registered."""

    code = "unknown-dataset"
    status = 404

    def __init__(self, dataset: str) -> None:
        super().__init__(f"dataset {_formatted(dataset)} is not registered; nothing was read, nothing was charged")
        self.dataset = dataset


class Contradiction(DitherError):
    """A name, fingerprint or request id that the ledger already knows with another meaning."""

    code = "contradiction"
    status = 409


class Retired(DitherError):
    """A dataset that answers no new questions."""

    code = "retired"
    status = 410


class LedgerUnavailable(DitherError):
    """A ledger that cannot be opened, read or written now; the message says whether anything was charged."""

    code = "ledger-unavailable"
    status = 503


class LedgerDamaged(DitherError):
    """A ledger whose contents contradict themselves, or a file that is not a ledger of this version."""

    code = "ledger-damaged"
    status = 500


class TooFewDescriptors(DitherError):
    """Too few file descriptors are left for a question: a limit of the machine, and no fault of the data."""

    code = "too-few-descriptors"
    status = 503


class NotIsolated(DitherError):
    """This machine cannot isolate programs; says what is missing.  Nothing was read, nothing was charged."""

    code = "not-isolated"
    status = 503

    def __init__(self, missing: str) -> None:
        super().__init__(
            f"programs are not run here, isolation does not hold: {missing}; nothing was read, nothing was charged"
        )
        self.missing = missing

    def __reduce__(self) -> tuple[type[NotIsolated], tuple[str]]:
        return type(self), (self.missing,)


class ClusterLost(DitherError):
    """So many machines died during a release that some blocks could not be run; what was charged stays charged."""

    code = "cluster-lost"
    status = 503

    def __init__(self, nodes: int) -> None:
        super().__init__(f"{nodes} nodes of the cluster died during the release and none is left; no answer was made")
        self.nodes = nodes

    def __reduce__(self) -> tuple[type[ClusterLost], tuple[int]]:
        return type(self), (self.nodes,)


def _formatted(value: object) -> str:  # whatever was given
    """A short repr; a type stands for data, whose entries may be private."""
    if isinstance(value, type):
        return f"<{value.__name__}>"
    if isinstance(value, (tuple, list)):
        inside = ", ".join(_formatted(part) for part in value[:8]) + (", ..." if len(value) > 8 else "")
        return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
    if isinstance(value, Decimal):
        return str(value)
    if value is None or isinstance(value, (str, int, float, bool)):
        text = repr(value)
        return text if len(text) <= 80 else text[:77] + "..."
    numerator = getattr(value, "numerator", None)
    if isinstance(numerator, int):
        return str(value)
    return f"<{type(value).__name__}>"
