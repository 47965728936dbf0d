"""The warm parent's memory as a fork sees it: the same content, in mappings that are not copied."""

import numpy as np
import pytest

from blocks import in_time
from conftest import needs_package
from dither.procedures.executor import Output
from dither.sandbox import Function

CONTENT = """
import gc, json, re, numpy

class Kept:
    pass

def program(rows):
    # Use what was loaded before the memory moved, and let it grow, shrink and be collected.
    text = json.dumps({str(place): [place] * 40 for place in range(2000)})
    kept = [Kept() for _ in range(50_000)]
    for place, one in enumerate(kept):
        one.place = place
    del kept[::2]
    gc.unfreeze()
    gc.collect()
    large = list(range(400_000))
    large.extend(range(400_000))
    zeros = numpy.zeros(300_000)
    added = numpy.linalg.solve(numpy.eye(60) * 2, numpy.ones(60)).sum()
    matched = len(re.findall("7", text))
    return [len(json.loads(text)), sum(one.place for one in kept), len(large), zeros.sum(), added, matched, rows.sum()]
"""
EXPECTED = [2000, 625_000_000, 800_000, 0, 30]


@pytest.mark.slow
def test_programs_find_everything_as_it_was_loaded():
    """Block after block, from the same parent; what one changes the next does not see."""
    needs_package("sklearn")
    settings = {"output": Output(7, bounds=(-1, 1e12)), "slot": 2.0, "preload": ("sklearn.cluster", "pyarrow")}
    answers = in_time(Function(CONTENT, "program"), [np.full(3, float(place)) for place in range(6)], **settings)
    assert answers[:, :5].tolist() == [EXPECTED] * 6
    assert len(set(answers[:, 5])) == 1
    assert answers[:, 6].tolist() == [3.0 * place for place in range(6)]


SIZE = """
def program(rows):
    return __import__("resource").getrusage(0).ru_maxrss
"""


def test_a_fork_copies_little():
    """With scikit-learn loaded a block begins with 25 MB; without the move it is 125."""
    needs_package("sklearn")
    settings = {"output": Output(1, bounds=(0, 1e9)), "slot": 1.0, "cores": 1, "preload": ("sklearn.cluster",)}
    begun = float(np.median(in_time(Function(SIZE, "program"), [np.zeros(1)] * 3, **settings)))
    assert 0 < begun < 70_000
