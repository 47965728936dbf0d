"""The memory of a quote does not grow as epsilon falls."""

import tracemalloc

import pytest

import dither as dt


@pytest.mark.parametrize("epsilon", [1e-5, 1e-9])
def test_a_quote_from_a_stored_histogram_has_bounded_memory(epsilon):
    """A count that a stored histogram of ten bins answers: 5 GB at an epsilon of 1e-5 before, now a few megabytes."""
    columns = {"x": dt.Real(0, 100), "y": dt.Real(0, 1)}
    records = {"x": [5.0, 50.0] * 200, "y": [0.3, 0.9] * 200}
    with dt.open(records, columns=columns, budget=dt.Budget(1.0), rows=400) as session:
        session.ask(dt.Histogram("x", bins=10), epsilon=epsilon, where="y > 0.1")
        tracemalloc.start()
        try:
            quote = session.quote(dt.Count(), epsilon=0.1, where="x < 50 AND y > 0.1")
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert quote.derived_from is not None
    assert quote.expected_error > 1 / epsilon
    assert most < 100e6
