"""Errors name the argument and what is accepted, and never show private data."""

import inspect

import numpy as np
import pytest

from dither import errors
from dither.errors import BudgetExceeded, DitherError, InvalidArgument, InvalidData, NotApplicable, NotProved

ALL = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, DitherError)]


def test_every_error_has_a_code_of_its_own():
    """Codes are stable names to match on, so no two kinds share one."""
    assert len({kind.code for kind in ALL}) == len(ALL) >= 6


@pytest.mark.parametrize("kind", ALL)
def test_every_error_has_an_http_status(kind):
    """Doors can answer with a status without a table of their own."""
    assert 400 <= kind.status < 600


def test_an_invalid_argument_says_what_is_accepted():
    """The argument, the value that was given, what would do, and that nothing was spent."""
    message = str(InvalidArgument("epsilon", -1, "must be a positive finite number"))
    assert message == "epsilon must be a positive finite number; got -1; nothing was read, nothing was charged"


def test_not_applicable_names_what_applies():
    """The message offers the alternatives."""
    message = str(NotApplicable("noise", "laplace", "needs delta > 0", "power_law"))
    assert "noise='laplace'" in message
    assert "applicable here: power_law" in message


def test_a_budget_error_shows_both_sides_of_the_bill():
    """The dataset, what is left and what was asked."""
    message = str(BudgetExceeded(dataset="census", asked="epsilon 1", left="epsilon 0.5"))
    assert "'census' has epsilon 0.5 left, this release costs epsilon 1" in message
    assert "nothing was charged" in message


@pytest.mark.parametrize("value", [np.array([170.25, 65.5]), {"height": 170.25}, memoryview(b"170.25"), object()])
def test_containers_are_named_by_their_type_only(value):
    """Entries of arrays, tables and other containers may be records, so they are not shown."""
    message = str(InvalidArgument("data", value, "must be numbers"))
    assert "170.25" not in message
    assert f"<{type(value).__name__}>" in message


def test_long_values_are_cut():
    """A message stays readable whatever was passed."""
    assert len(str(InvalidArgument("column", "x" * 1000, "a name"))) < 200


@pytest.mark.parametrize("kind", [InvalidArgument, NotApplicable, InvalidData])
def test_user_errors_are_value_errors(kind):
    """Code that knows nothing of dither can catch them as usual."""
    assert issubclass(kind, ValueError)


def test_a_missing_proof_is_an_arithmetic_error():
    """NotProved is not the user's fault."""
    assert issubclass(NotProved, ArithmeticError)
    assert not issubclass(NotProved, ValueError)
