"""Running a comparison: all ways take turns, round by round, on the same datasets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dither_lab.bench.design import Comparison, Data, DataMissing, Dataset, Way
from dither_lab.bench.intervals import Floats
from dither_lab.bench.peers import Standing
from dither_lab.bench.pool import BenchWorker, Pool, WorkerFailed

MEMORY_ROUNDS = 3


@dataclass
class Sample:
    """What one way did in a comparison."""

    way: Way
    version: str | None = None
    reason: str | None = None
    """Why it was not measured."""
    errors: dict[int, list[tuple[float, ...]]] = field(default_factory=dict)
    """Scores by dataset."""
    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    mebibytes: list[float] = field(default_factory=list)
    answers: int = 0
    refused: int = 0
    failures: dict[str, int] = field(default_factory=dict)

    def values(self, measure: str, centre: str, clock: str = "wall") -> dict[int, float]:
        """The figures of a measure by dataset (errors) or round."""
        if measure == "error":
            return self._kindest(centre)
        if measure == "memory":
            return dict(enumerate(self.mebibytes))
        return dict(enumerate(self.times(clock)))

    def times(self, clock: str) -> list[float]:
        """Seconds of each round."""
        return self.processor if clock == "processor" else self.seconds

    def _kindest(self, centre: str) -> dict[int, float]:
        """Mean errors by dataset, by the definition that is kindest to this way."""
        if not self.errors:
            return {}
        means = {index: np.mean(scores, axis=0) for index, scores in self.errors.items()}
        table = np.array(list(means.values()))
        overall = np.median(table, axis=0) if centre == "median" else table.mean(axis=0)
        best = int(np.argmin(overall))
        return {index: float(row[best]) for index, row in means.items()}


def paired(results: Mapping[int, float], other: Mapping[int, float]) -> tuple[Floats, Floats]:
    """The figures of two ways on what both were measured on."""
    both = sorted(set(results) & set(other))
    return np.array([results[key] for key in both]), np.array([other[key] for key in both])


class Stock:
    """Datasets of a run, made once and kept as files for the workers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name: str | None = None
        self._datasets: dict[int, tuple[Dataset, Path]] = {}

    def take(self, data: Data) -> list[tuple[Dataset, Path]]:
        """All datasets of a comparison; those of the last one are kept, because neighbours in a list often share."""
        if data.name != self._name:
            self.clear()
            self._name = data.name
        for index in range(data.count):
            if index not in self._datasets:
                dataset = data.make(index, self._folder)
                path = self._folder / f"dataset-{index}.npz"
                np.savez(path, **dataset)
                self._datasets[index] = (dataset, path)
        return [self._datasets[index] for index in range(data.count)]

    def clear(self) -> None:
        """Forget them and remove their files."""
        for path in self._folder.glob("*"):
            path.unlink()
        self._datasets, self._name = {}, None


def measure(
    area: str, comparison: Comparison, standings: dict[str, Standing], pool: Pool, stock: Stock
) -> list[Sample]:
    """A sample of every way, ours first."""
    try:
        datasets = stock.take(comparison.data)
    except DataMissing as missing:
        ways = (comparison.ours, *comparison.others)
        return [Sample(way, version=standings[way.who].version, reason=str(missing)) for way in ways]
    files = [str(path) for _, path in datasets]
    samples = []
    running: list[tuple[Sample, BenchWorker, str]] = []
    for place, way in enumerate((comparison.ours, *comparison.others)):
        standing = standings[way.who]
        sample = Sample(way, version=standing.version, reason=way.absent or standing.reason)
        samples.append(sample)
        if sample.reason is not None:
            continue
        lane = str(place) if any(item.way.who == way.who for item in samples[:-1]) else ""
        try:
            worker = pool.worker(area, way.who, lane)
            worker.ask(_preparation(comparison, way, files))
            _warm(worker, comparison)
        except WorkerFailed as failure:
            sample.reason = str(failure)
            pool.drop(area, way.who, lane)
            continue
        running.append((sample, worker, lane))
    _take_turns(area, comparison, datasets, running, pool)
    if "memory" in comparison.measures:
        for _ in range(MEMORY_ROUNDS):
            for sample, *_ in running:
                _memory(area, comparison, files, sample, pool)
    return samples


def _take_turns(
    area: str,
    comparison: Comparison,
    datasets: list[tuple[Dataset, Path]],
    running: list[tuple[Sample, BenchWorker, str]],
    pool: Pool,
) -> None:
    """Round by round, another way first each time."""
    for number in range(comparison.effort.rounds):
        turn = number % max(1, len(running))
        for sample, worker, lane in running[turn:] + running[:turn]:
            if sample.reason is None:
                _round(comparison, datasets, number, sample, worker)
            if sample.reason is not None:
                pool.drop(area, sample.way.who, lane)


def _memory(area: str, comparison: Comparison, files: list[str], sample: Sample, pool: Pool) -> None:
    """In a fresh process: one that answered before holds memory that it can use again."""
    if sample.reason is not None:
        return
    try:
        worker = pool.worker(area, sample.way.who, "-memory")
        worker.ask(_preparation(comparison, sample.way, files))
        reply = worker.ask({"do": "memory", "name": comparison.name, "dataset": 0})
        sample.mebibytes.append(float(reply["mebibytes"]))
    except WorkerFailed as failure:
        sample.failures[str(failure)] = sample.failures.get(str(failure), 0) + 1
    finally:
        pool.drop(area, sample.way.who, "-memory")


def _preparation(comparison: Comparison, way: Way, files: list[str]) -> dict[str, Any]:
    return {"do": "prepare", "name": comparison.name, "task": way.task, "options": dict(way.options), "files": files}


def _warm(worker: BenchWorker, comparison: Comparison) -> None:
    """Compilers and caches are not what is measured."""
    if set(comparison.measures) & {"time", "memory"}:
        worker.ask({"do": "round", "name": comparison.name, "dataset": 0, "calls": 1, "seconds": 0.0})


def _round(
    comparison: Comparison, datasets: list[tuple[Dataset, Path]], number: int, sample: Sample, worker: BenchWorker
) -> None:
    index, effort = number % len(datasets), comparison.effort
    request: dict[str, Any] = {"do": "round", "name": comparison.name, "dataset": index}
    try:
        reply = worker.ask({**request, "calls": effort.calls, "seconds": effort.seconds})
    except WorkerFailed as failure:
        # One dataset that a library cannot answer is counted; a worker that is gone, or never answered, is a reason.
        text = str(failure)
        sample.failures[text] = sample.failures.get(text, 0) + 1
        if text.startswith(("worker ended", "no answer")) or sum(sample.failures.values()) > 2:
            sample.reason = text
        return
    sample.seconds.append(reply["seconds"] / sample.way.items)
    sample.processor.append(reply["processor"] / sample.way.items)
    for answer in reply["answers"]:
        sample.answers += 1
        if answer is None:
            sample.refused += 1
        elif comparison.score is not None:
            scored = comparison.score(answer, datasets[index][0])
            scores = scored if isinstance(scored, tuple) else (scored,)
            sample.errors.setdefault(index, []).append(scores)
