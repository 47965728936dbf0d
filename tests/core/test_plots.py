"""Pictures of every kind of release can be drawn, and keep their labels readable."""

import datetime

import numpy as np
import pytest

import dither as dt
from dither.plots import _tick
from dither.privacy import Loss, Neighbours
from dither.release import Release, Releases


def release(value, interval=None, query="median of pay", **more):
    """A release with made-up numbers."""
    return Release(value, interval, 0.95, Loss(1.0), Neighbours.CHANGE_ONE, query, "inverse", "none", **more)


KINDS = {
    "one": release(5.0, (4.0, 6.0)),
    "no bar": release(5.0),
    "several": release((1.0, 2.0), ((0.5, 1.5), (1.5, 2.5)), labels=("0.1", "0.9")),
    "date": release(datetime.date(2020, 2, 2), (datetime.date(2020, 1, 1), datetime.date(2020, 3, 1))),
    "refused": release(None, reason="the test did not pass: a few records might change the answer"),
    "text": release("nurse"),
    "points": release(((1.0, 2.0), (3.0, 4.0)), labels=("centre 1", "centre 2"), query="kmeans"),
    "bins": release(
        tuple(range(30)),
        tuple((k - 1, k + 1) for k in range(30)),
        query="histogram of pay",
        labels=tuple(f"{k} to {k + 1}" for k in range(30)),
    ),
    "names": release((5, 6), ((4, 6), (5, 7)), query="histogram", labels=("a rather long name of a category", "b")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn(kind, tmp_path):
    """A picture that is not empty."""
    KINDS[kind].plot().figure.savefig(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 3_000


def test_bins_have_few_labels_and_long_names_lie():
    """At most twelve labels below upright bars; names of categories beside lying ones."""
    assert len(KINDS["bins"].plot().get_xticks()) <= 12
    assert [text.get_text() for text in KINDS["names"].plot().get_yticklabels()][1] == "b"


def test_labels_of_dates_do_not_overlap():
    """Few ticks, whatever the range."""
    assert len(KINDS["date"].plot().get_xticks()) <= 8


def test_a_refusal_says_why():
    """The public reason stands in the picture."""
    assert "the test did not pass" in KINDS["refused"].plot().texts[0].get_text()


def test_groups_of_several_questions_have_a_panel_each():
    """With its own scale."""
    groups = [release(k, (k - 1, k + 1), query=q, group={"job": k}) for q in ("a", "b") for k in (1, 2)]
    assert len(Releases(groups, Loss(1.0)).plot().figure.axes) == 2


def test_numbers_on_axes_are_short():
    """Millions are counted, not written out."""
    assert (_tick(2.5e9), _tick(150_000), _tick(0.5)) == ("2,500 M", "150,000", "0.5")


def test_real_releases_too():
    """A histogram from records."""
    axes = dt.histogram(np.arange(100), edges=[0, 50, 100], epsilon=1.0).plot()
    assert len(axes.patches) == 2
