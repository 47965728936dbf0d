"""What ``make setup`` compiles beforehand."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


def test_every_question_of_the_warm_up_is_answered():
    """In a process of its own, because from then on no kernel is run by Python there."""
    done = subprocess.run([sys.executable, "-m", "dither_lab.warm"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
