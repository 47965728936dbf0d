"""Running experiments by name: ``dither reproduce``."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator

from dither.errors import InvalidArgument
from dither_lab.reproduce import drawing
from dither_lab.reproduce.experiment import Experiment, MeasuredPoints, Reproduction, Setting, judged
from dither_lab.reproduce.sources import SOURCES

PAPERS = {
    "dmns06": "Dwork, McSherry, Nissim, Smith: Calibrating Noise to Sensitivity in Private Data Analysis (TCC 2006)",
    "nrs11": "Nissim, Raskhodnikova, Smith: Smooth Sensitivity and Sampling in Private Data Analysis (2011 version)",
    "dl09": "Dwork, Lei: Differential Privacy and Robust Statistics (STOC 2009)",
    "v17": "Vadhan: The Complexity of Differential Privacy (2017), sections 2 and 3",
    "coq17": "Canard, Olivier, Quertier: Differentially private instance-based noise mechanisms in practice (2017)",
    "errata": "Errors found in the five papers, each as a small demonstration",
}
MODULES = {
    "dmns06": ("dmns06", "dmns06_limits"),
    "nrs11": ("nrs11", "nrs11_framework", "nrs11_blocks"),
    "dl09": ("dl09_influence", "dl09"),
    "v17": ("v17", "v17_alternatives"),
    "coq17": ("coq17", "coq17_examples", "coq17_graphs"),
    "errata": ("errata", "errata_coq17"),
}


def names() -> list[str]:
    """What may be asked for."""
    return [*PAPERS, "all"]


def experiments(name: str) -> list[Experiment]:
    """The experiments of a paper, or of all."""
    if name not in names():
        raise InvalidArgument("name", name, f"must be {', '.join(names())}")
    papers = list(PAPERS) if name == "all" else [name]
    modules = [
        importlib.import_module(f"dither_lab.reproduce.{module}") for paper in papers for module in MODULES[paper]
    ]
    return [experiment for module in modules for experiment in module.EXPERIMENTS]


def run(
    chosen: list[Experiment],
    setting: Setting,
    *,
    begun: Callable[[Experiment], None] = lambda _: None,
) -> Iterator[Reproduction]:
    """Each experiment in turn: measured, judged, drawn."""
    for experiment in chosen:
        begun(experiment)
        began = time.process_time()
        points = experiment.run(setting)
        rows = judged(experiment, points)
        sources = tuple(SOURCES[name]()[1].words for name in experiment.data)
        yield Reproduction(experiment, points, rows, time.process_time() - began, sources, _drawn(experiment, points))


def _drawn(experiment: Experiment, points: MeasuredPoints) -> bytes | None:
    if experiment.draw is None:
        return None
    built = drawing.figure()
    experiment.draw(built, points)
    return drawing.picture(built)
