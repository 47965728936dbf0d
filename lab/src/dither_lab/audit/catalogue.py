"""All checks of the audit, and which public names have none."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence

from dither.errors import InvalidArgument
from dither_lab.audit.adaptive_analysts import analyst_checks
from dither_lab.audit.audited_queries import pair_checks, query_checks
from dither_lab.audit.checks import Check, Effort, Evidence
from dither_lab.audit.drawn_intervals import drawn_interval_checks
from dither_lab.audit.laws.registry import registered
from dither_lab.audit.laws.tails import registered_tails
from dither_lab.audit.laws_and_losses import law_checks, loss_checks
from dither_lab.audit.linked_people import linked_people_checks
from dither_lab.audit.nested_quantiles import nested_quantile_checks
from dither_lab.audit.procedure_checks import procedure_checks
from dither_lab.audit.public_api import public_api_checks
from dither_lab.audit.rational_samplers import sampler_checks
from dither_lab.audit.records import record_checks
from dither_lab.audit.servers import server_checks
from dither_lab.audit.traces import trace_checks

PUBLIC_ONLY = {
    "errors": (
        "BudgetExceeded",
        "DitherError",
        "InvalidArgument",
        "InvalidData",
        "NotApplicable",
        "NotProved",
        "SourceFailed",
    ),
    "public knowledge, never data": (
        "DegreeSequence",
        "ErdosRenyi",
        "Exponential",
        "Lognormal",
        "Normal",
        "PublicSample",
        "Uniform",
    ),
    "read like whole numbers and reals": ("Date", "Decimal", "Duration", "Timestamp"),
    "what is declared of tables, none of it read": ("LinkedTable",),
    "a confidence for several intervals: public": ("Simultaneous",),
    "shows how far a program is, by its public schedule": ("ProgressBar",),
    "how a text file is laid out: public": ("TextLayout",),
    "a door to a session on another machine": ("connect",),
    "for owners, not private and not reachable from a server": ("inspect",),
    "arithmetic on losses, which are public": ("belief", "from_dp_event", "to_dp_event"),
    "types only": ("typing",),
    "no mechanism": ("__version__",),
}
"""Public names that release nothing, by the reason why no check is theirs."""


def independence_checks() -> Iterator[Check]:
    """Every mechanism and every noise has a law that the laboratory computes by itself; one without it is a finding."""
    from dither.mechanisms.choice import MECHANISMS, NOISES  # noqa: PLC0415

    for name in MECHANISMS:
        yield Check("independent laws", "exact", _registered(name, registered().keys()), name, proof="audit")
    for name in NOISES:
        yield Check("independent laws", "exact", _registered(name, registered_tails()), noise=name, proof="audit")


def _registered(name: str, known: Iterable[str]) -> Callable[[Effort], Evidence]:
    result = name in known
    note = "" if result else f"nothing to compare {name!r} with: it has no independent law in dither_lab.audit.laws"
    return lambda effort: Evidence(result, cases=1, note=note)


@functools.cache
def catalogue() -> dict[str, Check]:
    """Every check by its key."""
    results: dict[str, Check] = {}
    for check in (
        *independence_checks(),
        *public_api_checks(),
        *query_checks(),
        *pair_checks(),
        *drawn_interval_checks(),
        *nested_quantile_checks(),
        *law_checks(),
        *sampler_checks(),
        *loss_checks(),
        *analyst_checks(),
        *procedure_checks(),
        *trace_checks(),
        *record_checks(),
        *linked_people_checks(),
        *server_checks(),
    ):
        if check.key in results:
            raise RuntimeError(f"two checks have the name {check.key!r}")
        results[check.key] = check
    return results


def selected(subject: str | None = None, mechanisms: Sequence[str] = (), *, quick: bool = False) -> list[Check]:
    """The checks about a query, procedure or law (by any of its names), with the given mechanisms."""
    every = [check for check in catalogue().values() if check.in_quick or not quick]
    matches = [check for check in every if subject is None or _about(check, subject)]
    if not matches:
        raise InvalidArgument("query", subject, accepted_names(str(subject), {check.subject for check in every}))
    kept = [check for check in matches if not mechanisms or check.mechanism in mechanisms]
    if not kept:
        served = sorted({check.mechanism for check in matches} - {""})
        raise InvalidArgument(
            "mechanism", list(mechanisms), f"must be among those of {subject or 'all'}: {', '.join(served)}"
        )
    return kept


def accepted_names(given: str, names: set[str]) -> str:
    """The text of an error about an unknown name: the names that are similar, or all of them."""
    alike = difflib.get_close_matches(given.lower().replace("_", " "), sorted(names), n=3)
    if alike:
        return f"did you mean {' or '.join(alike)}? dither audit --list names all"
    return f"must be one of {', '.join(sorted(names))}"


def _about(check: Check, subject: str) -> bool:
    plain = subject.lower().replace("_", " ")
    return plain == check.subject.lower().replace("_", " ") or subject in check.covers


def shipped() -> set[str]:
    """Every public name that releases something: of the package, its mechanisms and its procedures."""
    import dither  # noqa: PLC0415
    from dither.mechanisms.choice import MECHANISMS, NOISES  # noqa: PLC0415
    from dither.procedures.sample_aggregate import AGGREGATORS, SAMPLINGS  # noqa: PLC0415

    face = set(dither.__all__) - {name for names in PUBLIC_ONLY.values() for name in names}
    blocks = {f"{name} of blocks" for name in AGGREGATORS} | {f"{name} blocks" for name in SAMPLINGS}
    sessions = {"filtered rows", "grouped rows", "several rows a person", "order of events", "public decisions", "sql"}
    sessions |= {"records of sources", "linked tables"}
    return face | set(MECHANISMS) | set(NOISES) | blocks | sessions


def uncovered(checks: Iterable[Check] | None = None) -> set[str]:
    """What ships without a check."""
    seen = {name for check in (catalogue().values() if checks is None else checks) for name in check.covers}
    return shipped() - seen
