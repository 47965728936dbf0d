"""Questions under way: computed by worker threads, shown to those who asked at the ends of public slots only."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from dither.interfaces.answers import Problem
from dither.interfaces.http.bodies import Encoded, encoded
from dither.interfaces.http.lanes import Lanes
from dither.interfaces.http.problems import Refused, problem
from dither.interfaces.http.schedule import slot_end
from dither.kernels.progress import reporting
from dither.plain import Json, JsonObject

MOST_KEPT = 2_000
MOST_BYTES = 64 << 20
"""Of the answers that are kept after their slots ended; the ledger has all of them."""
MOST_PROGRAMS, MOST_PROGRAMS_EACH = 16, 2
"""Programs under way in all, and of one analyst: each may hold the cores for long."""
SHARE_EACH = 4
"""One analyst may have one in so many of the queries under way, so that one does not shut out the others."""
Request = tuple[str, str, str | None]
"""Dataset, analyst and request id."""


class Job:
    """One question.  Its real state is the owner's; everyone else sees it through ``visible``."""

    def __init__(
        self, analyst: str, dataset: str, request_id: str, seconds: float, started: float, question: JsonObject
    ) -> None:
        self.id = secrets.token_hex(16)
        self.question = question
        self.analyst, self.dataset, self.request_id = analyst, dataset, request_id
        self.seconds, self.started = seconds, started
        self.stage, self.share = "queued", None
        self.answer: Encoded | None = None
        self.loss: tuple[Json, Json] = (None, None)
        """Epsilon and delta of the answer."""
        self.readers = 0
        """Requests that wait for the answer or send it; it is kept for them."""
        self.problem: Problem | None = None
        self.failure: BaseException | None = None
        """An unexpected error; it is counted and logged when the slot ends, as every outcome is."""
        self.finished: float | None = None
        self.is_announced = self.is_kept = self.is_program = False
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
        self._lock = threading.Lock()
        self._ended: Callable[[Job], None] | None = None

    @property
    def request(self) -> Request:
        """What a retry would repeat."""
        return self.dataset, self.analyst, self.request_id

    def run(self, work: Callable[[], JsonObject]) -> None:
        """In a worker: compute, and note the outcome."""
        self.stage = "running"
        try:
            with reporting(self._reported):
                answer = work()
                self.loss = answer.get("epsilon"), answer.get("delta")
                self.answer = encoded(answer)
        except Exception as error:  # noqa: BLE001  (whatever happens, whoever asked is told in public terms)
            self.problem, self.failure = problem(error), error
        with self._lock:
            self.finished = time.monotonic() - self.started
            self.stage = "ready"
            for loop, event in self._waiting:
                loop.call_soon_threadsafe(event.set)
            ended = self._ended
        if ended is not None:
            ended(self)

    def when_ended(self, callback: Callable[[Job], None]) -> None:
        """Call once the work is finished, at once if it is; in whichever thread that happens."""
        with self._lock:
            self._ended = callback
            is_finished = self.finished is not None
        if is_finished:
            callback(self)

    def _reported(self, share: float) -> None:
        self.share = share  # type: ignore[assignment]

    @property
    def visible_after(self) -> float:
        """Seconds from the start until the end of the slot in which the work was finished."""
        return slot_end(self.seconds, self.finished or 0.0)

    @property
    def is_visible(self) -> bool:
        """True from the end of the slot in which the work was finished."""
        return self.finished is not None and time.monotonic() - self.started >= self.visible_after

    @contextlib.contextmanager
    def read(self) -> Iterator[None]:
        """Keep the answer meanwhile."""
        with self._lock:
            self.readers += 1
        try:
            yield
        finally:
            with self._lock:
                self.readers -= 1

    @property
    def is_forgotten(self) -> bool:
        """True once the outcome is no longer in memory: the server's database may have it, and the ledger has."""
        return self.finished is not None and self.answer is None and self.problem is None

    async def wait(self, longest: float) -> bool:
        """Sleep until the outcome may be seen, or for the longest time (since the start); true if it may be seen."""
        event = asyncio.Event()
        with self._lock:
            if self.finished is None:
                self._waiting.append((asyncio.get_running_loop(), event))
            else:
                event.set()
        try:
            left = None if longest == float("inf") else max(0.0, self.started + longest - time.monotonic())
            await asyncio.wait_for(event.wait(), left)
        except TimeoutError:
            return False
        end = self.visible_after
        await asyncio.sleep(max(0.0, self.started + min(end, longest) - time.monotonic()))
        return end <= longest

    def visible(self, *, owner: bool) -> JsonObject:
        """The public state of the job."""
        payload = running(self.id, self.dataset, self.request_id, self.seconds, time.monotonic() - self.started)
        if self.is_visible:
            outcome: JsonObject = {"answer": self.answer}
            payload = settled(payload, outcome if self.problem is None else {"problem": self.problem.model_dump()})
        if owner:
            seconds = self.finished if self.finished is not None else time.monotonic() - self.started
            payload["progress"] = {"stage": self.stage, "seconds": round(seconds, 3), "share": self.share}
        return payload


def running(number: str, dataset: str, request_id: str, seconds: float, elapsed: float) -> JsonObject:
    """The public state of a job while its slot lasts: since ``elapsed`` seconds, in slots of ``seconds`` and longer."""
    return {
        "id": number,
        "dataset": dataset,
        "request_id": request_id,
        "state": "running",
        "answer_seconds": seconds,
        "ready_in": round(max(0.0, slot_end(seconds, elapsed) - elapsed), 3),
    }


def settled(payload: JsonObject, outcome: JsonObject) -> JsonObject:
    """The same with its outcome: an answer or a problem."""
    return payload | {"state": "failed" if "problem" in outcome else "done", "ready_in": 0.0} | outcome


class Jobs:
    """The worker threads of a process, and the questions they work on.

    One dataset has half of the threads at most, and each dataset has one: a source that does not answer stops no other.
    Programs have a thread of their own: their sandboxes need all cores, and other queries do not wait for them.
    """

    def __init__(self, workers: int, most_waiting: int) -> None:
        self._answers = Lanes(workers, each=max(1, workers // 2), name="answer")
        self._programs = ThreadPoolExecutor(1, thread_name_prefix="program")
        self._most_waiting = most_waiting
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._requests: dict[Request, list[Job]] = {}
        """A request id may be tried with several questions; only the first of them is ever answered."""

    def start(self, job: Job, work: Callable[[], JsonObject], *, program: bool = False) -> Job:
        """Begin, unless too many questions wait already; a retry gets the job that is under way instead."""
        with self._lock:
            for before in self._requests.get(job.request, ()):
                if not before.is_visible and before.question == job.question:
                    return before
            job.is_program = program
            self._admit(job)
            self._jobs[job.id] = job
            self._requests.setdefault(job.request, []).append(job)
            self._forget()
        if program:
            self._programs.submit(contextvars.copy_context().run, job.run, work)
        else:
            self._answers.submit(functools.partial(job.run, work), share=job.dataset)
        return job

    def _admit(self, job: Job) -> None:
        """Refuse more than there is room for, by what is public: a question is under way until its slot ends."""
        waiting = [item for item in self._jobs.values() if item.is_program == job.is_program and not item.is_visible]
        own = sum(item.analyst == job.analyst for item in waiting)
        most, most_own = self._most_waiting, max(8, self._most_waiting // SHARE_EACH)
        if job.is_program:
            most, most_own = MOST_PROGRAMS, MOST_PROGRAMS_EACH
        if len(waiting) >= most or own >= most_own:
            what = "programs" if job.is_program else "questions"
            whose = "" if len(waiting) >= most else " of yours"
            raise Refused(
                503,
                "busy",
                f"too many {what}{whose} are under way; nothing was read, nothing was charged",
                {"Retry-After": "1"},
            )

    def _count_under_way(self) -> int:
        return sum(not job.is_visible for job in self._jobs.values())

    def _forget(self) -> None:
        """Keep the newest jobs, the newest answers, and all that are under way."""
        past = [job for job in self._jobs.values() if job.is_visible and not job.readers]
        kept = sum(len(job.answer or b"") for job in past)
        for job in past:
            if kept <= MOST_BYTES:
                break
            kept -= len(job.answer or b"")
            job.answer = None
        surplus = len(self._jobs) - MOST_KEPT
        if surplus <= 0:
            return
        for job in [old for old in self._jobs.values() if old.is_visible][:surplus]:
            del self._jobs[job.id]
            self._requests[job.request].remove(job)
            if not self._requests[job.request]:
                del self._requests[job.request]

    def find(self, job_id: str) -> Job | None:
        """A job of this process."""
        with self._lock:
            return self._jobs.get(job_id)

    def of_request(self, dataset: str, analyst: str, request_id: str | None) -> list[Job]:
        """The jobs of a request in this process, if that was not long ago."""
        with self._lock:
            return list(self._requests.get((dataset, analyst, request_id), ()))

    @property
    def under_way(self) -> int:
        """How many questions were asked whose slots have not ended."""
        with self._lock:
            return self._count_under_way()

    def close(self, longest: float = float("inf")) -> bool:
        """Begin nothing more, and finish what is under way; false if that takes longer than the longest time.

        Programs that wait for their turn are given up: nothing was charged for them.
        """
        self._programs.shutdown(wait=False, cancel_futures=True)
        end = time.monotonic() + longest
        while any(item.stage == "running" or (item.stage == "queued" and not item.is_program) for item in self._open()):
            if time.monotonic() > end:
                self._answers.close(wait=False)
                return False
            time.sleep(0.02)
        self._answers.close(wait=True)
        return True

    def _open(self) -> list[Job]:
        with self._lock:
            return list(self._jobs.values())
