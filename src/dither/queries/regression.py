"""Linear regression: DL09 sec. 6, without bounds, and least squares between bounds.

What an answer costs, how records are cut into blocks and how many of them are needed at least is decided from public
facts before anything is read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, cast, get_args

import numpy as np

from dither.errors import InvalidArgument, NotApplicable
from dither.mechanisms.mechanism import Prepared
from dither.privacy import LEFT_OUT, Loss, Neighbours
from dither.procedures.block_fits import RegressionRecords
from dither.procedures.cell_regression import plan_robust
from dither.procedures.joint_medians import plan_joint
from dither.procedures.least_squares import plan_moments
from dither.procedures.regression import RegressionFacts, RegressionPlan, plan_shortcut
from dither.queries.plan import Options, Plan, Result
from dither.queries.query import Query
from dither.queries.registry import DATES, NUMBERS, Menu, query
from dither.queries.unbounded import public_rows
from dither.queries.vectors import column_names, grids_between
from dither.release import Counted, IntervalName
from dither.sources.column import Shape, as_array, columns_of, count_of, floats_of, row_length
from dither.sources.entries import FAILURES
from dither.sources.frames import Scalar, named_columns
from dither.sources.grid import Grid
from dither.sources.schema import Schema
from dither.sources.types import Measured
from dither.typing import (
    Array,
    Bounds,
    Column,
    Columns,
    ConstantsName,
    Intervals,
    ModelData,
    Names,
    Numbers,
    SeveralBounds,
)

if TYPE_CHECKING:
    from dither.queries.tables import TableRecords

Method: TypeAlias = Literal["auto", "ols", "medians", "shortcut", "robust"]
METHODS: tuple[Method, ...] = get_args(Method)
ESTIMATORS: dict[Method, str] = {
    "ols": "least squares of records clamped to bounds, by noisy moments",
    "medians": "medians of robust fits of blocks, not least squares",
    "shortcut": "DL09's short cut by blocks, not least squares",
    "robust": "DL09's robust fit, not least squares",
}
"""What a release says of the estimator: where errors are skewed or grow with the features it is not least squares."""
COVERED: dict[IntervalName, str] = {
    "sample": "intervals cover its fit of these records without noise",
    "population": "intervals cover the centre of its fits in the population",
}
"""What a release says of its intervals, beside the estimator."""
MOST_FEATURES = 50


@dataclass(frozen=True)
class ModelFacts:
    """What is public about features and a response."""

    model: RegressionFacts
    labels: tuple[str, ...]
    private: bool = False
    rows_per_person: int = 1
    grids: tuple[Grid, ...] | None = None
    """Of the features and then of the response, for least squares."""

    @property
    def clamped(self) -> Counted:
        """The bounds to which least squares clamps records."""
        each = tuple((grid.value(grid.ends[0]), grid.value(grid.ends[1])) for grid in self.grids or ())
        return each[0] if len(set(each)) == 1 else each or None


@dataclass(frozen=True)
class FitPlan(Plan[RegressionRecords]):
    """A regression ready to run."""

    label: str
    procedure: RegressionPlan
    confidence: float | None
    labels: tuple[str, ...]
    clamped: Counted = None
    missing = LEFT_OUT
    neighbours = Neighbours.CHANGE_ONE

    @property
    def loss(self) -> Loss:
        return self.procedure.loss

    @property
    def mechanism(self) -> str:
        return self.procedure.name

    @property
    def interval_of(self) -> IntervalName:
        return self.procedure.interval_of

    @property
    def noise(self) -> str:
        return self.procedure.noise

    def run(self, records: RegressionRecords) -> Result:
        fit = self.procedure.run(records)
        return Result(fit.values, fit.intervals, fit.refused_at)


@query(
    "regression",
    of="table",
    menu=Menu("Models", "Linear regression", (*NUMBERS, "boolean"), picture="line"),
    parameters={"bounds": None, "y_bounds": None},
)
@dataclass(frozen=True)
class Regression(Query[Numbers, Intervals, ModelData]):
    """A linear regression of the column ``target`` on the columns ``features`` (all others if None).

    method: "auto" is least squares ("ols") where the bounds of all of these columns are known, else "medians".

    A record with a missing entry is left out of its block, in arrays, frames and tables alike; what a schema declares
    that missing values count as is not used here.
    """

    target: str | None = None
    features: Names | None = None
    method: Method = field(default="auto", kw_only=True)
    intercept: bool = field(default=True, kw_only=True)
    block_size: int | None = field(default=None, kw_only=True)
    constants: ConstantsName = field(default="exact", kw_only=True)
    bounds: SeveralBounds | None = field(default=None, kw_only=True)
    """Of arrays: of the features, then of the response; a session takes them from its schema."""
    y_bounds: Bounds | None = field(default=None, kw_only=True)
    """Of the response of arrays: ``bounds`` are then those of the features alone."""
    noun: ClassVar[str] = "regression"
    default_drop: ClassVar[bool] = True
    column = None
    accepts = ()
    instead = "ask least_squares(y, x), with one feature, which is answered there"

    def __post_init__(self) -> None:
        if self.target is not None and not isinstance(self.target, str):
            wanted = 'must be the name of one column, the response first: Regression("price", ["carat"])'
            raise InvalidArgument("target", self.target, wanted)
        if self.method not in METHODS:
            raise InvalidArgument("method", self.method, f"must be {', '.join(map(repr, METHODS))}")
        if self.constants not in ("exact", "paper"):
            raise InvalidArgument("constants", self.constants, 'must be "exact" or "paper"')
        if self.bounds is None and self.y_bounds is not None:
            raise InvalidArgument("bounds", None, "must be the bounds of the features, as y_bounds are given")
        if self.bounds is not None and self.method not in ("auto", "ols"):
            why = f"method={self.method!r} needs no bounds: leave them out"
            raise NotApplicable("bounds", self.bounds, why, 'method="ols", least squares between bounds')
        if self.constants == "paper" and self.method in ("auto", "ols", "medians"):
            raise NotApplicable("constants", "paper", "no paper has this method", '"shortcut" or "robust" as method')
        if not isinstance(self.intercept, bool):
            raise InvalidArgument("intercept", self.intercept, "must be True or False")

    @property
    def label(self) -> str:
        return self.noun if self.target is None else f"{self.noun} of {self.target}"

    def plan(self, facts: ModelFacts, options: Options) -> Plan:
        options.only_auto("a regression has methods instead", "Regression(method=)")
        model, loss, method = facts.model, options.loss, self._estimator(facts.grids)
        procedure: RegressionPlan
        if method == "medians":
            procedure = plan_joint(model, loss, options.miss, self.block_size)
        elif method == "ols":
            if facts.grids is None:
                raise RuntimeError("least squares is planned with bounds")
            if self.block_size is not None:
                raise NotApplicable("block_size", self.block_size, "least squares has no blocks", 'method="medians"')
            procedure = plan_moments(model, loss, options.miss, facts.grids[:-1], facts.grids[-1])
        elif loss.is_pure:
            raise InvalidArgument(
                "delta", loss.delta, f"must be above 0 for the test of method={method!r}, such as 1e-6"
            )
        else:
            planner = plan_robust if method == "robust" else plan_shortcut
            procedure = planner(model, loss, options.miss, self.block_size, self.constants)
        if not procedure.composition.fits(procedure.loss):
            raise RuntimeError("the parts of a plan cost more than the whole")
        covered = "" if options.level is None else f"; {COVERED[procedure.interval_of]}"
        label = f"{self.label} ({ESTIMATORS[method]}{covered})"
        return FitPlan(label, procedure, options.level, facts.labels, facts.clamped if method == "ols" else None)

    def _estimator(self, grids: tuple[Grid, ...] | None) -> Method:
        """The method, by public facts alone: least squares where bounds are known and no other is named."""
        return self.method if self.method != "auto" else "medians" if grids is None else "ols"

    def plan_for_population(self, facts: ModelFacts, options: Options) -> Plan:
        plan = self.plan(facts, options)
        if plan.interval_of != options.interval:
            why = f"method={self._estimator(facts.grids)!r} has intervals for the records alone"
            raise NotApplicable("interval", options.interval, why, 'method="medians"')
        return plan

    def shape(self, data: ModelData) -> ModelFacts:
        columns, names, response = self.parts(data)
        if len(response) != len(columns[0]):
            raise InvalidArgument("y", f"{len(response)} records", f"must have as many records as X, {len(columns[0])}")
        return self._facts(len(response), names, self._array_grids(names))

    def _array_grids(self, names: tuple[str, ...]) -> tuple[Grid, ...] | None:
        """Public grids of the features and of the response, for least squares of arrays."""
        if self.method not in ("auto", "ols") or (self.method == "auto" and self.bounds is None):
            return None
        target = self.target or "y"
        if self.y_bounds is None:
            return grids_between(self.bounds, (*names, target), whole=False)
        return (*grids_between(self.bounds, names, whole=False), Grid.between(self.y_bounds, None, whole=False))

    def read(self, data: ModelData, shape: ModelFacts) -> RegressionRecords:  # noqa: ARG002
        columns, _, response = self.parts(data)
        return RegressionRecords(np.column_stack([floats_of(column) for column in columns]), floats_of(response))

    def _facts(self, records: int, names: tuple[str, ...], grids: tuple[Grid, ...] | None) -> ModelFacts:
        labels = ("intercept", *names) if self.intercept else names
        return ModelFacts(RegressionFacts(records, len(names), self.intercept), labels, grids=grids)

    def parts(self, data: ModelData) -> tuple[list[Array], tuple[str, ...], Array]:
        """Features, their names and the response: of a pair (X, y), or of named columns."""
        if isinstance(data, tuple) and len(data) == 2:
            columns, names = _columns(data[0], self._bounded_features)
            return columns, names, as_array(data[1], "y")
        named = named_columns(data)
        if named is None:
            raise InvalidArgument("data", type(data), "must be a frame, a mapping of names to columns, or (X, y)")
        if self.target is None or self.target not in named:
            raise InvalidArgument("target", self.target, "must be the name of a column of the data")
        columns, names = _columns({name: cast("Column", named[name]) for name in self._chosen(tuple(named))})
        return columns, names, as_array(named[self.target], "y")

    def model_data(self, X: Column | Columns, y: Column | None) -> ModelData:
        """Features and response of functions: ``(X, y)``, or a table of both with the name of the target."""
        if y is None:
            if self.target is None:
                raise InvalidArgument("y", None, "must be the response, or pass target, the name of a column of X")
            return cast("ModelData", X)
        for name, given in (("target", self.target), ("features", self.features)):
            if given is not None:
                raise InvalidArgument(name, given, "names columns of X, and is left out where y is given")
        return X, y

    @property
    def _bounded_features(self) -> int | None:
        """How many columns X has by the bounds; None where they don't say so."""
        count = len(self.bounds) if isinstance(self.bounds, Mapping) else count_of(self.bounds)
        return None if count is None else max(count - (self.y_bounds is None), 1)

    def _chosen(self, names: Sequence[str]) -> tuple[str, ...]:
        if self.features is None:
            return tuple(name for name in names if name != self.target)
        chosen = column_names(self.features)
        for name in chosen:
            if name not in names or name == self.target:
                raise InvalidArgument("features", name, "must be names of columns other than the target")
        return chosen

    # --- in a table ----------------------------------------------------------------------------------------

    def bound(self, schema: Schema) -> Query:
        if self.bounds is not None:
            raise InvalidArgument("bounds", self.bounds, "is declared in the schema: leave it out")
        schema.measured(self.target, "target")
        names = tuple(name for name, column in schema.columns.items() if isinstance(column, Measured))
        chosen = replace(self, features=self._chosen(names if self.features is None else tuple(schema.columns)))
        # The stored question names its estimator: declarations that change later do not change what was answered.
        return replace(chosen, method=chosen._estimator(chosen._declared_grids(schema)))

    @property
    def used(self) -> tuple[str, ...]:
        return (*self._features, str(self.target))

    @property
    def _features(self) -> tuple[str, ...]:
        return () if self.features is None else tuple(self.features)

    def table_facts(self, schema: Schema, shape: Shape) -> ModelFacts:
        for name in self.used:
            schema.measured(name, "features")
        if not 1 <= len(self._features) <= MOST_FEATURES:
            raise InvalidArgument("features", list(self._features), f"must be from 1 to {MOST_FEATURES} columns")
        records = public_rows(self, schema, shape).records
        return self._facts(records, self._features, self._declared_grids(schema))

    def _declared_grids(self, schema: Schema) -> tuple[Grid, ...] | None:
        if self.method not in ("auto", "ols"):
            return None
        declared = [schema.measured(name, "features") for name in self.used]
        for name, declaration in zip(self.used, declared, strict=True):
            if not declaration.is_bounded or declaration.type_name in DATES:
                if self.method == "auto":
                    return None
                raise InvalidArgument("features", name, 'must be numbers with declared bounds for method="ols"')
        return tuple(declaration.grid for declaration in declared)

    def select(self, records: TableRecords, prepared: Prepared | None) -> Sequence[RegressionRecords]:  # noqa: ARG002
        rows = records.floats(self.used)
        return [RegressionRecords(rows[:, :-1], rows[:, -1])]


def _columns(X: Column | Columns, count: int | None = None) -> tuple[list[Array], tuple[str, ...]]:
    """The columns of X and their names: public shapes and types only.

    count: how many there are in a list.  Without it the first record of a list says whether that is one of rows.
    """
    named = named_columns(X)
    columns: list[Array]
    if named is None and getattr(X, "ndim", None) == 1:
        columns = [as_array(X, "X")]
    elif isinstance(X, Sequence) and not isinstance(X, (str, bytes)) and X and (count or row_length(X[0]) or 1) == 1:
        columns = [as_array([_single(row) for row in X], "X")]
    else:
        columns = [] if named == {} else columns_of(X, "X", count)
    if not 1 <= len(columns) <= MOST_FEATURES:
        raise InvalidArgument("X", f"{len(columns)} columns", f"must be from 1 to {MOST_FEATURES} columns")
    return columns, tuple(named or ()) or tuple(f"x{j + 1}" for j in range(len(columns)))


def _single(row: Scalar | Sequence[Scalar]) -> Scalar:
    """A record of a single column: an entry, or a row with one."""
    if row_length(row) != 1:
        return cast("Scalar", row)
    with contextlib.suppress(*FAILURES):
        return cast("Sequence[Scalar]", row)[0]
    return None


def line_table(
    X: Column | Columns,
    y: Column | None,
    target: str | None,
    features: Names | None,
    bounds: SeveralBounds | None,
    y_bounds: Bounds | None,
) -> tuple[Columns, SeveralBounds | None]:
    """Response and feature of a line as a table of two columns, and their bounds in that order.

    They are given as for ``regression``, or as such a table already.
    """
    if y is None and target is None and features is None:
        feature = None if bounds is None or isinstance(bounds, Mapping) else list(_pairs(bounds))
        return cast("Columns", X), bounds if y_bounds is None or feature is None else [y_bounds, *feature]
    query = Regression(target, features)
    data = query.model_data(X, y)
    if y is not None:
        columns, names = _columns(X, 1)
        response = as_array(y, "y")
    else:
        columns, names, response = query.parts(data)
    if len(columns) != 1:
        raise InvalidArgument("features", list(names), "must be one column; several are asked with regression")
    if len(response) != len(columns[0]):
        raise InvalidArgument("y", f"{len(response)} records", f"must have as many records as X, {len(columns[0])}")
    label = target or ("y" if names[0] != "y" else "target")
    table = cast("Columns", {label: response, names[0]: columns[0]})
    if isinstance(bounds, Mapping):
        return table, bounds if y_bounds is None else {**bounds, label: y_bounds}
    if bounds is None or (y_bounds is None and not hasattr(bounds[0], "__len__")):
        return table, bounds
    pairs = _pairs(bounds)
    return table, list(reversed(pairs)) if y_bounds is None else [y_bounds, *pairs]


def _pairs(bounds: Bounds | Sequence[Bounds]) -> list[Bounds]:
    """A list of pairs, of which one pair is a list too."""
    return cast("list[Bounds]", list(bounds) if hasattr(bounds[0], "__len__") else [bounds])
