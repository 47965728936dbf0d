"""The types of the public functions, for annotations of one's own and for type checkers.

Everything here is public.  ``Release[float, Interval]`` is what ``dither.median`` returns; ``Number`` is what it takes
for epsilon.

>>> from dither.typing import Number
>>> def yearly(epsilon: Number) -> float:
...     return 12 * float(epsilon)
>>> yearly(0.25)
3.0
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, Protocol, Required, SupportsFloat, TypeAlias, TypedDict, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither import mechanism_names

if TYPE_CHECKING:
    import pyarrow as pa

    from dither import plain, release
    from dither.ledger import Ledger
    from dither.mechanisms.mechanism import Mechanism
    from dither.noise.law import Law
    from dither.privacy import Simultaneous
    from dither.procedures.aggregate import Aggregator
    from dither.procedures.executor import Executor
    from dither.procedures.metrics import Metric
    from dither.quotes.graph_priors import GraphPrior
    from dither.quotes.priors import Prior
    from dither.sandbox.programs import Executable, Function
    from dither.sources import predicates

Entry_co = TypeVar("Entry_co", covariant=True)

# --- numbers ------------------------------------------------------------------------------------------------

Number: TypeAlias = int | float | Decimal | Fraction | np.integer | np.floating
"""Any real number; it means what it prints."""
Whole: TypeAlias = int | np.integer
"""A whole number."""
Bounds: TypeAlias = tuple[Number, Number] | list[int] | list[float]
"""A public range: (lower, upper)."""
EachBounds: TypeAlias = Bounds | Sequence[Bounds]
"""One range for all coordinates, or one for each."""
SeveralBounds: TypeAlias = EachBounds | Mapping[str, Bounds]
"""One range for all columns, one for each, or ranges by the columns' names."""
Nulls: TypeAlias = Number | Literal["lower", "upper", "drop"]
"""What a missing value counts as; "drop" leaves its record out."""
NumberList: TypeAlias = Sequence[Number] | NDArray[np.generic]
"""Several numbers, such as the shares of quantiles or the edges of bins."""

Centres: TypeAlias = NumberList | Sequence[NumberList]
"""Public points: a list of them, or their coordinates one after the other."""
Categories: TypeAlias = "Listed[Hashable]"
"""The declared categories of a histogram."""

# --- data ---------------------------------------------------------------------------------------------------


class Series(Protocol):
    """One column of pandas, Polars or Arrow."""

    def __len__(self) -> int: ...
    def to_numpy(self) -> Array:
        """The entries as an array."""


class Frame(Protocol):
    """A frame of pandas, Polars, Arrow or Spark: columns by name."""

    @property
    def columns(self) -> object:  # a class of another library
        """The columns, or their names."""

    def __getitem__(self, name: str, /) -> object: ...  # a class of another library


class Named(Protocol):
    """A mapping of names to columns.

    Checkers join lists of numbers and of texts to a mapping of objects, so they do not look at its columns.
    """

    def keys(self) -> Iterable[str]:
        """The names."""

    def __getitem__(self, name: str, /) -> object: ...  # a class of another library


class Listed(Protocol[Entry_co]):
    """A list, a tuple or the like: a sequence that is no text."""

    def __len__(self) -> int: ...
    def __getitem__(self, place: int, /) -> Entry_co: ...
    def __iter__(self) -> Iterator[Entry_co]: ...
    def __contains__(self, entry: object, /) -> bool: ...  # (of a text: only for texts)


ArrowTable: TypeAlias = "pa.Table"
"""A table of Arrow."""
ArrowColumn: TypeAlias = "pa.Array | pa.ChunkedArray"
"""A column of Arrow."""
Array: TypeAlias = NDArray[np.generic]
"""An array of numpy, masked ones included."""
Column: TypeAlias = Array | Sequence[SupportsFloat | None] | Series
"""One column of numbers: an array, a list, or a column of pandas, Polars or Arrow."""
Entries: TypeAlias = Array | Listed[Hashable] | Series
"""One column of entries of any type."""
Columns: TypeAlias = Array | Frame | Mapping[str, Column] | Sequence[Sequence[SupportsFloat | None]] | Sequence[Array]
"""Several columns: a two-dimensional array, a frame, a mapping of names to columns, or a list of rows."""
EdgeList: TypeAlias = Array | Frame | Listed[Sequence[SupportsFloat | str | None] | Array]
"""The edges of a graph: an array, a frame or a list, with a row of two vertices for each."""
Mixed: TypeAlias = Array | Frame | Named | Listed[Hashable] | Listed[Sequence[Hashable]] | Sequence[Array]
"""Rows for a program: as ``Columns``, with entries of any type."""
ColumnData: TypeAlias = Column | Frame | Named
"""What a query about one column is asked of: the column, or the frame or mapping that has it."""
EntriesData: TypeAlias = Entries | Frame | Named
"""The same for entries of any type."""
ModelData: TypeAlias = tuple[Column | Columns, Column] | Frame | Mapping[str, Column]
"""What a regression is asked of: (X, y), or the frame or mapping that has all of its columns."""
Anything: TypeAlias = object
"""Data of a function of the owner's: whatever that function takes."""

# --- how an answer is made ----------------------------------------------------------------------------------

MechanismName: TypeAlias = mechanism_names.MechanismName
"""The registered mechanisms, and "auto"."""
NoiseName: TypeAlias = Literal["auto", "blunt_power_law", "cauchy", "gaussian", "laplace", "power_law", "student"]
"""The noises, and "auto"."""
MechanismChoice: TypeAlias = "MechanismName | Mechanism"
"""A mechanism by name, or an object such as ``dither.Smooth(beta=0.1)``."""
NoiseChoice: TypeAlias = "NoiseName | Law"
"""A noise by name, or an object such as ``dither.Cauchy(gamma=4)``."""
Confidence: TypeAlias = "Number | Simultaneous | None"
"""Of an interval; None: there is none."""
ErrorName: TypeAlias = Literal["expected_error", "bound", "typical_error"]
"""Which error of a quote a target is about."""
"""Of the interval; None: no interval."""
IntervalName: TypeAlias = "release.IntervalName"
"""What the interval covers: the statistic of the records, or that of the population that they are a sample of."""
NormName: TypeAlias = Literal["l1", "l2", "linf"]
"""The norms of vectors."""
ConstantsName: TypeAlias = Literal["exact", "paper"]
"""Our constants, or those that a paper prints."""
NeighboursName: TypeAlias = Literal[
    "change-one", "add-remove", "add-remove-change", "person", "edge", "node", "weight", "chain", "listed"
]
"""The neighbour relations of ``dither.Neighbours``."""
FilterName: TypeAlias = Literal["basic", "advanced", "zcdp"]
"""The rules that guard a budget."""
CountingName: TypeAlias = Literal["basic", "advanced", "zcdp", "fixed"]
"""How questions are counted that fit into a budget: by a rule that guards it, or as a batch fixed in advance."""
CompositionName: TypeAlias = Literal["auto", "basic", "advanced", "optimal", "heterogeneous", "zcdp", "dp-accounting"]
"""How privacy losses are composed."""

# --- questions of a table -----------------------------------------------------------------------------------

Names: TypeAlias = str | Sequence[str]
"""One name of a column, or several."""
Filter: TypeAlias = "str | predicates.Predicate"
"""A filter such as ``"year = 2014"``."""
PriorChoice: TypeAlias = "Prior | Mapping[str, Prior]"
"""What is publicly known about values: for all columns, or by column."""
Weights: TypeAlias = Sequence[Number]
"""How several queries share a privacy loss."""
NamedWeights: TypeAlias = Sequence[Number] | Mapping[str, Number]
"""The same for SQL: in a list, or by the names that the statement gives."""
LedgerPlace: TypeAlias = "str | os.PathLike[str] | Ledger"
"""A ledger, or where it is kept."""

# --- programs and functions of one's own --------------------------------------------------------------------

OwnFunction: TypeAlias = Callable[..., SupportsFloat]
"""A function of the data that returns a number."""
OwnVector: TypeAlias = Callable[..., Sequence[SupportsFloat] | Array]
"""A function of the data that returns several numbers."""
OwnPoint: TypeAlias = Callable[..., Hashable]
"""A function of the data that returns a point of a finite space."""
ProgramFunction: TypeAlias = Callable[..., ArrayLike]
"""A function of one block that returns a number or several."""
Predicate: TypeAlias = Callable[..., "bool | np.bool"]
"""A function that says yes or no."""
ProgramChoice: TypeAlias = "ProgramFunction | str | Function | Executable"
"""A function of one block, ``"file.py:function"``, or an executable."""
MetricChoice: TypeAlias = 'Literal["l1", "l2"] | Metric | OwnFunction'
"""A metric for the centre of answers."""
AggregatorName: TypeAlias = Literal[
    "auto", "average", "centre", "median", "medoid", "smooth_median", "unconstrained_centre"
]
"""The aggregators of blocks' answers, and "auto"."""
PointAggregatorName: TypeAlias = Literal["auto", "medoid", "centre"]
"""The aggregators of answers that are points of a space, and "auto"."""
AggregatorChoice: TypeAlias = "AggregatorName | Aggregator"
"""An aggregator by name, or an object."""
BinChoice: TypeAlias = Names | Callable[[str], bool]
"""Bins of a histogram: their labels, or a function of a label."""
SamplingName: TypeAlias = Literal["partition", "overlapping"]
"""How blocks are drawn."""
ExecutorChoice: TypeAlias = "str | Executor"
"""Where a program runs: "sandbox", "trusted", "ray", "ray://host:port", or an open sandbox."""

# --- answers ------------------------------------------------------------------------------------------------

Interval: TypeAlias = tuple[float, float]
"""The interval of one number."""
Numbers: TypeAlias = tuple[float, ...]
"""Several numbers at once."""
Intervals: TypeAlias = tuple[Interval, ...]
"""An interval for each of several numbers."""
CountInterval: TypeAlias = tuple[int, int]
"""The interval of a count."""
Counts: TypeAlias = tuple[int, ...]
"""Several counts."""
CountIntervals: TypeAlias = tuple[CountInterval, ...]
"""An interval for each of several counts."""
CategoryValue: TypeAlias = Hashable
"""An entry as the data have it: a text, a number, a date or anything else that can be compared."""
Points: TypeAlias = tuple[Numbers, ...]
"""Several points."""
Corners: TypeAlias = tuple[tuple[Numbers, Numbers], ...]
"""The lower and the upper corner of each point's intervals."""
GroupKey: TypeAlias = "release.GroupKey"
"""The key of a group, by the type of its column: a category, a number, a truth value or a date."""
Json: TypeAlias = "plain.Json"
"""Plain values for JSON: texts, numbers, truth values, None, and lists and mappings of them."""
Answered: TypeAlias = "release.Answered"
"""What SQL gives: one release, or several where the statement asks for several queries or groups."""

# --- options by name ----------------------------------------------------------------------------------------


class LossOptions(TypedDict, total=False):
    """What a question costs."""

    epsilon: Required[Number]
    delta: Number


class HowOptions(TypedDict, total=False):
    """How an answer is made."""

    mechanism: MechanismChoice
    noise: NoiseChoice
    confidence: Confidence
    interval: IntervalName


class KnownOptions(HowOptions, total=False):
    """The same, and what is publicly known about a table."""

    prior: PriorChoice | None
    rows: int | None


class TableOptions(KnownOptions, total=False):
    """The same, and which rows and groups a question is about."""

    where: Filter | None
    by: Names | None


class AskOptions(LossOptions, HowOptions, total=False):
    """The options of a question about data in memory, or about a graph."""


class GraphOptions(HowOptions, total=False):
    """How an answer about a graph is made, and what is publicly known about its edges."""

    prior: GraphPrior | None


class GraphKnownOptions(AskOptions, total=False):
    """The same of a graph, with what is publicly known about its edges."""

    prior: GraphPrior | None


class SqlOptions(LossOptions, KnownOptions, total=False):
    """The options of SQL, which says itself which rows and groups it is about."""


class QuestionOptions(AskOptions, total=False):
    """The options of a question about a table."""

    where: Filter | None
    by: Names | None


class QuoteOptions(LossOptions, TableOptions, total=False):
    """The options of a question about a table, before it is asked."""


class LeastEpsilonOptions(TableOptions, total=False):
    """The options of a quote, without its epsilon."""

    delta: Number


class RemoteOptions(TypedDict, total=False):
    """What is sent to a server with a question: mechanisms and noises by name."""

    epsilon: Required[Number]
    delta: Number
    mechanism: MechanismName
    noise: NoiseName
    confidence: Confidence
    interval: IntervalName
    prior: Prior | GraphPrior | None
    rows: int | None
    dataset: str | None


class RemoteQuoteOptions(RemoteOptions, total=False):
    """The options of a quote by a server."""

    where: str | None
    by: Names | None
    again: bool


class RemoteSqlQuoteOptions(RemoteOptions, total=False):
    """The options of a quote for SQL by a server."""

    again: bool


class RemoteLeastEpsilonOptions(TypedDict, total=False):
    """The options of a quote by a server, without its epsilon."""

    delta: Number
    mechanism: MechanismName
    noise: NoiseName
    confidence: Confidence
    interval: IntervalName
    prior: Prior | None
    rows: int | None
    dataset: str | None
    where: str | None
    by: Names | None


class RemoteAskOptions(RemoteOptions, total=False):
    """The options of a question to a server."""

    where: str | None
    again: bool
    request_id: str | None


class RemoteSeveralOptions(RemoteAskOptions, total=False):
    """The options of several questions at once."""

    weights: Weights | None


class RemoteSqlOptions(RemoteOptions, total=False):
    """The options of SQL to a server."""

    weights: NamedWeights | None
    again: bool
    request_id: str | None


class SandboxSettings(TypedDict, total=False):
    """Settings of the sandbox that a program runs in."""

    slot: float
    lead: float
    cores: int | None
    preload: Sequence[str]
    example: Array | Frame | None
    memory_mib: int
    scratch_mib: int
    processes: int
    visible: Sequence[str | os.PathLike[str]]
    files: bool
