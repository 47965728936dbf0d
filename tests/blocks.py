"""What programs see and answer: the private blocks of a plan, and runs in which no block is late."""

from dither.sandbox import Sandbox
from dither.session.reading import selected
from dither.sources.selection import Selection

LONGER = (1, 4, 16)
"""A block that a busy machine makes late is the default: then all blocks run again, in slots so many times as long."""


def drawn_blocks(plan, engine):
    """Every block of a plan, as Arrow tables."""
    selection = Selection(engine, plan.schema, plan.predicate)
    (records,) = selected(plan, selection)
    return records.drawn(plan.inner.procedure.sampling)


def in_time(program, blocks, *, slot, failures=0, progress=None, **settings):
    """The answers of a sandbox in which so many blocks fail, and no other is late."""
    for factor in LONGER:
        with Sandbox(program, slot=slot * factor, **settings) as box:
            answers = box.run(blocks, progress=progress)
        if box.failures == failures:
            return answers
    raise AssertionError(f"{box.failures} blocks failed instead of {failures}, however long the slots were: {answers}")
