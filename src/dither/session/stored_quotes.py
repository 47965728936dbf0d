"""Quotes with what the ledger stores: a question that was answered before is free, and so are counts that a stored
histogram answers.

Whether it is decided by the question and by the ledger: by nothing that is private.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from dither.errors import UnknownDataset
from dither.quotes.quote import Quote

if TYPE_CHECKING:
    from dither.ledger.book import Ledger
    from dither.ledger.entries import Entry
    from dither.plain import JsonObject
    from dither.session.account import Planned
    from dither.session.derived import StoredHistograms


Forms: TypeAlias = "tuple[list[JsonObject], ...]"
"""A question as the versions of the ledger keep it, the present one first; none where nothing is charged for it."""


def forms_of(plans: Sequence[Planned]) -> Forms:
    """The forms of the question that these plans answer."""
    paid = [plan for plan in plans if not plan.costs_nothing]
    return ([plan.asked for plan in paid], [plan.older for plan in paid]) if paid else ()


def answered_charge(ledger: Ledger, dataset: str, forms: Forms) -> Entry | None:
    """The charge that paid for the stored answer to the same question, in the form of any version; None if none did."""
    for form in forms:
        try:
            charge = ledger.stored_charge(dataset, {"questions": form})
        except UnknownDataset:  # its first question opens the account
            return None
        if charge is not None:
            return charge
    return None


def quotes_now(
    ledger: Ledger,
    dataset: str,
    plans: Sequence[Planned],
    quotes: Sequence[Quote],
    histograms: StoredHistograms | None = None,
) -> list[Quote]:
    """Quotes of a question as they are with what the ledger stores."""
    if answered_charge(ledger, dataset, forms_of(plans)) is not None:
        return [quote.as_stored() for quote in quotes]
    results = [None if histograms is None else histograms.answering(plan) for plan in plans]
    return [quote if how is None else how.quote(quote) for quote, how in zip(quotes, results, strict=True)]
