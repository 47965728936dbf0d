"""kmeans and gaussian_mixture from outside: kinds of input, what a release says, and bad input."""

import numpy as np
import pandas as pd
import pytest

import dither as dt
from dither.queries.plan import Options

POINTS = np.vstack([np.full((4000, 2), 0.25), np.full((4000, 2), 0.75)]) + np.linspace(-0.02, 0.02, 16_000).reshape(
    -1, 2
)
PRICE = {"epsilon": 2.0, "delta": 1e-6}


def test_a_release_of_centres():
    """k tuples of d numbers, in order, with labels; all of the price is spent."""
    release = dt.kmeans(POINTS, k=2, bounds=(0, 1), **PRICE)
    assert np.array(release.value).shape == (2, 2)
    assert list(release.value) == sorted(release.value)
    assert release.labels == ("centre 1", "centre 2")
    assert release.loss == dt.Loss(2.0, 1e-6)
    assert release.neighbours is dt.Neighbours.CHANGE_ONE
    assert release.noise == "gaussian"
    assert "kmeans" in repr(release)
    assert dt.Release.from_dict(release.to_dict()) == release
    assert release._repr_html_().startswith("<div>")
    for centre, (low, high) in zip(release.value, release.interval, strict=True):
        assert all(a <= x <= b for a, x, b in zip(low, centre, high, strict=True))
    assert dt.kmeans(POINTS, k=2, bounds=(0, 1), confidence=None, **PRICE).interval is None


def test_plots():
    """Centres on a plane and on a line."""
    assert dt.kmeans(POINTS, k=2, bounds=(0, 1), **PRICE).plot() is not None
    assert dt.kmeans(POINTS[:, :1], k=2, bounds=(0, 1), **PRICE).plot() is not None


def test_a_release_of_components():
    """Coordinates, a share and a deviation each; shares sum to one."""
    release = dt.gaussian_mixture(POINTS, k=2, bounds=[(0, 1), (0, 1)], **PRICE)
    assert np.array(release.value).shape == (2, 4)
    assert sum(row[2] for row in release.value) == pytest.approx(1)
    assert release.labels == ("component 1", "component 2")


def test_frames_mappings_and_named_columns():
    """Whatever holds columns; missing entries count as the middle."""
    frame = pd.DataFrame({"a": POINTS[:, 0], "b": POINTS[:, 1], "c": "text"})
    frame.loc[0, "a"] = np.nan
    question = dt.KMeans(["a", "b"], k=2, bounds=(0, 1))
    release = dt.ask(question, frame, **PRICE)
    assert np.abs(np.array(release.value) - [[0.25, 0.25], [0.75, 0.75]]).max() < 0.1
    assert release.query == "kmeans of a, b"
    assert not dt.ask(dt.GaussianMixture(k=1, bounds=(0, 1)), {"a": POINTS[:, 0]}, **PRICE).refused


@pytest.mark.parametrize("ask", [dt.kmeans, dt.gaussian_mixture])
@pytest.mark.parametrize(
    ("argument", "changes"),
    [
        ("k", {"k": 0}),
        ("k", {"k": 101}),
        ("k", {"k": 2.5}),
        ("k", {"k": 20, "points": POINTS[:10]}),
        ("bounds", {"bounds": None}),
        ("bounds", {"bounds": (1, 0)}),
        ("bounds", {"bounds": [(0, 1)] * 3}),
        ("bounds", {"bounds": (0, float("inf"))}),
        ("bounds", {"bounds": "ab"}),
        ("blocks", {"blocks": 5000}),
        ("blocks", {"blocks": 3}),
        ("blocks", {"blocks": -1}),
        ("blocks", {"blocks": "many"}),
        ("delta", {"delta": 0.0}),
        ("epsilon", {"epsilon": 0}),
        ("confidence", {"confidence": 1.5}),
        ("points", {"points": np.zeros((10, 300))}),
    ],
)
def test_bad_input(ask, argument, changes):
    """Errors name the argument; none of them looks at a point."""
    given = {"points": POINTS, "k": 2, "bounds": (0, 1), **PRICE, **changes}
    points = given.pop("points")
    with pytest.raises(dt.InvalidArgument) as caught:
        ask(points, **given)
    assert caught.value.argument == argument


def test_unknown_columns():
    """A column that is not there is named."""
    with pytest.raises(dt.InvalidArgument, match="'z'"):
        dt.ask(dt.KMeans(["z"], k=2, bounds=(0, 1)), {"a": POINTS[:, 0]}, **PRICE)


def test_bounds_are_not_optional():
    """There is no default for bounds."""
    with pytest.raises(TypeError, match="bounds"):
        dt.kmeans(POINTS, k=2, **PRICE)


@pytest.mark.parametrize(
    "query", [dt.KMeans(["a", "b"], k=2), dt.GaussianMixture(["a", "b"], k=2)], ids=["k", "mixture"]
)
def test_a_quote_and_its_release_name_the_same_mechanism(query):
    """Also where only the run decides from where the passes begin."""
    columns = {"a": dt.Real(0, 1), "b": dt.Real(0, 1)}
    for points in (POINTS, POINTS[::40]):
        data = {"a": points[:, 0], "b": points[:, 1]}
        session = dt.open(data, columns=columns, rows=len(points), budget=dt.Budget(10.0, 1e-4))
        assert session.ask(query, **PRICE).mechanism == session.quote(query, **PRICE).mechanism == "private passes"


def test_few_points_go_without_a_certificate():
    """A public decision: two hundred points cannot be certified, but they are answered."""
    release = dt.kmeans(POINTS[::40], k=2, bounds=(0, 1), **PRICE)
    query = dt.KMeans(k=2, bounds=(0, 1))
    assert query.plan(query.shape(POINTS[::40]), Options.asked(**PRICE)).procedure.average is None
    assert np.isfinite(np.array(release.value)).all()


def test_a_single_centre():
    """k = 1: the mean."""
    release = dt.kmeans(POINTS, k=1, bounds=(0, 1), **PRICE)
    assert np.abs(np.array(release.value) - 0.5).max() < 0.05


def test_identical_points():
    """All in one place, for k = 2: an answer within the bounds."""
    release = dt.gaussian_mixture(np.full((8000, 2), 0.3), k=2, bounds=(0, 1), **PRICE)
    numbers = np.array(release.value)
    assert np.isfinite(numbers).all()
    assert ((numbers[:, :2] >= 0) & (numbers[:, :2] <= 1)).all()


def test_releases_about_points_say_what_missing_coordinates_count_as():
    """The middle of the bounds of each; nothing where the type has no missing values."""
    points = np.tile([[20.0, 30_000.0], [80.0, 90_000.0]], (2_000, 1))
    bounds, options = [(0, 100), (0, 200_000)], {"epsilon": 2.0, "delta": 1e-6}
    assert dt.kmeans(points, k=2, bounds=bounds, **options).missing == (50.0, 100_000.0)
    assert dt.kmeans_cost(points, centres=[[20, 30_000]], bounds=bounds, epsilon=1.0).missing == (50.0, 100_000.0)
    equal = dt.kmeans(points, k=2, bounds=(0, 200_000), **options)
    assert "missing values are not left out, they count as 100,000" in str(equal)
    assert dt.kmeans(points.astype(int), k=2, bounds=bounds, **options).missing is None


@pytest.mark.parametrize("function", [dt.kmeans, dt.gaussian_mixture])
def test_clusters_without_delta_say_which_is_needed(function):
    """As every other function that needs one."""
    with pytest.raises(dt.InvalidArgument, match=r"^delta must be above 0 .* such as 1e-6"):
        function(np.zeros((5_000, 2)), k=2, bounds=(0, 1), epsilon=1.0)
