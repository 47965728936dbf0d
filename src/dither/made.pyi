# Written by `make api` from the registries: do not edit.

from collections.abc import Sequence
from typing import Literal

from dither.release import Release
from dither.typing import (
    Bounds,
    Column,
    Columns,
    Confidence,
    Interval,
    IntervalName,
    MechanismChoice,
    NoiseChoice,
    Nulls,
    Number,
    SeveralBounds,
)

def correlation(
    data: Columns,
    *,
    bounds: SeveralBounds | None = None,
    step: Number | None = None,
    nulls: Nulls | None = None,
    names: Sequence[str] | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
) -> Release[float, Interval]: ...
def pair_covariance(
    data: Columns,
    *,
    bounds: SeveralBounds | None = None,
    step: Number | None = None,
    nulls: Nulls | None = None,
    names: Sequence[str] | None = None,
    ddof: Literal[0, 1] = 0,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
) -> Release[float, Interval]: ...
def std(
    data: Column,
    *,
    bounds: Bounds | None = None,
    step: Number | None = None,
    nulls: Nulls | None = None,
    non_negative: bool = False,
    count_beyond: bool = False,
    ddof: Literal[0, 1] = 0,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
) -> Release[float, Interval]: ...
def winsorised_mean(
    data: Column,
    *,
    bounds: Bounds | None = None,
    step: Number | None = None,
    nulls: Nulls | None = None,
    share: Number = ...,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
) -> Release[float, Interval]: ...
