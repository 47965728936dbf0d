"""Time, standard streams and exit codes say nothing about who is in the data."""

import subprocess
import sys
import time

import numpy as np

from dither.procedures.executor import Output, Trusted
from dither.sandbox import Function, Sandbox

TARGET = 4242.0
OUTPUT = Output(1, bounds=(0, 10), default=3)
BLOCKS = 6

TELL = """
import sys, time, os, signal
def program(rows):
    if (rows == {target}).any():
        {deed}
    return 1.0
"""
DEEDS = {
    "sleep": "time.sleep(0.25)",
    "sleep beyond the limit": "time.sleep(5)",
    "spin": "[None for _ in iter(lambda end=time.perf_counter() + 0.2: time.perf_counter() < end, False)]",
    "crash": "os.kill(os.getpid(), signal.SIGSEGV) or os.abort()",
    "hoard": "return float(sum(bytearray(300 << 20)[::4096]))",
    "answer": "return 2.0",
}


def blocks(present):
    """One person is the target, or is not; the rest are the same."""
    made = [np.full(50, float(place)) for place in range(BLOCKS)]
    if present:
        made[2][17] = TARGET
    return made


def timed(executor, present):
    """Seconds and answers of one release."""
    begin = time.perf_counter()
    answers = executor.run(blocks(present))
    return time.perf_counter() - begin, answers


def test_the_time_of_a_release_does_not_depend_on_the_target(trials):
    """Medians of the release time with and without the target differ by less than 10 ms, whatever the program does.

    Power: the same deeds move the control, which has no schedule, by 0.2 s and more.  A false alarm needs the machine
    to delay half of the runs of one kind, and not of the other, by 10 ms after a sleep.
    """
    runs = trials(3, 25)
    for name, deed in DEEDS.items():
        program = Function(TELL.format(target=TARGET, deed=deed), "program")
        with Sandbox(program, output=OUTPUT, slot=0.12) as box:
            planned = box.schedule(BLOCKS).seconds
            times = {True: [], False: []}
            for turn in range(2 * runs):
                present = turn % 2 == 0
                taken, answers = timed(box, present)
                times[present].append(taken)
                others = np.delete(answers[:, 0], 2)
                assert (others == 1.0).all(), name
                assert answers[2, 0] in ({1.0, 2.0, 3.0} if present else {1.0}), name
        with_target, without = np.median(times[True]), np.median(times[False])
        assert abs(with_target - without) < 0.01, name
        assert min(times[True] + times[False]) >= planned, name


def test_the_same_deeds_show_in_the_time_without_a_schedule():
    """The control: run in one process, a sleeping or spinning program tells by its time."""
    for name in ("sleep", "spin"):
        names: dict = {}
        exec(TELL.format(target=TARGET, deed=DEEDS[name]), names)  # noqa: S102 - the control
        control = Trusted(names["program"], output=OUTPUT)
        assert timed(control, present=True)[0] - timed(control, present=False)[0] > 0.15, name


SCRIPT = """
import sys
import numpy as np
from dither.procedures.executor import Output
from dither.sandbox import Function, Sandbox
source = '''
import os, sys
def program(rows):
    if (rows == {target}).any():
        for descriptor in range(64):
            if descriptor not in (3, 4):
                try:
                    os.write(descriptor, b"the target is here")
                except OSError:
                    pass
        print("the target is here", flush=True)
        print("the target is here", file=sys.stderr, flush=True)
        os._exit(77)
    return 1.0
'''
if "{where}" == "outside":
    names = dict()
    exec(source, names)
    names["program"](np.array([{value}]))
with Sandbox(Function(source, "program"), output=Output(1, bounds=(0, 1), default=1), slot=0.2, cores=1) as box:
    print(box.run([np.array([{value}])])[0, 0])
"""


def test_streams_and_exit_code_say_nothing():
    """With the default in place of the answer, the owner's process prints and returns the same for both."""

    def told(where, value):
        text = SCRIPT.format(target=TARGET, value=value, where=where)
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, check=False)
        return done.returncode, done.stdout, done.stderr

    assert told("inside", TARGET) == told("inside", 0.0) == (0, b"1.0\n", b"")
    assert told("outside", TARGET)[0] == 77
    assert b"target" in told("outside", TARGET)[1]
