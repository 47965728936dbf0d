"""Time, standard streams and exit codes say nothing about who is in the data."""

import shutil
import subprocess
import sys
import time

import numpy as np

from dither.procedures.executor import Output, Trusted
from dither.sandbox import Executable, Function, Sandbox
from dither.sandbox.seccomp import machine_architecture
from dither.sandbox.syscalls import numbers

TARGET = 4242.0
OUTPUT = Output(1, bounds=(0, 10), default=3)
BLOCKS = 4

DEEDS = {
    "sleep": "time.sleep(0.15)",
    "sleep beyond the limit": "time.sleep(5)",
    "spin": "spin(0.15)",
    "spin beyond the limit": "spin(5)",
    "crash": "os.kill(os.getpid(), signal.SIGSEGV) or os.abort()",
    "hoard": "return float(sum(bytearray(300 << 20)[::4096]))",
    "answer": "return 2.0",
}
SOURCE = f"""
import os, signal, time

def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass

def program(rows):
    if (rows == {TARGET}).any():
        return deeds[int(rows[0])]()
    return 1.0

""" + "\n".join(f"def deed{number}():\n    {deed}\n    return 1.0" for number, deed in enumerate(DEEDS.values()))
SOURCE += f"\ndeeds = [{', '.join(f'deed{number}' for number in range(len(DEEDS)))}]\n"


def blocks(deed, present):
    """One person is the target, or is not; the rest are the same."""
    made = [np.full(50, float(list(DEEDS).index(deed))) for _ in range(BLOCKS)]
    if present:
        made[1][17] = TARGET
    return made


def timed(executor, deed, present):
    """Seconds and answers of one release."""
    begin = time.perf_counter()
    answers = executor.run(blocks(deed, present))
    return time.perf_counter() - begin, answers[:, 0]


def test_the_time_of_a_release_does_not_depend_on_the_target(trials):
    """The shortest release with and without the target differ by less than 10 ms, whatever the program does.

    And only the target's own block may answer otherwise.  Power: the same deeds move the control, which has no
    schedule, by 0.1 s and more.  A false alarm needs the machine to delay every run of one kind by 10 ms after a sleep,
    or a block that takes 10 ms by 0.2 s.
    """
    runs = trials(2, 25)
    with Sandbox(Function(SOURCE, "program"), output=OUTPUT, slot=0.3) as box:
        planned = box.schedule(BLOCKS).seconds
        for deed in DEEDS:
            times: dict[bool, list[float]] = {True: [], False: []}
            for present in [True, False] * runs:
                taken, answers = timed(box, deed, present)
                times[present].append(taken)
                assert (np.delete(answers, 1) == 1.0).all(), deed
                assert answers[1] in ({0.0, 1.0, 2.0, 3.0} if present else {1.0}), deed
            assert abs(min(times[True]) - min(times[False])) < 0.01, deed
            assert min(times[True] + times[False]) >= planned, deed


def test_the_same_deeds_show_in_the_time_without_a_schedule():
    """The control: run in one process, a sleeping or spinning program tells by its time."""
    names: dict = {}
    exec(SOURCE, names)  # noqa: S102 - the control
    control = Trusted(names["program"], output=OUTPUT)
    for deed in ("sleep", "spin"):
        assert timed(control, deed, present=True)[0] - timed(control, deed, present=False)[0] > 0.1, deed
    assert timed(control, "answer", present=True)[1].tolist() == [1.0, 2.0, 1.0, 1.0]


SCRIPT = """
import sys
import numpy as np
from dither.procedures.executor import Output
from dither.sandbox import Executable, Function, Sandbox
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


COUNTERS = """
import mmap, os, stat
def numbers_seen(rows):
    if rows[0] == 1.0:
        for _ in range(3000):
            mmap.mmap(-1, 4096).close()
            try:
                for end in os.pipe():
                    os.close(end)
            except OSError:
                pass
    seen = made = 0
    for descriptor in range(64):
        try:
            seen = max(seen, os.fstat(descriptor).st_ino)
        except OSError:
            pass
    try:
        ends = os.pipe()
        made = os.fstat(ends[0]).st_ino
        for end in ends:
            os.close(end)
    except OSError:
        pass
    return [float(seen), float(made)]
"""


def test_no_counter_of_the_machine_tells_what_other_blocks_did():
    """Inode numbers of pipes and memory files count up for all blocks; outside the deed shows in the next number."""
    names: dict = {}
    exec(COUNTERS, names)  # noqa: S102 - the control
    before, _, after = (names["numbers_seen"](np.array([deed])) for deed in (0.0, 1.0, 0.0))
    assert abs(after[1] - before[1]) > 1000
    with Sandbox(Function(COUNTERS, "numbers_seen"), output=Output(2, bounds=(0, 1e18)), slot=0.6) as box:
        answers = box.run([np.array([deed]) for deed in (0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0)])
        assert box.failures == 0
    assert len({tuple(answer) for answer in answers}) == 1


def test_the_streams_of_an_executable_have_no_number_from_outside():
    """Standard input and output of every block have the same inode numbers."""
    stat = Executable(shutil.which("stat"), ["-L", "-c", "%i", "-"])
    with Sandbox(stat, output=Output(1, bounds=(0, 1e18)), slot=0.4) as box:
        answers = box.run([np.zeros(1)] * 6)
        assert box.failures == 0
    assert len(set(answers.ravel())) == 1


WAKING = """
import ctypes, json, os, struct, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
def program(rows):
    library = os.open(json.__file__, os.O_RDONLY)
    place = ctypes.c_void_p(libc.mmap(None, 4096, 1, 1, library, 0))
    word = ctypes.c_int.from_address(place.value).value
    if rows[0] == 0.0:
        return float(libc.syscall(FUTEX, place, 0, word, struct.pack("qq", int(rows[1]), 0), None, 0) == 0)
    end = time.monotonic() + rows[1]
    while time.monotonic() < end:
        if libc.syscall(FUTEX, place, 1, 9, None, None, 0) > 0:
            return 1.0
        time.sleep(0.001)
    return 0.0
"""


def test_blocks_that_run_at_the_same_time_cannot_wake_each_other():
    """A wait on a page of a library that both map: the control wakes another process through it."""
    source = WAKING.replace("FUTEX", str(numbers(machine_architecture())["futex"]))
    script = f"{source}\nimport sys\nprint(program([float(sys.argv[1]), 20]))"
    both = [subprocess.Popen([sys.executable, "-c", script, side], stdout=subprocess.PIPE) for side in "01"]
    assert [one.communicate()[0] for one in both] == [b"1.0\n"] * 2
    with Sandbox(Function(source, "program"), output=Output(1, bounds=(-1, 1), default=-1), slot=2.0) as box:
        for _ in range(3):
            answers = box.run([np.array([side, 0.7]) for side in (0.0, 1.0, 0.0, 1.0)])
            if box.failures == 0:
                break
    assert answers.ravel().tolist() == [0.0] * 4
