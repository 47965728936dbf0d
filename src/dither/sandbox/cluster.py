"""The same blocks on many machines: a Ray cluster whose nodes each run sandboxes of their own.

A node gets one long-lived actor.  The actor starts sandbox processes and hands blocks to them; the analyst's code
never runs in a Ray worker.  Ray and the machines in the cluster are the owner's and see the data; isolation is
probed on every node, and a node where it does not hold takes the whole start down with it.

When a node dies its blocks run again on the others.  The time for that is part of the public plan, used or not, so
that the moment of the answer does not depend on it.  A block is never dropped: where no node is left, ``run`` says so.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias, Unpack

import numpy as np

from dither.errors import ClusterLost, DitherError, InvalidArgument
from dither.procedures.executor import Answers, Block, Output
from dither.sandbox.pool import Sandbox
from dither.sandbox.programs import GivenProgram, as_program
from dither.sandbox.schedule import Schedule, checked_seconds, moment_after_drawing, wait_until_planned
from dither.typing import SandboxSettings

if TYPE_CHECKING:
    import ray
    import ray.actor

Node: TypeAlias = "ray.actor.ActorHandle[ClusterNode]"
Running: TypeAlias = "ray.ObjectRef[tuple[Answers, int]]"

_STARTING_SECONDS = 300.0
_CONNECTING_SECONDS = 60.0
_DELIVERY_SECONDS = 2.0
_WATCHING_SECONDS = 1.0
_LOST = (ConnectionError,)  # besides what Ray raises: the way to the cluster itself is gone


@dataclass(frozen=True, slots=True)
class ClusterSchedule:
    """The public plan of a release on a cluster: one pass over all nodes, and time to repeat what is lost."""

    blocks: int
    cores: tuple[int, ...]
    slot: float
    losses: int
    detection: float
    lead: float = 0.0

    def share(self, node: int) -> int:
        """How many blocks a node gets at first: in proportion to its cores, the remainder to the first nodes."""
        return len(range(*self._slice(node)))

    def _slice(self, node: int) -> tuple[int, int]:
        total, before = sum(self.cores), sum(self.cores[:node])
        return self.blocks * before // total, self.blocks * (before + self.cores[node]) // total

    def places(self, node: int) -> list[int]:
        """Which blocks these are."""
        return list(range(*self._slice(node)))

    @property
    def seconds(self) -> float:
        """From asking to answering, whether or not a node is lost."""
        first = max(self._alone(self.share(node), self.cores[node]) for node in range(len(self.cores)))
        by_size = sorted(self.cores)
        left = sum(by_size[: len(by_size) - self.losses])
        again = math.ceil(self.blocks * (sum(by_size) - left) / sum(by_size)) + left  # a round more for uneven shares
        return self.lead + first + self.losses * (self.detection + self._alone(again, left)) + _DELIVERY_SECONDS

    def _alone(self, blocks: int, cores: int) -> float:
        return Schedule(blocks=blocks, cores=cores, slot=self.slot).seconds


class ClusterSettings(SandboxSettings, total=False):
    """What ``Cluster`` takes beside the program, its output and the address."""

    losses: int
    detection: float


class ClusterNode:
    """Runs as a Ray actor on one node; holds that node's sandboxes.  No code of the analyst's in this process."""

    def __init__(self, program: GivenProgram, output: Output, settings: SandboxSettings) -> None:
        self._box = Sandbox(program, output=output, **settings)
        self._done = 0

    def start(self) -> int | DitherError:
        """How many blocks at once, or what is wrong: returned, for Ray would wrap what is raised."""
        try:
            self._box.__enter__()
        except DitherError as error:
            return error
        return self._box.cores

    def run(self, blocks: Sequence[Block]) -> tuple[Answers, int]:
        """Answers and how many of them are defaults."""
        self._done = 0
        answers = self._box.run(blocks, progress=self._note)
        return answers, self._box.failures

    def done(self) -> int:
        """How many blocks of this run are over."""
        return self._done

    def _note(self, rounds: int, _planned: int) -> None:
        self._done = rounds * self._box.cores

    def close(self) -> None:
        """End this node's sandboxes."""
        self._box.close()


class Cluster:
    """Runs a program in sandboxes on every node of a Ray cluster; an executor like ``Sandbox``.

    ``address`` is ``"ray://host:port"``, the ``"host:port"`` of a cluster, ``"auto"``, or None for a cluster that
    exists only on this machine.  ``losses`` is how many nodes may die during a release without harm; the plan sets time
    aside to notice that (``detection`` seconds each) and to run their blocks again.  Should even that not suffice, the
    answer comes late rather than without those blocks.  Other settings go to the ``Sandbox`` of each node.
    """

    def __init__(
        self,
        program: GivenProgram,
        *,
        output: Output,
        address: str | None = None,
        losses: int = 1,
        detection: float = 30.0,
        **settings: Unpack[SandboxSettings],
    ) -> None:
        self._program = as_program(program)
        self._output = output
        self._address = address
        if isinstance(losses, bool) or not isinstance(losses, int) or losses < 0:
            raise InvalidArgument(
                "losses", losses, "must be the number of nodes that may die during a release, 0 or more"
            )
        self._losses = losses
        self._detection = checked_seconds("detection", detection, 0.0)
        alike: SandboxSettings = {**settings, "cores": None}
        template = Sandbox(self._program, output=output, **alike)  # refuses what nodes would
        self._slot = template.schedule(1).slot
        self._lead = settings.pop("lead", 0.0)
        self._settings = settings
        self._nodes: list[Node] = []
        self._cores: list[int] = []
        self._connected = False
        self.failures = 0
        self.lost_nodes = 0
        self.repeated_blocks = 0

    @property
    def output(self) -> Output:
        """The public shape of an answer."""
        return self._output

    def __enter__(self) -> Self:
        ray = _ray()
        if not ray.is_initialized():
            self._connect(ray)
        try:
            affinity = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
            # Two calls at a time: one runs blocks, the other reports how many are done.
            actor = ray.remote(num_cpus=0, max_restarts=0, max_concurrency=2)(ClusterNode)
            self._nodes = [
                actor.options(scheduling_strategy=affinity(node_id=node["NodeID"], soft=False)).remote(
                    self._program, self._output, self._settings
                )
                for node in ray.nodes()
                if node["Alive"]
            ]
            started = ray.get([node.start.remote() for node in self._nodes], timeout=_STARTING_SECONDS)
            for outcome in started:
                if isinstance(outcome, DitherError):
                    raise outcome
            self._cores = started
            if self._losses >= len(self._nodes):
                raise InvalidArgument(
                    "losses", self._losses, f"must be below {len(self._nodes)}, the number of nodes of the cluster"
                )
        except BaseException:
            self.close()
            raise
        return self

    def _connect(self, ray: ModuleType) -> None:
        """Connect to the cluster, which may take a while to answer."""
        local = {} if self._address else {"include_dashboard": False}
        by = time.monotonic() + _CONNECTING_SECONDS
        while True:
            try:
                ray.init(address=self._address, log_to_driver=False, **local)
            except (ConnectionError, ValueError):
                if time.monotonic() < by and self._address is not None:
                    time.sleep(1.0)
                    continue
                raise InvalidArgument(
                    "executor", self._address, "must be the address of a Ray cluster that answers"
                ) from None
            self._connected = True
            return

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the sandboxes of all nodes, and the connection if it was made here."""
        ray = _ray()
        for node in self._nodes:
            with contextlib.suppress(*_LOST, ray.exceptions.RayError):
                ray.get(node.close.remote(), timeout=10)
            with contextlib.suppress(*_LOST, ray.exceptions.RayError, ValueError):
                ray.kill(node)
        self._nodes, self._cores = [], []
        if self._connected:
            ray.shutdown()
            self._connected = False

    def schedule(self, blocks: int) -> ClusterSchedule:
        """The public plan for so many blocks."""
        losses = min(self._losses, len(self._cores) - 1)
        return ClusterSchedule(blocks, tuple(self._cores), self._slot, losses, self._detection, self._lead)

    def run(
        self, blocks: Sequence[Block], *, progress: Callable[[int, int], None] | None = None, begun: float | None = None
    ) -> Answers:
        """The answers, one row a block, at the planned moment.

        ``progress`` gets how many blocks are done: real progress, for the owner alone.  Raises ClusterLost, at the
        planned moment too, if blocks are left and no node is.
        """
        if not self._nodes:
            raise InvalidArgument("cluster", "closed", "use it in a with statement")
        plan = self.schedule(len(blocks))
        first = moment_after_drawing(begun, self._lead)
        answers = self._output.defaults(len(blocks))
        work = [(node, plan.places(place)) for place, node in enumerate(self._nodes)]
        self.failures = self.lost_nodes = self.repeated_blocks = 0
        done = 0
        lost: list[int] = []
        while work:
            handed: list[tuple[Node, list[int], Running]] = [
                (node, places, node.run.remote([blocks[k] for k in places])) for node, places in work if places
            ]
            self._watch(handed, done, len(blocks), progress)
            lost = []
            for node, places, running in handed:
                outcome = _outcome(running)
                if outcome is None:
                    lost += places
                    self._forget(node)
                    continue
                answers[places], failures = outcome
                self.failures += failures
                done += len(places)
            if progress is not None:
                progress(done, len(blocks))
            self.repeated_blocks += len(lost)
            if lost and not self._nodes:
                break
            work = _dealt(lost, self._nodes, self._cores)
        wait_until_planned(first + plan.seconds - plan.lead, _DELIVERY_SECONDS)
        if lost:
            raise ClusterLost(self.lost_nodes)
        return answers

    def _watch(
        self,
        handed: Sequence[tuple[Node, list[int], Running]],
        before: int,
        planned: int,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        """Report to the owner how far the nodes are, until all of them have answered or died."""
        ray = _ray()
        waiting = [running for _, _, running in handed] if progress is not None else []
        while waiting:
            with contextlib.suppress(*_LOST, ray.exceptions.RayError):
                _, waiting = ray.wait(waiting, num_returns=len(waiting), timeout=_WATCHING_SECONDS)
                payload = [min(self._done_by(node), len(places)) for node, places, _ in handed]
                if waiting and progress is not None:
                    progress(before + sum(payload), planned)
                continue
            return

    def _done_by(self, node: Node) -> int:
        ray = _ray()
        with contextlib.suppress(*_LOST, ray.exceptions.RayError):
            return int(ray.get(node.done.remote(), timeout=_WATCHING_SECONDS))
        return 0

    def _forget(self, node: Node) -> None:
        place = self._nodes.index(node)
        del self._nodes[place], self._cores[place]
        self.lost_nodes += 1


def _outcome(handed: Running) -> tuple[Answers, int] | None:
    """What a node answered, None if it died."""
    ray = _ray()
    try:
        answers, failures = ray.get(handed)
    except (*_LOST, ray.exceptions.RayError):
        return None
    return np.asarray(answers), failures


def _dealt(places: list[int], nodes: list[Node], cores: list[int]) -> list[tuple[Node, list[int]]]:
    """Blocks dealt to the nodes that are left, in proportion to their cores."""
    if not places:
        return []
    plan = ClusterSchedule(len(places), tuple(cores), slot=1.0, losses=0, detection=0.0)
    return [(node, [places[k] for k in plan.places(number)]) for number, node in enumerate(nodes)]


def _ray() -> ModuleType:
    try:
        import ray  # noqa: PLC0415 - optional, and slow to import
        import ray.util.scheduling_strategies  # noqa: PLC0415
    except ImportError:
        raise InvalidArgument("executor", "ray", "needs Ray: pip install 'dither[ray]'") from None
    return ray
