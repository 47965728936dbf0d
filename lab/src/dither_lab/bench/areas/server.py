"""The server: what privacy costs, against the same server answering a constant, and a charge against a bare insert.

No peer has a server with a ledger.  Times are wall clock: the work is done by another process and by the disk.
"""

from __future__ import annotations

from dither_lab.bench.areas.noise import NOTHING
from dither_lab.bench.design import CHANGE_ONE, OURS, Area, Comparison, MeasuringEffort, Way

ANALYSTS = 16
SLOT = 0.01
"""Seconds to which answers are padded: short, so that the work and not the schedule sets the pace."""


def comparisons(quick: bool) -> list[Comparison]:
    """Releases, and charges."""
    each = 2 if quick else 6
    many = {"slot": SLOT, "each": each}
    charges = {"each": 10 if quick else 40}
    rounds = MeasuringEffort(5 if quick else 9, 1, 0.0)
    return [
        Comparison(
            name="releases",
            what=f"one release to {ANALYSTS} analysts at once, slot {SLOT:g} s, SQLite ledger",
            data=NOTHING,
            ours=Way(OURS, "releases", options=many, items=ANALYSTS * each),
            others=(Way(OURS, "constant", "same server, a constant", many, items=ANALYSTS * each),),
            guarantee="epsilon 0.001 each (a constant has none)",
            neighbours=CHANGE_ONE,
            effort=rounds,
            clock="wall",
        ),
        Comparison(
            name="charges",
            what="one durable charge to a SQLite ledger",
            data=NOTHING,
            ours=Way(OURS, "charge", options=charges, items=charges["each"]),
            others=(Way(OURS, "insert", "bare durable insert (sqlite3)", charges, items=charges["each"]),),
            effort=rounds,
            clock="wall",
        ),
    ]


AREA = Area("server", "The server", comparisons)
