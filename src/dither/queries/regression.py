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
from dither.typing import Array, Column, Columns, ConstantsName, Intervals, ModelData, Names, Numbers, SeveralBounds

if TYPE_CHECKING:
    from dither.queries.tables import TableRecords

Method: TypeAlias = Literal["auto", "shortcut", "robust", "ols"]
METHODS: tuple[Method, ...] = get_args(Method)
ESTIMATORS: dict[Method, str] = {
    "auto": "medians of robust fits of blocks, not least squares",
    "shortcut": "DL09's short cut by blocks, not least squares",
    "robust": "DL09's robust fit, not least squares",
    "ols": "least squares of records clamped to bounds, by noisy moments",
}
"""What a release says of the estimator: where errors are skewed or grow with the features it is not least squares."""
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
    parameters={"bounds": None},
)
@dataclass(frozen=True)
class Regression(Query[Numbers, Intervals, ModelData]):
    """A linear regression of the column ``target`` on the columns ``features`` (all others if None).

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
    """For least squares of arrays: of the features, then of the response; a session takes them from its schema."""
    noun: ClassVar[str] = "regression"
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
        if self.bounds is not None and self.method != "ols":
            why = f"method={self.method!r} needs no bounds: leave them out"
            raise NotApplicable("bounds", self.bounds, why, 'method="ols", least squares between bounds')
        if self.block_size is not None and self.method == "ols":
            raise NotApplicable("block_size", self.block_size, "least squares has no blocks", "another method")
        if self.constants == "paper" and self.method in ("auto", "ols"):
            raise NotApplicable("constants", "paper", "no paper has this method", '"shortcut" or "robust" as method')
        if not isinstance(self.intercept, bool):
            raise InvalidArgument("intercept", self.intercept, "must be True or False")

    @property
    def label(self) -> str:
        return self.noun if self.target is None else f"{self.noun} of {self.target}"

    def plan(self, facts: ModelFacts, options: Options) -> Plan:
        options.only_auto("a regression has methods instead", "Regression(method=)")
        model, loss = facts.model, options.loss
        procedure: RegressionPlan
        if self.method == "auto":
            procedure = plan_joint(model, loss, options.miss, self.block_size)
        elif self.method == "ols":
            if facts.grids is None:
                raise RuntimeError("least squares is planned with bounds")
            procedure = plan_moments(model, loss, options.miss, facts.grids[:-1], facts.grids[-1])
        elif loss.is_pure:
            raise InvalidArgument(
                "delta", loss.delta, f"must be above 0 for the test of method={self.method!r}, such as 1e-6"
            )
        else:
            planner = plan_robust if self.method == "robust" else plan_shortcut
            procedure = planner(model, loss, options.miss, self.block_size, self.constants)
        if not procedure.composition.fits(procedure.loss):
            raise RuntimeError("the parts of a plan cost more than the whole")
        label = f"{self.label} ({ESTIMATORS[self.method]})"
        return FitPlan(label, procedure, options.level, facts.labels, facts.clamped)

    def plan_for_population(self, facts: ModelFacts, options: Options) -> Plan:
        plan = self.plan(facts, options)
        if plan.interval_of != options.interval:
            why = f"method={self.method!r} has intervals for the records alone"
            raise NotApplicable("interval", options.interval, why, 'method="auto"')
        return plan

    def shape(self, data: ModelData) -> ModelFacts:
        columns, names, response = self._parts(data)
        if len(response) != len(columns[0]):
            raise InvalidArgument("y", f"{len(response)} records", f"must have as many records as X, {len(columns[0])}")
        return self._facts(len(response), names, self._array_grids(names))

    def _array_grids(self, names: tuple[str, ...]) -> tuple[Grid, ...] | None:
        """Public grids of the features and of the response, for least squares of arrays."""
        if self.method != "ols":
            return None
        return grids_between(self.bounds, (*names, self.target or "y"), whole=False)

    def read(self, data: ModelData, shape: ModelFacts) -> RegressionRecords:  # noqa: ARG002
        columns, _, response = self._parts(data)
        return RegressionRecords(np.column_stack([floats_of(column) for column in columns]), floats_of(response))

    def _facts(self, records: int, names: tuple[str, ...], grids: tuple[Grid, ...] | None) -> ModelFacts:
        labels = ("intercept", *names) if self.intercept else names
        return ModelFacts(RegressionFacts(records, len(names), self.intercept), labels, grids=grids)

    def _parts(self, data: ModelData) -> tuple[list[Array], tuple[str, ...], Array]:
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

    @property
    def _bounded_features(self) -> int | None:
        """How many columns X has by the bounds; None where they don't say so."""
        count = len(self.bounds) if isinstance(self.bounds, Mapping) else count_of(self.bounds)
        return None if count is None else max(count - 1, 1)

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
        return replace(self, features=self._chosen(names if self.features is None else tuple(schema.columns)))

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
        if self.method != "ols":
            return None
        declared = [schema.measured(name, "features") for name in self.used]
        for name, declaration in zip(self.used, declared, strict=True):
            if not declaration.is_bounded or declaration.type_name in DATES:
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
