"""One row of docs/papers.md for each item of the five papers: the call that does it, and an oracle to compare it with.

Each paper has a file of its own here, which imports nothing of dither: what a user writes stands in it as text and runs
in ``outcome``; what is to come out is computed by other means (``oracle.py``, enumeration, a formula).
"""

from __future__ import annotations

import ast
import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

PAPERS = {
    "DMNS06": range(140, 158),
    "NRS11": range(1, 65),
    "DL09": range(65, 93),
    "V17": range(93, 113),
    "COQ17": range(113, 140),
}
"""The papers in order of appearance, and the numbers of their items."""
TITLES = {
    "DMNS06": "Dwork, McSherry, Nissim, Smith 2006: Calibrating Noise to Sensitivity in Private Data Analysis",
    "NRS11": "Nissim, Raskhodnikova, Smith 2011: Smooth Sensitivity and Sampling in Private Data Analysis",
    "DL09": "Dwork, Lei 2009: Differential Privacy and Robust Statistics",
    "V17": "Vadhan 2017: The Complexity of Differential Privacy, sections 2 and 3",
    "COQ17": "Canard, Olivier, Quertier 2017: Differentially Private Instance-Based Noise Mechanisms in Practice",
}


def close(got: Any, expected: Any) -> bool:
    """Whether two results are the same: numbers to nine digits, all else exactly."""
    return _alike(got, expected, 1e-9, 1e-12)


def near(relative: float) -> Callable[[Any, Any], bool]:
    """The same to a share of the expected number, for bounds that are computed to fewer digits and for means."""
    return lambda got, expected: _alike(got, expected, relative, 0.0)


def within(distance: float) -> Callable[[Any, Any], bool]:
    """Whether every number is at most so far from the expected one, for answers with noise."""
    return lambda got, expected: _alike(got, expected, 0.0, distance)


def between(got: Any, expected: Any) -> bool:
    """Whether the number lies in the range that the oracle gives, ends included."""
    low, high = expected
    return bool(low <= got <= high)


def _alike(got: Any, expected: Any, relative: float, absolute: float) -> bool:
    if isinstance(expected, np.ndarray):
        expected = expected.tolist()
    if isinstance(got, np.ndarray):
        got = got.tolist()
    if isinstance(expected, Mapping):
        return got.keys() == expected.keys() and all(
            _alike(got[key], expected[key], relative, absolute) for key in expected
        )
    if isinstance(expected, list | tuple):
        same_length = isinstance(got, list | tuple) and len(got) == len(expected)
        return same_length and all(_alike(*pair, relative, absolute) for pair in zip(got, expected, strict=True))
    if _is_truth(expected) or _is_truth(got):
        return _is_truth(expected) and _is_truth(got) and bool(got) == bool(expected)
    if isinstance(expected, Number):
        return isinstance(got, Number) and math.isclose(float(got), float(expected), rel_tol=relative, abs_tol=absolute)
    return bool(got == expected)


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


@dataclass(frozen=True)
class Item:
    """What a paper defines, proves, computes or measures, and the call of a user that does it."""

    number: int
    """Its number in the list of all items (``PAPERS``); several rows may share one, each with a place of its own."""
    place: str
    """Where it stands in the paper, such as "Definition 1.1"."""
    title: str
    """What it is, in a few words of our own; Markdown."""
    call: str
    """What a user writes: lines of Python, of which the last one is an expression.

    Known are ``dt``, ``np``, ``math``, ``cli`` (a command line of dither; its output) and the names of ``given``.
    """
    given: Mapping[str, Any]
    """The input."""
    other: Mapping[str, Any]
    """A second input, with another result."""
    oracle: Callable[..., Any]
    """Of an input: what is to come out, without any code of dither.  Its parameters are the names of ``given``."""
    proof: str
    """A page below docs/proofs, with an anchor where there is one: "smooth.md#2-the-ladder"."""
    page: str
    """A page below docs, written or generated: "statistics/order.md"."""
    agrees: Callable[[Any, Any], bool] = close
    """Whether a result is what the oracle expects.  The result on one input must not agree with the other's oracle."""
    remark: str = ""
    """Where the paper differs from what is proved here, or why a part can't be done, with its proof or measurement."""

    @property
    def id(self) -> str:
        """Its number and place, as tests name it."""
        return f"{self.number}-{self.place}".replace(" ", "_")

    def names(self) -> set[str]:
        """All names in the call."""
        return {node.id for node in ast.walk(ast.parse(self.call)) if isinstance(node, ast.Name)}


def outcome(item: Item, given: Mapping[str, Any]) -> Any:
    """What the call of an item returns on an input."""
    import dither

    names = {"dt": dither, "np": np, "math": math, "cli": cli, **given}
    tree = ast.parse(item.call)
    *lines, last = tree.body
    if not isinstance(last, ast.Expr):
        raise TypeError(f"{item.id}: the last line of a call is an expression, its result")
    exec(compile(ast.Module(lines, []), f"<{item.id}>", "exec"), names)  # noqa: S102
    return eval(compile(ast.Expression(last.value), f"<{item.id}>", "eval"), names)  # noqa: S307


def failures(item: Item) -> list[str]:
    """What is wrong with an item: a result that is not the oracle's, or one that does not depend on the input."""
    results = [outcome(item, one) for one in (item.given, item.other)]
    expected = [item.oracle(**one) for one in (item.given, item.other)]
    wrong = [
        f"on {which} input the call gives {result!r}, the oracle {right!r}"
        for which, result, right in zip(("the first", "the second"), results, expected, strict=True)
        if not item.agrees(result, right)
    ]
    for result, right in zip(results, reversed(expected), strict=True):
        if item.agrees(result, right):
            wrong.append(f"{result!r} would be right on both inputs: the row can't tell a constant")
    return wrong


def cli(line: str) -> str:
    """What a command of dither prints; a code other than 0 or 1 is an error."""
    from click.testing import CliRunner

    from dither.interfaces.cli.main import main

    words = shlex.split(line)
    done = CliRunner().invoke(main, words[1:])
    if (
        words[0] != "dither"
        or done.exit_code not in (0, 1)
        or (done.exception and done.exit_code == 1 and not done.output)
    ):
        raise AssertionError(f"{line}: {done.output} {done.exception!r}")
    return done.stdout
