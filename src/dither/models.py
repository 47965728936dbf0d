"""Models fitted to private records: linear regression.

Nothing needs bounds.  What an answer costs, how records are cut into blocks and how many of them are needed at least is
decided from public facts before anything is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dither.errors import InvalidArgument, NotApplicable
from dither.privacy import Loss, Neighbours, fraction_of_unit
from dither.procedures.block_fits import Sample
from dither.procedures.cell_regression import plan_robust
from dither.procedures.regression import Model, RegressionPlan, plan_blocks, plan_shortcut
from dither.release import Release
from dither.sources.column import as_array, columns_of

METHODS = ("auto", "shortcut", "robust")
MOST_FEATURES = 50


def regression(
    X: Any,
    y: Any,
    *,
    method: Any = "auto",
    intercept: bool = True,
    block_size: int | None = None,
    constants: Any = "exact",
    epsilon: Any,
    delta: Any = 0.0,
    confidence: Any = 0.95,
) -> Release:
    """The coefficients of a linear regression of ``y`` on the columns of ``X``; neighbours change one record.

    X: one column, a two-dimensional array, a frame, or a mapping of names to columns.  No bounds are needed.  Records
        with a missing or infinite entry are left out.
    method: "auto" takes the middle of robust fits of random blocks (pure: delta is left unspent; gross outliers in a
        minority of the records do little harm).  "shortcut" is DL09's R_S and "robust" its R_H (for at most two
        coefficients); both need delta > 0 and may refuse, which is paid for.
    intercept: whether there is a constant term; it comes first in the answer.
    block_size: records per block, by default from a public rule; at least the number of coefficients.
    constants: "paper" gives DL09's own algorithms for "shortcut" and "robust"; epsilon is still the whole price.
    confidence: of the error bars, which are paid for out of epsilon by "auto".  Its bars cover the centre of the law
        of a block's fit, sampling error included; those of the other methods cover the answer without noise.

    Columns that are constant or collinear in most blocks give a refusal: that they are is no public fact.

    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 20_000)
    >>> release = regression(x, 2 * x + 1 + 0.1 * np.sin(1e5 * x), epsilon=2.0)
    >>> release.labels
    ('intercept', 'x1')
    >>> abs(release.value[1] - 2) < 0.1
    True
    """
    query = Regression(method=method, intercept=intercept, block_size=block_size, constants=constants)
    return query.answer(X, y, epsilon=epsilon, delta=delta, confidence=confidence)


@dataclass(frozen=True)
class Regression:
    """A linear regression as a question: of the column ``target`` on the columns ``features`` (all others if None)."""

    target: str | None = None
    features: Sequence[str] | None = None
    method: Any = field(default="auto", kw_only=True)
    intercept: bool = field(default=True, kw_only=True)
    block_size: int | None = field(default=None, kw_only=True)
    constants: Any = field(default="exact", kw_only=True)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InvalidArgument("method", self.method, f"{', '.join(map(repr, METHODS))} is accepted")
        if self.constants not in ("exact", "paper"):
            raise InvalidArgument("constants", self.constants, '"exact" or "paper" is accepted')
        if self.constants == "paper" and self.method == "auto":
            raise NotApplicable("constants", "paper", "no paper has this method", '"shortcut" or "robust" as method')
        if not isinstance(self.intercept, bool):
            raise InvalidArgument("intercept", self.intercept, "True or False is accepted")

    @property
    def label(self) -> str:
        """How a release names the question."""
        return "regression" if self.target is None else f"regression of {self.target}"

    def plan(self, model: Model, loss: Loss, miss: Fraction | None) -> RegressionPlan:
        """The algorithm and its price, from public facts alone."""
        if self.method == "auto":
            return plan_blocks(model, loss, miss, self.block_size)
        if loss.is_pure:
            raise InvalidArgument("delta", loss.delta, f"method={self.method!r} needs a test, which takes delta > 0")
        if self.method == "robust":
            return plan_robust(model, loss, miss, self.block_size, self.constants)
        return plan_shortcut(model, loss, miss, self.block_size, self.constants)

    def ask(self, data: Any, *, epsilon: Any, delta: Any = 0.0, confidence: Any = 0.95) -> Release:
        """Ask it of a frame or a mapping of names to columns, or of a pair (X, y)."""
        if isinstance(data, tuple) and len(data) == 2:
            return self.answer(*data, epsilon=epsilon, delta=delta, confidence=confidence)
        data = _by_name(data)
        if not isinstance(data, Mapping) and not hasattr(data, "columns"):
            raise InvalidArgument("data", type(data), "a frame, a mapping of names to columns, or (X, y) is accepted")
        names = [str(name) for name in (data if isinstance(data, Mapping) else data.columns)]
        if self.target is None or self.target not in names:
            raise InvalidArgument("target", self.target, "the name of a column of the data is accepted")
        chosen = [name for name in names if name != self.target] if self.features is None else list(self.features)
        for name in chosen:
            if name not in names or name == self.target:
                raise InvalidArgument("features", name, "names of columns other than the target are accepted")
        X = {name: data[name] for name in chosen}
        return self.answer(X, data[self.target], epsilon=epsilon, delta=delta, confidence=confidence)

    def answer(self, X: Any, y: Any, *, epsilon: Any, delta: Any = 0.0, confidence: Any = 0.95) -> Release:
        """Ask it of features and a response."""
        columns, names = _columns(X)
        response = as_array(y, "y")
        if len(response) != len(columns[0]):
            raise InvalidArgument("y", f"{len(response)} records", f"as many as in X, {len(columns[0])}, are accepted")
        loss = Loss.asked(epsilon, delta)
        miss = None if confidence is None else 1 - fraction_of_unit("confidence", confidence)
        plan = self.plan(Model(len(response), len(columns), self.intercept), loss, miss)
        if not plan.composition.fits(plan.loss):
            raise RuntimeError("the parts of a plan cost more than the whole")
        fit = plan.run(Sample(np.column_stack([_floats(column) for column in columns]), _floats(response)))
        return Release(
            value=fit.values,
            interval=fit.intervals,
            confidence=None if confidence is None else float(confidence),
            loss=plan.loss,
            neighbours=Neighbours.CHANGE_ONE,
            query=self.label,
            mechanism=plan.name,
            noise=plan.noise,
            labels=("intercept", *names) if self.intercept else names,
            reason=fit.refused_at,
        )


def _columns(X: Any) -> tuple[list[Any], tuple[str, ...]]:
    """The columns of X and their names: public shapes and types only."""
    X = _by_name(X)
    one = not isinstance(X, Mapping) and not hasattr(X, "columns")
    if one and (getattr(X, "ndim", None) == 1 or (isinstance(X, Sequence) and not _nested(X))):
        columns = [as_array(X, "X")]
    else:
        columns = columns_of(X, "X") if not isinstance(X, Mapping) or X else []
    if not 1 <= len(columns) <= MOST_FEATURES:
        raise InvalidArgument("X", f"{len(columns)} columns", f"from 1 to {MOST_FEATURES} columns are accepted")
    named = [] if one else list(X if isinstance(X, Mapping) else X.columns)
    return columns, tuple(str(name) for name in named) or tuple(f"x{j + 1}" for j in range(len(columns)))


def _by_name(data: Any) -> Any:
    """An Arrow table as a mapping: its ``columns`` are data, not names."""
    return {name: data[name] for name in data.column_names} if hasattr(data, "column_names") else data


def _nested(X: Sequence[Any]) -> bool:
    return len(X) > 0 and hasattr(X[0], "__len__")


def _floats(column: Any) -> Any:
    """A column as floats, NaN where an entry is missing."""
    real = column.astype(np.float64)
    return np.asarray(real.filled(np.nan) if isinstance(real, np.ma.MaskedArray) else real)
