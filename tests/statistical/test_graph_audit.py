"""The black-box auditor on small graphs: it finds what was broken, and nothing in what ships, error bars included.

Every finding is wrong with probability at most 1e-9.
"""

from fractions import Fraction
from itertools import combinations

import pytest

from conftest import trials
from dither.mechanisms.ladder import LadderMechanism
from dither.mechanisms.largest_local import LargestLocal
from dither.mechanisms.mechanism import MechanismSpec
from dither.mechanisms.noisy_local import NoisyLocal
from dither.mechanisms.smooth import Smooth
from dither.privacy import Loss
from dither.queries.graphs import KStars, KTriangles, Triangles
from dither.sources.graph import Graph
from dither_lab.audit import broken_mechanisms
from dither_lab.audit.answers import examine

COMPLETE = list(combinations(range(6), 2))
HERE, THERE = Graph(COMPLETE, n=6), Graph(COMPLETE[1:], n=6)
CASES = [
    (LadderMechanism(), Loss(1.5)),
    (NoisyLocal(), Loss(1.5, 1e-3)),
    (LargestLocal(), Loss(1.5, 1e-3)),
    (Smooth(), Loss(1.5)),
]


def mechanism_name(case):
    """For the names of tests."""
    return getattr(case[0], "name", "")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES, ids=mechanism_name)
@pytest.mark.parametrize("query", [Triangles(), KStars(2), KTriangles(2)], ids=lambda query: query.label)
@pytest.mark.parametrize("confidence", [None, Fraction(9, 10)], ids=["answer", "with-bar"])
def test_nothing_is_found_in_what_ships(case, query, confidence):
    """Answers alone and with their bars, between K6 and K6 without an edge."""
    mechanism, loss = case
    prepared = mechanism.prepare(MechanismSpec(query.resolve(HERE.shape), loss, None, confidence))
    assert not examine(prepared, HERE, THERE, samples=trials(400, 20_000)).detected


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", CASES, ids=mechanism_name)
def test_noise_that_is_far_too_small_is_found(case):
    """A tenth of the noise shows in a few hundred answers (20 to 30% are caught by the exact audits)."""
    mechanism, loss = case
    prepared = mechanism.prepare(MechanismSpec(Triangles().resolve(HERE.shape), loss))
    broken = broken_mechanisms.noise_too_small(prepared, factor=Fraction(1, 10))
    assert examine(broken, HERE, THERE, samples=trials(3000, 20_000)).detected
