"""What a user sees of a session: what is asked, quoted and accounted for; everything else is dither's own."""

import dither as dt

OF_ALL = {"ask", "budget", "close", "history", "plan", "quote", "source_has_changed", "sql"}


def public(found):
    """The public names of a class or an object."""
    return {name for name in dir(found) if not name.startswith("_")}


def test_sessions_have_no_public_names_that_nobody_needs():
    """Both sorts have the same, but for what graphs do not have; ``schema`` is set when a session is made."""
    assert public(dt.Session) == OF_ALL | {"least_epsilon", "plans"}
    assert public(dt.GraphSession) == OF_ALL
    session = dt.open({"age": [1, 2]}, columns={"age": dt.Integer(0, 9)}, budget=dt.Budget(1.0))
    assert public(session) == OF_ALL | {"least_epsilon", "plans", "schema"}


def test_statements_are_answered_in_one_place():
    """Neither sort of session answers statements by code of its own."""
    assert dt.Session._answer_statement is dt.GraphSession._answer_statement
