"""The measuring loop shared by all workers: standard library and numpy only, so that it runs in any environment.

A worker is called with three files: a job (JSON), arrays (npz) and the place for its result (JSON).
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Answer = Callable[[], float]
"""One private answer, from the array as the library takes it to a number."""


def measure(prepare: Callable[[str, dict[str, Any], np.ndarray], Answer]) -> None:
    """Answer every cell of the job: once for each dataset, then again until the repetitions or the time are used up.

    ``prepare(variant, cell, data)`` returns a function that answers once; preparation that a user would do once
    (building a measurement, converting to a list) belongs there and is not timed.
    """
    job_file, data_file, result_file = (Path(name) for name in sys.argv[1:4])
    job = json.loads(job_file.read_text())
    arrays = np.load(data_file)
    data = {name: arrays[name] for name in arrays.files}
    cells = [_cell(prepare, job, variant, cell, data) for variant in job["variants"] for cell in job["cells"]]
    result_file.write_text(json.dumps({"cells": cells}))


def _cell(
    prepare: Callable[[str, dict[str, Any], np.ndarray], Answer],
    job: dict[str, Any],
    variant: str,
    cell: dict[str, Any],
    data: dict[str, np.ndarray],
) -> dict[str, Any]:
    names = [f"{cell['input']}{index}" for index in range(job["datasets"])]
    answers: list[list[float]] = [[] for _ in names]
    times: list[float] = []
    failures: dict[str, int] = {}
    ready: list[Answer | None] = [None] * len(names)
    began = time.perf_counter()
    for repetition in range(job["repetitions"]):
        if repetition and time.perf_counter() - began > cell["seconds"]:
            break
        for index, name in enumerate(names):
            try:
                answer = ready[index] = ready[index] or prepare(variant, cell, data[name])
                start = time.perf_counter()
                value = float(answer())
                elapsed = time.perf_counter() - start
                if not math.isfinite(value):
                    raise ArithmeticError(f"answered {value}")
            except Exception as error:  # noqa: BLE001  (whatever a peer raises is its answer, and is reported)
                reason = f"{type(error).__name__}: {error}"[:160]
                failures[reason] = failures.get(reason, 0) + 1
                continue
            answers[index].append(value)
            times.append(elapsed)
    return {
        "variant": variant,
        "input": cell["input"],
        "statistic": cell["statistic"],
        "epsilon": cell["epsilon"],
        "answers": answers,
        "seconds_per_call": float(np.median(times)) if times else None,
        "failures": failures,
    }
