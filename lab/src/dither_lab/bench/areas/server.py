"""The server: what privacy costs, against the same server answering a constant, and a charge against a bare insert.

No peer has a server with a ledger.  Rows of PostgreSQL need it installed (one is started for them), or
DITHER_BENCH_POSTGRES, the address of a server that may create databases.  Times are wall clock: the work is done by
another process and by the disk.
"""

from __future__ import annotations

from dataclasses import replace

from dither_lab.bench.areas.noise import NOTHING
from dither_lab.bench.design import CHANGE_ONE, OURS, Area, Asked, Comparison, MeasuringEffort, Way

ANALYSTS = (16, 64)
LEDGERS = {"SQLite": "sqlite", "PostgreSQL": "postgres"}
SLOT = 0.01
"""Seconds to which answers are padded: short, so that the work and not the schedule sets the pace."""
QUOTED = 50


def comparisons(quick: bool) -> list[Comparison]:
    """Releases to several analysts at once, by ledger; charges; quotes."""
    each = 2 if quick else 6
    charges = {"each": 10 if quick else 40}
    rounds = MeasuringEffort(5 if quick else 9, 1, 0.0)
    return [
        *(
            item
            for title, ledger in LEDGERS.items()
            for analysts in ANALYSTS
            for item in _releases(title, ledger, analysts, each, rounds, quick=quick)
        ),
        Comparison(
            name="charges",
            what="one durable charge to a SQLite ledger",
            data=NOTHING,
            ours=Way(OURS, "charge", options=charges, items=charges["each"]),
            others=(Way(OURS, "insert_sqlite", "bare durable insert (sqlite3)", charges, items=charges["each"]),),
            effort=rounds,
            clock="wall",
        ),
        Comparison(
            name="quotes",
            what=f"quotes of {QUOTED} medians in one statement",
            data=NOTHING,
            ours=Way(OURS, "quotes", options={"queries": QUOTED}),
            guarantee="epsilon 1 in all; no record is read",
            neighbours=CHANGE_ONE,
            effort=rounds,
            asked=(Asked("time", 1.0, of="ours"),),
        ),
    ]


def _releases(
    title: str, ledger: str, analysts: int, each: int, effort: MeasuringEffort, *, quick: bool
) -> list[Comparison]:
    """By release (throughput, beside bare inserts and a constant), and by analyst (how long an answer takes)."""
    options = {"slot": SLOT, "each": each, "analysts": analysts, "ledger": ledger}
    bare = Way(
        OURS,
        f"insert_{ledger}",
        f"bare durable insert ({title})",
        {"each": analysts * each},
        items=analysts * each,
    )
    constant = Way(OURS, "constant", "same server, a constant", options, items=analysts * each)
    is_asked = ledger == "sqlite" and analysts == min(ANALYSTS) and not quick
    release = Comparison(
        name=f"releases/{ledger}/{analysts}",
        what=f"one release to {analysts} analysts at once, slot {SLOT:g} s, {title} ledger",
        data=NOTHING,
        ours=Way(OURS, "releases", options=options, items=analysts * each),
        others=(bare, constant),
        guarantee="epsilon 0.001 each (a constant has none)",
        neighbours=CHANGE_ONE,
        effort=effort,
        asked=(Asked("time", 3.0, peers=(bare.label,)),) if is_asked else (),
        clock="wall",
    )
    latency = replace(
        release,
        name=f"latency/{ledger}/{analysts}",
        what=f"from asking to the answer, {analysts} analysts at once, slot {SLOT:g} s, {title} ledger",
        ours=replace(release.ours, items=each),
        others=(replace(constant, items=each),),
        asked=(),
    )
    return [release, latency]


AREA = Area("server", "The server", comparisons)
