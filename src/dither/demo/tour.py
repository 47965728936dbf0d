"""The tour behind ``make demo``: generated people, a schema, a session with a ledger, real answers and a picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dither.demo.data import JOBS, PEOPLE, payroll
from dither.plots import plot_releases
from dither.privacy import Budget, Loss
from dither.queries.order import Maximum, Median, Quantile
from dither.queries.totals import Count
from dither.release import Release
from dither.session.opening import open as open_dataset
from dither.sources.schema import Schema
from dither.sources.schema_file import dump_schema
from dither.sources.types import Category, Integer, Real


@dataclass(frozen=True)
class TourAnswers:
    """The releases of the tour, what they spent and where their picture is."""

    releases: list[Release]
    labels: list[str]
    budget: Budget
    spent: Loss
    left: Loss
    picture: Path

    def to_dict(self) -> dict[str, Any]:  # JSON
        """Plain values for JSON."""
        return {
            "releases": [
                {"label": label, **release.to_dict()} for label, release in zip(self.labels, self.releases, strict=True)
            ],
            "spent": self.spent.epsilon,
            "left": self.left.epsilon,
            "picture": str(self.picture),
        }


def tour(out: Path, tell: Callable[[str], Any] | None = None) -> TourAnswers:  # JSON
    """Register the generated payroll, ask a few questions out of its budget and draw the answers."""
    tell = tell or (lambda _: None)
    schema = registered(out)
    tell(f"A generated payroll of {PEOPLE:,} people. Their records stay private; these answers do not.\n")
    questions: list[tuple[str, Any, float, dict[str, Any]]] = [  # JSON
        ("median pay", Median("total_pay"), 0.2, {}),
        ("highest tenth of pay starts at", Quantile("total_pay", q=0.9), 0.1, {}),
        ("median age", Median("age"), 0.1, {}),
        ("highest pay", Maximum("total_pay"), 0.1, {}),
        ("people under 30", Count(), 0.05, {"where": "age < 30"}),
        ("median pay", Median("total_pay"), 0.3, {"by": "job"}),
    ]
    releases: list[Release] = []
    labels: list[str] = []
    with open_dataset(schema) as session:
        for label, query, epsilon, options in questions:
            answered = session.ask(query, epsilon=epsilon, **options)
            for release in answered if "by" in options else [answered]:
                releases.append(release)
                labels.append(label if release.group is None else f"{label}, {release.group['job']}s")
        account = session.budget
    picture = out / "payroll.png"
    drawn = [
        (label, release) for label, release in zip(labels, releases, strict=True) if label.startswith("median pay")
    ]
    axes = plot_releases(
        [release for _, release in drawn], [label for label, _ in drawn], "Pay, privately: answers with 95% intervals"
    )
    axes.figure.savefig(picture)
    return TourAnswers(releases, labels, account.total, account.spent, account.left, picture)


def registered(out: Path) -> Path:
    """A folder with the payroll, its schema and no ledger yet: the tour starts anew every time."""
    out.mkdir(parents=True, exist_ok=True)
    people = payroll()
    rows = zip(people["job"], people["total_pay"], people["age"], strict=True)
    (out / "payroll.csv").write_text(
        "job,total_pay,age\n" + "".join(f"{job},{pay:.2f},{age}\n" for job, pay, age in rows),
        encoding="utf-8",
    )
    columns = {"total_pay": Real(0, 600_000), "age": Integer(0, 120), "job": Category(JOBS)}
    schema = Schema("payroll.csv", columns, "payroll", PEOPLE, budget=Budget(1.0))
    (out / "payroll.toml").write_text(dump_schema(schema), encoding="utf-8")
    for old in out.glob("payroll.ledger*"):
        old.unlink()
    return out / "payroll.toml"
