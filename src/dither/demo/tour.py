"""The tour behind ``make demo``: generated people, real private answers, a budget and a picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dither.demo.data import PEOPLE, payroll
from dither.functions import answer
from dither.plots import plot_releases
from dither.privacy import Budget, Loss
from dither.queries.order import Maximum, Median, Quantile
from dither.release import Release

_PAY = (0, 600_000)


@dataclass(frozen=True)
class Told:
    """What the tour found out."""

    releases: list[Release]
    labels: list[str]
    budget: Budget
    spent: Loss
    left: Loss
    picture: Path

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "releases": [
                {"label": label, **release.to_dict()} for label, release in zip(self.labels, self.releases, strict=True)
            ],
            "spent": self.spent.epsilon,
            "left": self.left.epsilon,
            "picture": str(self.picture),
        }


def tour(out: Path, tell: Callable[[str], Any] | None = None) -> Told:
    """Ask a few questions of the generated payroll and draw the answers."""
    tell = tell or (lambda _: None)
    out.mkdir(parents=True, exist_ok=True)  # before anything is spent
    tell(f"A generated payroll of {PEOPLE:,} people. Their records stay private; these answers do not.\n")
    people = payroll()
    budget = Budget(1.0)
    questions: list[tuple[str, Any, str, float]] = [
        ("median pay", Median("total_pay", bounds=_PAY), "total_pay", 0.25),
        ("lowest tenth of pay ends at", Quantile("total_pay", q=0.1, bounds=_PAY), "total_pay", 0.2),
        ("highest tenth of pay starts at", Quantile("total_pay", q=0.9, bounds=_PAY), "total_pay", 0.2),
        ("median age", Median("age", bounds=(0, 120)), "age", 0.1),
        ("highest pay", Maximum("total_pay", bounds=_PAY), "total_pay", 0.1),
    ]
    spent, releases = Loss(0.0), []
    for _, query, column, epsilon in questions:
        # Priced and compared with the budget before the column is looked at.
        if not budget.covers(spent + Loss(epsilon)):
            raise RuntimeError("the tour asks for more than its budget")
        spent += Loss(epsilon)
        releases.append(answer(query, people[column], epsilon))
    picture, table = out / "payroll.png", out / "payroll.csv"
    rows = zip(people["job"], people["total_pay"], people["age"], strict=True)
    table.write_text("job,total_pay,age\n" + "".join(f"{job},{pay:.2f},{age}\n" for job, pay, age in rows))
    pay = [
        (label, release)
        for (label, _, column, _), release in zip(questions, releases, strict=True)
        if column == "total_pay" and label != "highest pay"
    ]
    axes = plot_releases(
        [r for _, r in pay], [label for label, _ in pay], "Pay, privately: answers with 95% error bars"
    )
    axes.figure.savefig(picture)
    left = Loss(float(round(budget.epsilon - spent.epsilon, 9)))
    return Told(releases, [label for label, *_ in questions], budget, spent, left, picture)
