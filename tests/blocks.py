"""The private blocks of a program's plan, for tests that look at what a program would see."""

from dither.session.reading import selected
from dither.sources.selection import Selection


def drawn_blocks(plan, engine):
    """Every block of a plan, as Arrow tables."""
    selection = Selection(engine, plan.schema, plan.predicate)
    (records,) = selected(plan, selection)
    return records.drawn(plan.inner.procedure.sampling)
