"""Private estimators with the conventions of scikit-learn: parameters in the constructor, ``fit``, ``predict``.

Each ``fit`` is one query of this library and one privacy loss, ``loss_``; what an estimator keeps, prints and pickles
is what was released, and never a record.  Shapes and types are public and may raise errors; what an entry is may not:
one that is missing or no number counts as the middle of its bounds (without bounds its record is left out), and the
release says so.  ``predict``, ``transform`` and ``score`` compute
with the records that they are given, and what they return about those is not private.

There is no ``random_state``: noise that can be repeated protects nobody.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from dither.api import ask
from dither.errors import InvalidArgument
from dither.kernels.elementary import Floats
from dither.procedures.space import Space
from dither.queries import clusters, regression
from dither.queries.vectors import MeanVector
from dither.sources.column import as_array, columns_of, count_of, floats_of, row_length
from dither.sources.entries import is_missing
from dither.sources.frames import is_table

try:
    from scipy.sparse import issparse
    from sklearn.base import BaseEstimator, ClusterMixin, OneToOneFeatureMixin, RegressorMixin, TransformerMixin
    from sklearn.exceptions import DataConversionWarning
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    needed = "dither.sklearn needs scikit-learn 1.6 or later: pip install 'dither[sklearn]'"
    raise ModuleNotFoundError(needed, name="sklearn") from error

if TYPE_CHECKING:
    from typing import Self, TypeAlias

    from sklearn.utils import Tags

    from dither.privacy import Loss
    from dither.queries.regression import Method
    from dither.release import Release
    from dither.typing import Array, Bounds, Column, Columns, Corners, EachBounds, Intervals, Number, Numbers, Points

    # What scikit-learn's classes offer, which have no types.
    class _Base:
        n_features_in_: int

        def __sklearn_tags__(self) -> Tags: ...
        def get_params(self, deep: bool = True) -> dict[str, Parameter]: ...
        def set_params(self, **parameters: Parameter) -> Self: ...

    class _Regressor:
        def score(self, X: Columns, y: Column, sample_weight: Column | None = None) -> float: ...

    class _Transformer:
        def fit_transform(self, X: Columns, y: Column | None = None) -> Array: ...

    class _SameColumns:
        def get_feature_names_out(self, input_features: Columns | None = None) -> Array: ...

    class _Clusters: ...

    Parameter: TypeAlias = str | bool | int | float | Number | EachBounds | None
    """A parameter of an estimator."""
else:
    _Base, _Regressor, _Clusters = BaseEstimator, RegressorMixin, ClusterMixin
    _Transformer, _SameColumns = TransformerMixin, OneToOneFeatureMixin

__all__ = ["LinearRegression", "KMeans", "GaussianMixture", "StandardScaler"]
NO_ANSWER = "this estimator has no answer, because its fit was refused ({reason}) and paid for"
MOST_ENTRIES = 50_000_000
"""Products of columns that are held in memory at once, one for each record and pair of columns."""


class PrivateEstimator(_Base):
    """What all estimators here share: the reading of records, by shape and type alone, and the release."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.non_deterministic = True
        return tags

    @property
    def loss_(self) -> Loss:
        """The whole privacy loss of the last fit."""
        check_is_fitted(self, "release_")
        return self._released.loss

    @property
    def _released(self) -> Release:
        return cast("Release", vars(self)["release_"])

    def _rows(self, X: Columns, *, fitting: bool, bounds: EachBounds | None = None) -> Floats:
        """The records as floats, NaN where one is missing; refuses by shape and type."""
        if not fitting:
            check_is_fitted(self, "release_")
            if self._released.refused:
                raise InvalidArgument("X", type(X), NO_ANSWER.format(reason=self._released.reason))
        if issparse(X):
            raise TypeError("Sparse data was passed, and only dense data is read: use X.toarray()")
        if not is_table(X) and hasattr(X, "__array__"):
            X = np.asarray(X)
        if isinstance(X, np.ndarray):
            _check_array(X)
        count = count_of(bounds)
        if isinstance(X, Sequence) and X and count is None and not row_length(X[0]):
            if isinstance(X[0], (int, float, np.number)) and not is_missing(X[0]):
                raise ValueError(
                    "Expected 2D array, got a list of numbers. Reshape your data: one list for each record"
                )
            count = 1  # (what is missing says no number of columns, and raises no error)
        rows = np.column_stack([floats_of(item) for item in columns_of(X, "X", count)])
        named = is_table(X) and not isinstance(X, Mapping)
        validate_data(self, X if named else rows, reset=fitting, skip_check_array=True)
        return rows


def _check_array(X: Array) -> None:
    """What scikit-learn says of arrays that are no table: by shape and type."""
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: pass real and imaginary parts as columns")
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead. Reshape your data: X.reshape(-1, 1)")
    for count, name in zip(X.shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise ValueError(f"Found array with 0 {name}(s) (shape={X.shape}) while a minimum of 1 is required.")


def _space(bounds: EachBounds | None, dimensions: int, name: str = "bounds") -> Space:
    """The public range of each column."""
    if bounds is None:
        rule = f"pass {name}=(low, high), or a pair for each column: ranges that you know without looking at the data"
        raise InvalidArgument(name, None, rule)
    return Space.between(clusters.bound_pairs(bounds, dimensions))


def _centred(rows: Floats, space: Space) -> Floats:
    """Columns in half widths around the middle of their bounds, within [-1, 1]; a missing entry is 0."""
    centred: Floats = 2.0 * space.to_cube(rows) - 1.0
    return centred


def _response(y: Column | None, records: int) -> Floats:
    """The response as floats, NaN where it is missing."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if not isinstance(y, np.ndarray) and not hasattr(y, "dtype") and hasattr(y, "__array__"):
        y = np.asarray(y)
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:  # type: ignore[union-attr]  # (it has two dimensions)
        text = "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,)"
        warnings.warn(text, DataConversionWarning, stacklevel=3)
        y = np.asarray(y)[:, 0]
    numbers = floats_of(as_array(y, "y"))
    if len(numbers) != records:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{records}, {len(numbers)}]")
    return numbers


_SCALED = "intervals cover the means of records scaled to [-1, 1]"
"""What the intervals of moments are about."""


def _of_moments(
    release: Release[Numbers, Intervals], query: str, labels: Sequence[str], *spaces: Space
) -> Release[Numbers, Intervals]:
    """A release of moments that says what they were computed for, and from which records."""
    pairs = [pair for space in spaces for pair in zip(space.low, space.high, strict=True)]
    return dataclasses.replace(
        release,
        query=query,
        labels=tuple(labels),
        missing=clusters.middles_of(pairs),
        clamped=clusters.one_or_each(pairs),
    )


def _reach(release: Release[Numbers, Intervals]) -> float:
    """How far the noise of a release reaches: half of its widest interval, which is public."""
    return max((high - low) / 2.0 for low, high in release.interval or ())


class LinearRegression(_Regressor, PrivateEstimator):
    """A linear regression.

    bounds, y_bounds: the public ranges of the columns of X (one pair for all, or one for each) and of y; values outside
        are clamped.  With both: least squares, from one noisy vector of means of products, at any number of records;
        ``delta`` above 0 has less noise.  Where the noise exceeds the least variance, a ridge as large as the
        difference keeps the coefficients finite.  With neither: ``dither.Regression`` with its ``method``, which needs
        no bounds, withstands outliers, and needs thousands of records; it is not least squares.
    fit_intercept: whether there is a constant.
    epsilon, delta: the whole privacy loss of a fit.

    After ``fit``: ``coef_``, ``intercept_``, ``release_``, ``loss_``.

    >>> import numpy as np
    >>> x = np.linspace(0, 10, 5_000)
    >>> model = LinearRegression(bounds=(0, 10), y_bounds=(0, 40), epsilon=2.0, delta=1e-6).fit(x[:, None], 3 * x + 5)
    >>> bool(18 < model.predict([[5.0]])[0] < 22)
    True
    """

    coef_: Floats
    intercept_: float
    release_: Release[Numbers, Intervals]

    def __init__(
        self,
        *,
        bounds: EachBounds | None = None,
        y_bounds: Bounds | None = None,
        epsilon: Number = 1.0,
        delta: Number = 0.0,
        fit_intercept: bool = True,
        method: Method = "auto",
    ) -> None:
        self.bounds = bounds
        self.y_bounds = y_bounds
        self.epsilon = epsilon
        self.delta = delta
        self.fit_intercept = fit_intercept
        self.method = method

    def fit(self, X: Columns, y: Column | None = None) -> Self:
        """One release of the coefficients."""
        rows = self._rows(X, fitting=True, bounds=self.bounds)
        response = _response(y, len(rows))
        if self.bounds is None and self.y_bounds is None:
            self._fit_blocks(rows, response)
        else:
            self._fit_moments(rows, response)
        return self

    def predict(self, X: Columns) -> Floats:
        """The response at each record of X; a missing entry counts as the middle of its bounds, else gives NaN."""
        rows = self._rows(X, fitting=False)
        if self.bounds is not None:
            space = _space(self.bounds, rows.shape[1])
            rows = np.where(np.isnan(rows), (np.array(space.low) + np.array(space.high)) / 2.0, rows)
        with np.errstate(all="ignore"):
            answers: Floats = rows @ self.coef_ + self.intercept_
        return answers

    def _fit_blocks(self, rows: Floats, response: Floats) -> None:
        query = regression.Regression(method=self.method, intercept=self.fit_intercept)
        data = (rows, response)
        self.release_ = ask(query, data, epsilon=self.epsilon, delta=self.delta, confidence=None)
        if self.release_.value is not None:
            result = np.array(self.release_.value)
            self.coef_ = result[1:] if self.fit_intercept else result
            self.intercept_ = float(result[0]) if self.fit_intercept else 0.0

    def _fit_moments(self, rows: Floats, response: Floats) -> None:
        if self.method != "auto":
            raise InvalidArgument(
                "method", self.method, "is for fits without bounds: leave it out, or leave out bounds"
            )
        width = rows.shape[1]
        space, scale = _space(self.bounds, width), _space(self.y_bounds, 1, "y_bounds")
        first, second = np.triu_indices(width)
        if len(rows) * (len(first) + 2 * width + 1) > MOST_ENTRIES:
            raise InvalidArgument("X", rows.shape, f"must have at most {MOST_ENTRIES:,} products of two columns")
        # Without an intercept the line passes through the origin of the data, not through the middle of the bounds.
        x, z = _centred(rows, space), _centred(response[:, None], scale)
        if not self.fit_intercept:
            x, z = _from_origin(x, space), _from_origin(z, scale)
        moments = np.column_stack([x, z, x[:, first] * x[:, second], x * z])
        squares = [(0, 1) if j == k else (-1, 1) for j, k in zip(first, second, strict=True)]
        pairs = [(-1, 1)] * (width + 1) + squares + [(-1, 1)] * width
        query = MeanVector(bounds=pairs)
        names = [*_names(width), "y"]
        labels = [*names, *(f"{names[j]} {names[k]}" for j, k in zip(first, second, strict=True))]
        labels += [f"{name} y" for name in names[:-1]]
        about = f"regression ({regression.ESTIMATORS['ols']}; {_SCALED})"
        answer = ask(query, moments, epsilon=self.epsilon, delta=self.delta)
        self.release_ = _of_moments(answer, about, labels, space, scale)
        result = np.array(self.release_.value)
        means, rest = result[: width + 1] * self.fit_intercept, result[width + 1 :]
        products = np.zeros((width, width))
        products[first, second] = products[second, first] = rest[: len(first)]
        products -= np.outer(means[:-1], means[:-1])
        ridge = max(0.0, _reach(self.release_) * np.sqrt(width) - float(np.linalg.eigvalsh(products)[0]))
        slopes = np.linalg.solve(products + ridge * np.eye(width), rest[len(first) :] - means[:-1] * means[-1])
        unit, middle = _unit(scale, centred=self.fit_intercept)
        units, middles = _unit(space, centred=self.fit_intercept)
        self.coef_ = slopes * unit[0] / units
        centre = means[-1] - slopes @ means[:-1]
        self.intercept_ = float(middle[0] + unit[0] * centre - self.coef_ @ middles) if self.fit_intercept else 0.0


def _names(width: int) -> list[str]:
    """What releases call the columns of X."""
    return [f"x{place}" for place in range(1, width + 1)]


def _unit(space: Space, *, centred: bool) -> tuple[Floats, Floats]:
    """What 1 and 0 are in the columns' own units, around the middle of the bounds or around the origin."""
    low, high = np.array(space.low), np.array(space.high)
    if centred:
        return (high - low) / 2.0, (high + low) / 2.0
    return np.maximum(np.abs(low), np.abs(high)), np.zeros(len(low))


def _from_origin(centred: Floats, space: Space) -> Floats:
    """The same values in parts of the largest magnitude within the bounds."""
    half, middle = _unit(space, centred=True)
    within: Floats = np.clip((centred * half + middle) / _unit(space, centred=False)[0], -1.0, 1.0)
    return within


class KMeansEstimator(_Clusters, PrivateEstimator):
    """Centres of clusters, found privately (``dither.KMeans``); imported as ``dither.sklearn.KMeans``.

    n_clusters: how many are looked for; those that too few people are near are not found, and left out.
    bounds: the public range of the columns, one pair for all or one for each; distances are in parts of them.
    epsilon, delta: the whole privacy loss of a fit; delta must be above 0.

    After ``fit``: ``cluster_centers_``, ``release_``, ``loss_``.  There is no ``labels_``: which cluster a record is in
    would be kept for each; ``predict`` computes it.

    >>> import numpy as np
    >>> points = np.repeat([[0.0, 0.0], [9.0, 9.0]], 3_000, axis=0)
    >>> model = KMeans(2, bounds=(0, 10), epsilon=2.0).fit(points)
    >>> model.predict([[1, 1], [8, 8]]).tolist() in ([0, 1], [1, 0])
    True
    """

    cluster_centers_: Floats
    release_: Release[Points, Corners]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        bounds: EachBounds | None = None,
        epsilon: Number = 1.0,
        delta: Number = 1e-6,
    ) -> None:
        self.n_clusters = n_clusters
        self.bounds = bounds
        self.epsilon = epsilon
        self.delta = delta

    def fit(self, X: Columns, y: Column | None = None) -> Self:  # noqa: ARG002
        """One release of the centres."""
        rows = self._rows(X, fitting=True, bounds=self.bounds)
        _space(self.bounds, rows.shape[1])
        query = clusters.KMeans(k=self.n_clusters, bounds=self.bounds)
        self.release_ = ask(query, rows, epsilon=self.epsilon, delta=self.delta)
        self.cluster_centers_ = np.array(self.release_.value or ()).reshape(-1, rows.shape[1])
        return self

    def predict(self, X: Columns) -> Array:
        """The place of the nearest centre in ``cluster_centers_``, for each record of X."""
        rows = self._rows(X, fitting=False, bounds=self.bounds)
        space = _space(self.bounds, rows.shape[1])
        points, centres = space.to_cube(rows), space.to_cube(self.cluster_centers_)
        apart = np.stack([np.sum((points - centre) ** 2, axis=1) for centre in centres], axis=1)
        return np.asarray(np.argmin(apart, axis=1))

    def fit_predict(self, X: Columns, y: Column | None = None) -> Array:
        """``fit``, and then ``predict`` of the same records."""
        return self.fit(X, y).predict(X)


class GaussianMixtureEstimator(PrivateEstimator):
    """A mixture of Gaussians, found privately (``dither.GaussianMixture``); here ``dither.sklearn.GaussianMixture``.

    Components are spherical in parts of the columns' bounds.

    n_components: how many are looked for; those that too few people are near are not found, and left out.
    bounds, epsilon, delta: as for ``KMeans``.

    After ``fit``: ``means_``, ``weights_``, ``covariances_`` (the variance of each column in each component),
    ``release_``, ``loss_``.

    >>> import numpy as np
    >>> points = np.repeat([[1.0, 1.0], [9.0, 9.0]], 3_000, axis=0)
    >>> GaussianMixture(2, bounds=(0, 10), epsilon=2.0).fit(points).means_.shape
    (2, 2)
    """

    means_: Floats
    weights_: Floats
    covariances_: Floats
    release_: Release[Points, Corners]

    def __init__(
        self,
        n_components: int = 1,
        *,
        bounds: EachBounds | None = None,
        epsilon: Number = 1.0,
        delta: Number = 1e-6,
    ) -> None:
        self.n_components = n_components
        self.bounds = bounds
        self.epsilon = epsilon
        self.delta = delta

    def fit(self, X: Columns, y: Column | None = None) -> Self:  # noqa: ARG002
        """One release of all components."""
        rows = self._rows(X, fitting=True, bounds=self.bounds)
        space = _space(self.bounds, rows.shape[1])
        query = clusters.GaussianMixture(k=self.n_components, bounds=self.bounds)
        self.release_ = ask(query, rows, epsilon=self.epsilon, delta=self.delta)
        result = np.array(self.release_.value or ()).reshape(-1, rows.shape[1] + 2)
        self.means_, self.weights_ = result[:, :-2], result[:, -2]
        self.covariances_ = (result[:, -1:] / space.width * space.widths) ** 2
        return self

    def _logs(self, X: Columns) -> Floats:
        """The logarithm of each component's part of the density at each record."""
        rows = self._rows(X, fitting=False, bounds=self.bounds)
        points = _space(self.bounds, rows.shape[1]).within(rows)
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights_) - 0.5 * np.log(2.0 * np.pi * self.covariances_).sum(axis=1)
        squares = [
            np.sum((points - mean) ** 2 / variances, axis=1)
            for mean, variances in zip(self.means_, self.covariances_, strict=True)
        ]
        parts: Floats = logs - 0.5 * np.stack(squares, axis=1)
        return parts

    def predict(self, X: Columns) -> Array:
        """The likeliest component of each record of X."""
        return np.asarray(np.argmax(self._logs(X), axis=1))

    def predict_proba(self, X: Columns) -> Floats:
        """How likely each record of X comes from each component."""
        logs = self._logs(X)
        parts = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares: Floats = parts / parts.sum(axis=1, keepdims=True)
        return shares

    def fit_predict(self, X: Columns, y: Column | None = None) -> Array:
        """``fit``, and then ``predict`` of the same records."""
        return self.fit(X, y).predict(X)

    def score_samples(self, X: Columns) -> Floats:
        """The logarithm of the density at each record of X: not private."""
        logs = self._logs(X)
        largest = logs.max(axis=1)
        densities: Floats = largest + np.log(np.exp(logs - largest[:, None]).sum(axis=1))
        return densities

    def score(self, X: Columns, y: Column | None = None) -> float:  # noqa: ARG002
        """The mean of ``score_samples``: not private."""
        return float(self.score_samples(X).mean())


class StandardScaler(_SameColumns, _Transformer, PrivateEstimator):
    """Columns without their mean, in units of their standard deviation, both from private moments.

    bounds: the public range of the columns, one pair for all or one for each; values outside are clamped.
    with_mean, with_std: whether to subtract the mean, and to divide by the standard deviation.
    epsilon, delta: the whole privacy loss of a fit; ``delta`` above 0 has less noise where there are many columns.

    After ``fit``: ``mean_``, ``var_``, ``scale_``, ``release_``, ``loss_``.  A variance that is not above its noise
    counts as none: that column is not divided.

    >>> import numpy as np
    >>> ages = np.linspace(20, 80, 6_000)[:, None]
    >>> scaler = StandardScaler(bounds=(0, 120), epsilon=1.0).fit(ages)
    >>> bool(abs(scaler.transform(ages).mean()) < 0.5)
    True
    """

    mean_: Floats
    var_: Floats
    scale_: Floats
    release_: Release[Numbers, Intervals]

    def __init__(
        self,
        *,
        bounds: EachBounds | None = None,
        epsilon: Number = 1.0,
        delta: Number = 0.0,
        with_mean: bool = True,
        with_std: bool = True,
    ) -> None:
        self.bounds = bounds
        self.epsilon = epsilon
        self.delta = delta
        self.with_mean = with_mean
        self.with_std = with_std

    def fit(self, X: Columns, y: Column | None = None) -> Self:  # noqa: ARG002
        """One release of the first two moments of all columns."""
        rows = self._rows(X, fitting=True, bounds=self.bounds)
        width = rows.shape[1]
        space = _space(self.bounds, width)
        centred = _centred(rows, space)
        query = MeanVector(bounds=[(-1, 1)] * width + [(0, 1)] * width)
        data = np.column_stack([centred, centred**2])
        labels = [f"{name}{power}" for power in ("", " squared") for name in _names(width)]
        answer = ask(query, data, epsilon=self.epsilon, delta=self.delta)
        self.release_ = _of_moments(answer, f"moments of columns ({_SCALED})", labels, space)
        result = np.array(self.release_.value)
        unit, middle = _unit(space, centred=True)
        spread = result[width:] - result[:width] ** 2
        self.mean_ = middle + unit * result[:width]
        self.var_ = unit**2 * np.clip(spread, 0.0, 1.0)
        self.scale_ = np.where(spread > _reach(self.release_), np.sqrt(self.var_), 1.0)
        return self

    def transform(self, X: Columns) -> Floats:
        """The records of X, scaled; missing entries stay missing."""
        rows = self._rows(X, fitting=False, bounds=self.bounds)
        moved = rows - self.mean_ if self.with_mean else rows
        scaled: Floats = moved / self.scale_ if self.with_std else moved
        return scaled

    def inverse_transform(self, X: Columns) -> Floats:
        """The records that ``transform`` gives X for."""
        rows = self._rows(X, fitting=False, bounds=self.bounds)
        spread = rows * self.scale_ if self.with_std else rows
        moved: Floats = spread + self.mean_ if self.with_mean else spread
        return moved


KMeans = KMeansEstimator
GaussianMixture = GaussianMixtureEstimator
