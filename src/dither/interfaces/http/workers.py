"""Worker processes, as the server sees them: one for each dataset, replaced when it ends.

A process that aborts, is killed or takes too long costs one question, which stays charged.  Whatever else it was
working on is done again: before the charge by its successor, after it by a process of its own.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import pickle
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Unpack

from dither.errors import AFTER_DRAW, DitherError, TooFewDescriptors
from dither.interfaces.http.channel import Answers, Channel, Message, raise_error
from dither.interfaces.http.environment import source_environment
from dither.interfaces.http.problems import Refused
from dither.interfaces.http.telemetry import WorkFailed, log
from dither.kernels.progress import report
from dither.noise.entropy import notice_draw
from dither.session.plan import SessionPlan
from dither.sources.descriptors import is_short

COMMAND = [sys.executable, "-P", "-m", "dither.interfaces.http.dataset_worker"]
MOST = 16
"""Datasets whose workers are kept; of more than that those are ended that were not asked for the longest time."""
_ATTEMPTS = 3
"""So many workers may end under a question that was not charged yet; then it is refused."""
_STARTING = 60.0
"""Seconds that a process may take to start, beside what its work takes."""
_ENDING = 5.0
"""Seconds that a process which was killed may take to be gone, before its questions go on without it."""
OPENING = 60.0
"""Seconds that opening a source may take, beside the start of its process."""
_STATE = 5.0
"""Seconds that anybody waits to hear whether a source has changed."""
UNCHARGED = "nothing was read, nothing was charged"
DRAWN = f"what was charged stays charged, and {AFTER_DRAW}"
CHARGED = "what was charged stays charged: ask again with the same request_id, which pays nothing more"


class _Ended(Exception):
    """The process is gone."""


class _TooLong(Exception):
    """The process was ended because this took too long."""


@dataclass(frozen=True)
class WorkerSource:
    """What a worker is started with: the text of a schema, how errors call it, and where its files lie."""

    name: str
    text: str
    called: str
    folder: str


class _Process:
    """One worker process and its conversations."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._child = subprocess.Popen(
                [*COMMAND, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env=source_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        self._channel = Channel(ours)
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._replies: dict[int, queue.SimpleQueue[Message | None]] = {}
        self._reading: set[int] = set()
        self._blamed: int | None = None
        self.has_ended = self.has_replied = False
        for work in (self._watch, self._listen):
            threading.Thread(target=work, name="worker", daemon=True).start()

    def begin(self, source: WorkerSource) -> None:
        """Give it its dataset."""
        with contextlib.suppress(OSError):  # (who asks it something will notice)
            self._channel.send(
                {"name": source.name, "text": source.text, "called": source.called, "folder": source.folder}
            )

    @property
    def is_busy(self) -> bool:
        """True while somebody talks to it."""
        return bool(self._replies)

    def _watch(self) -> None:
        self._child.wait()
        self._channel.shut()

    def _listen(self) -> None:
        try:
            with contextlib.suppress(Exception):  # what is no message ends the process, whatever it is
                while (message := self._channel.receive()) is not None:
                    with self._lock:
                        replies = self._replies.get(message["id"])
                        self.has_replied = True
                    if replies is not None:
                        replies.put(message)
        finally:
            self._child.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(_ENDING)
            with self._lock:
                self.has_ended = True
                if self._blamed is None and len(self._reading) == 1:
                    (self._blamed,) = self._reading
                for replies in self._replies.values():
                    replies.put(None)
            self._channel.close()

    def end(self, blamed: int | None = None) -> None:
        """End the process at once: it has nothing to keep.  Another thread waits until it is gone."""
        with self._lock:
            self.has_ended = True
            if self._blamed is None:
                self._blamed = blamed
        self._child.kill()

    def log_end(self, dataset: str) -> None:
        """Log the end of a worker with its exit code (below 0: a signal)."""

        def work() -> None:
            log("worker ended", dataset=dataset, exit_code=self._child.wait(), had_replied=self.has_replied)

        threading.Thread(target=work, name="worker", daemon=True).start()

    @contextlib.contextmanager
    def conversation(self) -> Iterator[_Conversation]:
        """Talk about one question."""
        with self._lock:
            if self.has_ended:
                raise _Ended
            number = next(self._numbers)
            self._replies[number] = queue.SimpleQueue()
        try:
            yield _Conversation(self, number, self._replies[number])
        finally:
            with self._lock:
                del self._replies[number]
                self._reading.discard(number)

    def send(self, message: Message, *, reading: bool = False) -> None:
        """Send a message of a conversation."""
        with self._lock:
            if self.has_ended:
                raise _Ended
            if reading:
                self._reading.add(message["id"])
        try:
            self._channel.send(message)
        except (OSError, ValueError):  # (closed meanwhile)
            self.has_ended = True
            raise _Ended from None

    @property
    def blamed(self) -> int | None:
        """The conversation that the process ended because of, if that is known: it took too long, or was alone."""
        with self._lock:
            return self._blamed


class _Conversation:
    """One question in one process."""

    def __init__(self, process: _Process, number: int, replies: queue.SimpleQueue[Message | None]) -> None:
        self._process, self._number, self._replies = process, number, replies
        self.has_drawn = False

    def ask(self, seconds: float, *, patient: bool = False, **message: Unpack[Message]) -> Message:
        """Send a message and wait for its reply; a process that takes longer is ended, unless one is patient."""
        self._process.send({"id": self._number, **message}, reading=message["do"] == "read")
        end = time.monotonic() + seconds
        while True:
            try:
                reply = self._replies.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                if not patient:
                    self._process.end(self._number)
                    self._look_for_draws()
                raise _TooLong from None
            if reply is None:
                raise _Ended
            if "drew" in reply:
                self._note_draw()
            elif "share" in reply:
                report(reply["share"])
            else:
                raise_error(reply)
                return reply

    def _note_draw(self) -> None:
        self.has_drawn = True
        notice_draw()

    def _look_for_draws(self) -> None:
        """What a process that was ended had said before; what cannot be known counts as a draw."""
        try:
            while (reply := self._replies.get(timeout=2 * _ENDING)) is not None:
                if "drew" in reply:
                    self._note_draw()
        except queue.Empty:
            self._note_draw()

    def leave(self) -> None:
        """Say that nothing more will be asked."""
        with contextlib.suppress(_Ended):
            self._process.send({"id": self._number, "do": "end"})

    @property
    def is_to_blame(self) -> bool:
        """Whether the process ended because of this question."""
        return self._process.blamed == self._number


class Workers:
    """All worker processes of a server, and a spare one that has loaded everything already."""

    def __init__(self, longest: float) -> None:
        self.longest = longest
        """Seconds that work on a question may take before its process is ended."""
        # A process gets a signal when the thread ends that started it: so it is always this one.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="workers")
        self._lock = threading.Lock()
        self._spare: _Process | None = None
        self._used: dict[DatasetWorker, None] = {}
        self._is_closed = False

    def prepare(self) -> None:
        """Have a spare process ready, in the background."""
        with contextlib.suppress(RuntimeError):  # (closed meanwhile)
            self._starter.submit(self._start_spare)

    def _start_spare(self) -> None:
        if self._spare is None and not self._is_closed:
            self._spare = _Process()

    def start(self, source: WorkerSource) -> _Process:
        """A process with its dataset."""
        try:
            taken = self._starter.submit(self._taken)
        except RuntimeError:  # (closed meanwhile)
            raise _stopping() from None
        process = taken.result()
        self.prepare()
        process.begin(source)
        return process

    def _taken(self) -> _Process:
        if self._is_closed:
            raise _stopping()
        process, self._spare = self._spare, None
        if process is not None and not process.has_ended:
            return process
        try:
            return _Process()
        except OSError as error:
            if is_short(error):
                raise TooFewDescriptors(
                    f"no file descriptor is left to start a process for these data; {UNCHARGED}"
                ) from None
            raise Refused(503, "worker-ended", f"no process can be started for these data now; {UNCHARGED}") from None

    def used(self, worker: DatasetWorker) -> None:
        """Note that a dataset was asked, and end what was not for long if there are too many."""
        with self._lock:
            self._used.pop(worker, None)
            self._used[worker] = None
            idle = [item for item in self._used if item is not worker and not item.is_busy]
            surplus = idle[: max(0, len(self._used) - MOST)]
            for item in surplus:
                del self._used[item]
        for item in surplus:
            item.rest()

    def forget(self, worker: DatasetWorker) -> None:
        """A dataset that is gone."""
        with self._lock:
            self._used.pop(worker, None)

    def close(self) -> None:
        """End the spare process; those of datasets are ended with them."""
        self._is_closed = True
        self._starter.shutdown()
        if self._spare is not None:
            self._spare.end()


class DatasetWorker:
    """The worker of one dataset, whichever process that is at the moment."""

    def __init__(self, workers: Workers, source: WorkerSource) -> None:
        self._workers, self._source = workers, source
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._is_closed = False

    @property
    def is_busy(self) -> bool:
        """True while it works on something."""
        process = self._process
        return process is not None and process.is_busy

    @contextlib.contextmanager
    def _talking(self) -> Iterator[_Conversation]:
        """Talk about one question with the process of the moment.

        Begun under the lock that ``rest`` holds: a process is ended for being idle before this, or not at all.
        """
        with contextlib.ExitStack() as stack:
            with self._lock:
                process = self._process
                if process is None or process.has_ended:
                    if process is not None:  # now, and not when it ended: that depends on the data
                        process.log_end(self._source.name)
                    process = self._process = self._workers.start(self._source)
                talk = stack.enter_context(process.conversation())
            if not self._is_closed:
                self._workers.used(self)
            yield talk

    def rest(self) -> None:
        """End the process, unless it is at work; the next question starts another."""
        with self._lock:
            process = self._process
            if process is None or process.is_busy:
                return
            self._process = None
        process.end()

    def close(self) -> None:
        """Keep no process any longer than the questions that are under way."""
        self._is_closed = True
        self._workers.forget(self)
        self.rest()

    def opened(self, *, reads_edges: bool = False) -> Message:
        """Open the source: what is public about it, or an error for owners.

        reads_edges: public edges are read from it too, which may take as long as a question.
        """
        longest = self._workers.longest
        with self._asked(longest if reads_edges else min(longest, OPENING), do="open") as (_, reply):
            return reply

    def stored_types(self) -> dict[str, str]:
        """The columns of the source and the types that they are stored in, or an error for owners."""
        with self._asked(min(self._workers.longest, OPENING), do="columns") as (_, reply):
            return reply["columns"]

    def state(self) -> str | None:
        """What the source says of its last change; None if it does not, or if the worker is too busy to ask."""
        with contextlib.suppress(_Ended, _TooLong, DitherError, WorkFailed), self._talking() as talk:
            state: str | None = talk.ask(_STATE, patient=True, do="state")["state"]
            return state
        return None

    @contextlib.contextmanager
    def _asked(self, longest: float, **message: Unpack[Message]) -> Iterator[tuple[_Conversation, Message]]:
        """Begin a conversation that charges nothing yet; a process that ends meanwhile is replaced."""
        try:
            with contextlib.ExitStack() as stack:
                for _ in range(_ATTEMPTS):
                    with contextlib.suppress(_Ended):
                        talk = stack.enter_context(self._talking())
                        reply = talk.ask(longest + _STARTING, **message)
                        break
                else:
                    raise _TooLong
                yield talk, reply
        except _TooLong:
            raise _refused("nothing could be prepared", longest + _STARTING, UNCHARGED) from None
        finally:
            if self._is_closed:
                self.rest()

    @contextlib.contextmanager
    def prepared(self, plans: list[SessionPlan], seconds: float) -> Iterator[Callable[[], Answers]]:
        """Prepare what was planned; within, the function that has it read and answered once it is charged.

        seconds: what its public schedule needs, beside the time that any work may take.
        """
        message: Message = {"do": "prepare", "plans": base64.b64encode(pickle.dumps(plans)).decode()}
        longest = self._workers.longest + seconds
        with self._asked(self._workers.longest, **message) as (talk, _):
            try:
                yield lambda: self._read(talk, message, longest)
            finally:
                talk.leave()

    def _read(self, talk: _Conversation, message: Message, longest: float) -> Answers:
        with contextlib.suppress(_Ended, _TooLong):
            answers: Answers = talk.ask(longest, do="read")["answers"]
            return answers
        # Where a number was drawn it may be why the process ended, or why this was still under way when it did.
        if not (talk.is_to_blame or talk.has_drawn):
            with contextlib.suppress(_Ended, _TooLong, DitherError, WorkFailed):
                return self._read_alone(talk, message, longest)
        raise _refused("this question was not answered", longest, DRAWN if talk.has_drawn else CHARGED)

    def _read_alone(self, first: _Conversation, message: Message, longest: float) -> Answers:
        """Again, for a question that was charged when its process ended because of another one."""
        process = self._workers.start(self._source)
        try:
            with process.conversation() as talk:
                talk.ask(longest + _STARTING, **message)
                try:
                    answers: Answers = talk.ask(longest, do="read")["answers"]
                    return answers
                finally:
                    first.has_drawn |= talk.has_drawn
        finally:
            process.end()


def _stopping() -> Refused:
    return Refused(503, "stopping", f"the server is ending; {UNCHARGED}")


def _refused(what: str, longest: float, charged: str) -> Refused:
    return Refused(
        503,
        "worker-ended",
        f"{what}: the process that works on these data ended, or took longer than {longest:g} seconds; {charged}",
    )
