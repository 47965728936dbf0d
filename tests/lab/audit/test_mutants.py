"""Everything broken on purpose is found, by the auditors of what ships.

Computed ones are certain.  Of those that are sampled every finding is wrong with probability at most 1e-9.  They have
at least the runs of tests/statistical/test_blackbox_audit.py and mostly half as many again: where the broken law is
known a miss is computed to be rarer than 1e-12, elsewhere lower bounds lie 1 or more above the claim.
"""

import pytest

from dither_lab.audit import broken_mechanisms
from dither_lab.audit.checks import Effort
from dither_lab.audit.mutants import mutants

EVERY = list(mutants())
FIRST = {(check.detail.partition(",")[0], check.method): check.key for check in reversed(EVERY)}
"""One mutant for each mechanism, or place where the mistake is made, and each detector."""


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=check.key, marks=[] if check.key in FIRST.values() else pytest.mark.slow)
        for check in EVERY
    ],
)
def test_every_mutant_is_found(check):
    """Noise 20% small, local sensitivity raw, beta ignored, the charge after the read, a data-dependent grid ..."""
    result = check.run(Effort(quick=True))
    assert not result.holds, result


def test_the_list_is_complete():
    """The mistakes that must be on it, and whatever broken_mechanisms.py offers."""
    named = {check.subject for check in EVERY}
    assert named >= {
        "noise 20% small",
        "local sensitivity used raw",
        "beta ignored",
        "the charge after the read",
        "a grid from the data",
        "delta ignored",
        "an interval that spends nothing",
        "bounded range that is none",
        "integer noise with the rho of real noise",
        "a join that multiplies rows",
        "an orphan row counted",
        "a limit of joined rows that is not paid for",
    }
    offered = {name for name, one in vars(broken_mechanisms).items() if callable(one) and not name.startswith("_")}
    made_there = {name for name in offered if getattr(broken_mechanisms, name).__module__ == broken_mechanisms.__name__}
    assert made_there == {
        "noise_too_small",
        "noise_and_law_too_small",
        "local_sensitivity_used_raw",
        "beta_ignored",
        "interval_unpaid",
        "grid_from_data",
        "delta_ignored",
    }


def test_names_are_different():
    """Each has a key of its own."""
    assert len({check.key for check in EVERY}) == len(EVERY)
