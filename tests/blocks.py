"""The private blocks of a program's plan, for tests that look at what a program would see."""

from dither.session.reading import SelectedRecords
from dither.sources.selection import Selection


def drawn_blocks(plan, engine):
    """Every block of a plan, as Arrow tables."""
    selection = Selection(engine, plan.schema, plan.predicate)
    (records,) = plan.query.select(SelectedRecords(plan, selection), plan)
    return records.drawn(plan.inner.procedure.sampling)


def private_data(plan, selection):
    """The records of every group, as the plan reads them."""
    return plan.query.select(SelectedRecords(plan, selection), plan)
