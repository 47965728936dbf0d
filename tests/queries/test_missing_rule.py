"""One rule for missing values: they are left out, or answers and reference say in the same words what they do."""

import pytest

import dither as dt
from dither.queries.documentation import missing_rule, page
from dither.queries.registry import entries
from dither.release import missing_text

COLUMN = [1.0, 2.0, None, 5.0] * 500
TABLE = {"a": COLUMN, "b": COLUMN[::-1]}
ONE = {"bounds": (0, 10), "epsilon": 5.0}
ASKED = {
    "scale": lambda: dt.scale(COLUMN, epsilon=5.0, delta=1e-3),
    "histogram": lambda: dt.histogram(COLUMN, edges=[0, 5, 10], epsilon=5.0),
    "mean_vector": lambda: dt.mean(TABLE, **ONE),
    "covariance": lambda: dt.covariance(TABLE, **ONE),
    "ball_mean": lambda: dt.ball_mean(TABLE, radius=10, **ONE),
    "pair_covariance": lambda: dt.pair_covariance(TABLE, **ONE),
    "correlation": lambda: dt.correlation(TABLE, **ONE),
    "least_squares": lambda: dt.least_squares(TABLE, **ONE),
    "regression": lambda: dt.regression(TABLE, target="a", **ONE),
    "order_statistic": lambda: dt.ask(dt.OrderStatistic(rank=9, bounds=(0, 10)), COLUMN, epsilon=5.0),
    "quantile": lambda: dt.quantile(COLUMN, q=0.3, **ONE),
    "quantiles": lambda: dt.quantiles(COLUMN, q=[0.3, 0.7], **ONE),
    "median": lambda: dt.median(COLUMN, **ONE),
    "minimum": lambda: dt.minimum(COLUMN, **ONE),
    "maximum": lambda: dt.maximum(COLUMN, **ONE),
    "sum": lambda: dt.sum(COLUMN, **ONE),
    "count": lambda: dt.count([True, None, False] * 500, epsilon=5.0),
    "mean": lambda: dt.mean(COLUMN, **ONE),
    "trimmed_mean": lambda: dt.trimmed_mean(COLUMN, **ONE),
    "smallest_sum": lambda: dt.ask(dt.SmallestSum(k=3, bounds=(0, 10)), COLUMN, epsilon=5.0),
    "iqr": lambda: dt.iqr(COLUMN, **ONE),
    "variance": lambda: dt.variance(COLUMN, **ONE),
    "std": lambda: dt.std(COLUMN, **ONE),
    "winsorised_mean": lambda: dt.winsorised_mean(COLUMN, **ONE),
    "counting_queries": lambda: dt.counting_queries(COLUMN, family="points", edges=[0, 5, 10], epsilon=5.0),
}


def test_every_query_with_a_rule_is_asked_here():
    """A new one fails until it has its line."""
    assert set(ASKED) == {name for name, entry in entries().items() if missing_rule(entry)}


@pytest.mark.parametrize("name", ASKED)
def test_answers_do_what_the_reference_says_and_say_it_in_the_same_words(name):
    """In print, in a notebook and in JSON."""
    release, rule = ASKED[name](), missing_rule(entries()[name])
    sentence = missing_text(release.missing)
    assert sentence in str(release)
    assert sentence in release._repr_html_()
    assert release.to_dict()["missing"] is not None
    assert (sentence == rule) == (release.missing == "drop")
    assert sentence.startswith(rule.removesuffix("a public value"))
    assert rule in page()
