"""What threads keep after they end: nothing that grows with the number of questions."""

import gc
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import dither as dt
from conftest import missing
from dither import numbers

STATUS = Path("/proc/self/status")
RECORDS = np.random.default_rng(0).integers(0, 1000, 2_000)
QUESTIONS = {
    "mean": lambda: dt.mean(RECORDS, bounds=(0, 1000), epsilon=0.5),
    "sum": lambda: dt.sum(RECORDS, bounds=(0, 1000), epsilon=0.5),
    "median": lambda: dt.median(RECORDS, bounds=(0, 1000), epsilon=0.5),
    "quantiles": lambda: dt.quantiles(RECORDS, q=(0.25, 0.5, 0.75), bounds=(0, 1000), epsilon=0.5),
    "histogram": lambda: dt.histogram(RECORDS, edges=list(range(0, 1001, 100)), epsilon=0.5),
    "std": lambda: dt.std(RECORDS, bounds=(0, 1000), epsilon=0.5),
    "iqr": lambda: dt.iqr(RECORDS, bounds=(0, 1000), epsilon=0.5),
    "gaussian": lambda: dt.sum(RECORDS, bounds=(0, 1000), epsilon=0.5, delta=1e-6, noise="gaussian"),
}


def resident():
    """Kilobytes of this process that are in memory."""
    if not STATUS.exists():
        missing("memory by /proc")
    return next(int(line.split()[1]) for line in STATUS.read_text().splitlines() if line.startswith("VmRSS"))


def in_threads(question, count):
    """Ask so many times, each in a thread of its own, after once in this one, where an error would be seen."""
    question()
    for _ in range(count):
        thread = threading.Thread(target=question)
        thread.start()
        thread.join()
    gc.collect()


def test_a_thread_frees_its_caches_when_it_ends(monkeypatch):
    """Once for each thread that did ball arithmetic, in that thread; never in the main thread."""
    cleaned = []

    class Counted:
        prec = 53

        @staticmethod
        def cleanup():
            cleaned.append(threading.get_ident())

    monkeypatch.setattr(numbers, "ctx", Counted)
    threads = [threading.Thread(target=_two_precisions) for _ in range(3)]
    for thread in threads:
        thread.start()
        thread.join()
    _two_precisions()
    for _ in range(1_000):  # (an interpreter may free what a thread kept after it was joined)
        if len(cleaned) < len(threads):
            time.sleep(0.01)
    assert len(cleaned) == len(threads)
    assert threading.get_ident() not in cleaned


def _two_precisions():
    for bits in (64, 96):
        with numbers.precision(bits):
            pass


def test_threads_that_ask_for_means_do_not_add_up():
    """Each left 230 KB: sixty threads 14 MB.  A third of that is more than anything else leaves."""
    in_threads(QUESTIONS["mean"], 20)
    before = resident()
    in_threads(QUESTIONS["mean"], 60)
    assert resident() - before < 4_500


@pytest.mark.slow
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_thousand_questions_leave_little(name):
    """Of every sort, each in a thread of its own: at most 20 KB for each."""
    in_threads(QUESTIONS[name], 100)
    before = resident()
    in_threads(QUESTIONS[name], 1_000)
    assert resident() - before < 20_000


@pytest.mark.slow
def test_a_thousand_questions_of_a_session_leave_little():
    """What a session keeps of a question is its entry in the ledger: at most 40 KB for each."""
    with dt.open(
        {"x": RECORDS.tolist()}, columns={"x": dt.Integer(0, 1000)}, rows=len(RECORDS), budget=dt.Budget(1e5)
    ) as session:

        def question():
            for query in (dt.Mean("x"), dt.Median("x"), dt.Sum("x")):
                session.ask(query, epsilon=0.01, again=True)

        in_threads(question, 50)
        before = resident()
        in_threads(question, 333)
        assert resident() - before < 1_000 * 40
