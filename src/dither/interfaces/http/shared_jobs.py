"""Jobs that every server can answer for: kept beside the tokens, visible by the same public schedule.

A process answers for its own jobs from memory.  The database is for other processes and for later ones.
"""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta

from dither.errors import DitherError
from dither.interfaces.http.bodies import Encoded, encoded
from dither.interfaces.http.jobs import Job, running, settled
from dither.interfaces.http.problems import Refused, problem
from dither.interfaces.http.server_state import Curator
from dither.interfaces.http.store import KeptJob
from dither.interfaces.http.telemetry import log
from dither.plain import JsonObject

_ANSWER = '{"answer": '
"""How the outcome of a job with an answer begins: the answer itself is not read again, which may be large."""
BEAT = 10.0
"""Seconds between two notes of a process that it still works on its jobs."""
LOST_AFTER = timedelta(seconds=60)
"""Seconds without such a note after which a process counts as ended."""


def keep(curator: Curator, job: Job) -> bool:
    """Note a job for other servers; false if that failed, which only they will notice."""
    now, gone = datetime.now(UTC), timedelta(seconds=time.monotonic() - job.started)
    try:
        curator.store.keep_job(
            curator.process,
            KeptJob(job.id, job.analyst, job.dataset, job.request_id, job.seconds, now - gone, now, None, None),
        )
    except DitherError as error:
        log("job not kept", dataset=job.dataset, request_id=job.request_id, code=error.code)
        return False
    job.when_ended(lambda ended: _note_end(curator, ended))
    return True


def _note_end(curator: Curator, job: Job) -> None:
    left = timedelta(seconds=job.started + job.visible_after - time.monotonic())
    outcome = encoded({"answer": job.answer} if job.problem is None else {"problem": job.problem.model_dump()})
    try:
        curator.store.end_job(job.id, datetime.now(UTC) + left, outcome.decode())
    except DitherError as error:
        log("job not kept", dataset=job.dataset, request_id=job.request_id, code=error.code)


async def beating(curator: Curator) -> None:
    """Note, at intervals, that this process works on its jobs, until it has none."""
    while True:
        await asyncio.sleep(BEAT)
        try:
            if not await curator.threads.run(curator.store.still_working, curator.process):
                return
        except DitherError:
            continue  # the store may come back; until then other servers do not see the job


def job_payload(kept: KeptJob) -> JsonObject:
    """What any server says about a job that another process works on, or worked on."""
    now = datetime.now(UTC)
    elapsed = max(0.0, (now - kept.started).total_seconds())
    facts = running(kept.id, kept.dataset, kept.request_id, kept.seconds, elapsed)
    if kept.outcome is not None and kept.visible_from is not None:
        if now < kept.visible_from:
            return facts
        if kept.outcome.startswith(_ANSWER):
            answer = Encoded(kept.outcome.removeprefix(_ANSWER).removesuffix("}").encode())
            return settled(facts, {"answer": answer})
        problem_found: JsonObject = json.loads(kept.outcome)
        return settled(facts, problem_found)
    if now - kept.seen > LOST_AFTER:
        lost = Refused(
            503,
            "lost",
            "the server that worked on this has ended; ask again with the same request_id: if the "
            "question had been charged, that pays nothing more",
        )
        return settled(facts, {"problem": problem(lost).model_dump()})
    return facts
