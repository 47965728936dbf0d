"""Stored forms: the same for the same question however it was written, and never the same for another."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from dither.session.forms import form_of

X = np.arange(400) % 50.0


@pytest.fixture
def session():
    """A table with numbers and categories that look like numbers."""
    data = {"x": X, "c": ["1", "1.0"] * 200}
    columns = {"x": dt.Real(0, 100), "c": dt.Category(["1", "1.0"])}
    return dt.open(data, columns=columns, rows=400, budget=dt.Budget(1e4, 0.5))


@pytest.mark.parametrize(
    "spellings",
    [
        [dt.TrimmedMean("x"), *(dt.TrimmedMean("x", trim=one) for one in (0.1, Decimal("0.10"), Fraction(1, 10)))],
        [dt.IQR("x"), dt.IQR("x", low=0.25, high=0.75), dt.IQR("x", low=Decimal("0.25"), high=Fraction(3, 4))],
        [dt.Quantile("x", q=one) for one in (1, 1.0, Decimal("1.00"), Fraction(1))],
        [dt.Quantiles("x", q=one) for one in ([0.25, 0.5], (Fraction(1, 4), Decimal("0.5")), np.array([0.25, 0.5]))],
        [dt.Variance("x"), dt.Variance("x", ddof=0)],
        [dt.OrderStatistic("x"), dt.OrderStatistic("x", rank=1)],
    ],
)
def test_a_question_has_one_form(session, spellings):
    """Whatever the numbers are written as: the first spelling pays, the others are answered from the store."""
    first = session.ask(spellings[0], epsilon=1.0)
    for other in spellings[1:]:
        assert session.ask(other, epsilon=1.0) == first
    assert session.budget.spent == dt.Loss(1.0)


def test_categories_are_told_apart_by_their_texts(session):
    """Of numbers too: 1 and 1.0 are two categories."""
    whole = session.ask(dt.Histogram("c", categories=["1"]), epsilon=200.0, confidence=None)
    point = session.ask(dt.Histogram("c", categories=[1.0]), epsilon=200.0, confidence=None)
    assert session.budget.spent == dt.Loss(400.0)
    assert (whole.labels[0], point.labels[0]) == ("1", "1.0")


@dataclass(frozen=True)
class Mine(dt.Smooth):
    """Somebody's own mechanism, which has inherited a name."""

    extra: int = 0


class Plain(dt.Smooth):
    """The same without a field of its own."""


def test_a_mechanism_of_ones_own_is_another_question(session):
    """Though it has the name of one that ships."""
    session.ask(dt.Median("x"), epsilon=1.0, mechanism="smooth")
    for number, mechanism in enumerate((Mine(), Plain(), Mine(extra=1)), 2):
        session.ask(dt.Median("x"), epsilon=1.0, mechanism=mechanism)
        assert session.budget.spent == dt.Loss(float(number))
    session.ask(dt.Median("x"), epsilon=1.0, mechanism=dt.Smooth())
    assert session.budget.spent == dt.Loss(4.0)


def test_forms_name_no_class_that_ships(session):
    """Public names of queries, mechanisms and noises."""
    made = session.plan(dt.Median("x"), epsilon=1.0, mechanism=dt.Smooth(beta=0.015625))
    assert made.asked["query"]["name"] == "median"
    assert made.asked["mechanism"] == {"name": "smooth", "beta": "1/64"}
    noisy = session.plan(dt.Median("x"), epsilon=1.0, noise=dt.Cauchy(gamma=3))
    assert noisy.asked["noise"] == {"name": "cauchy", "gamma": 3}
    assert form_of(made.query, dt.Loss(1.0), {}, "auto", "auto", None)["version"] == 2


def test_a_program_is_known_by_its_slot_and_its_defaults(session):
    """Blocks that are late count as the default, so another slot is another question."""

    def counted(table, factor=1):
        return len(table) * factor

    forms = []
    for slot, factor in ((1.0, 1), (0.5, 1), (1.0, 2)):
        counted.__defaults__ = (factor,)
        program = dt.Program(counted, ["x"], bounds=(0, 100), executor="trusted", settings={"slot": slot})
        forms.append(session.plan(program, epsilon=1.0).asked)
    assert forms[0] != forms[1]
    assert forms[0] != forms[2]
