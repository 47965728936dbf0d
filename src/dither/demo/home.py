"""A home folder for ``dither serve --demo``: a generated payroll and a generated graph of friends, with budgets."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dither.demo.data import JOBS, PEOPLE, payroll

FRIENDS = 600
_PAYROLL = f"""version = 2

[dataset]
name = "payroll"
source = "payroll.csv"
rows = {PEOPLE}

[budget]
epsilon = 3.0

[columns.job]
type = "category"
values = [{", ".join(f'"{job}"' for job in JOBS)}]

[columns.total_pay]
type = "real"
bounds = [0, 600000]
step = 0.01

[columns.age]
type = "integer"
bounds = [0, 120]

# What anybody may know from public statistics: quotes are then estimates instead of bounds for all data.
[priors.total_pay]
kind = "lognormal"
median = 65000
sigma = 0.5

[priors.age]
kind = "normal"
mean = 43
sd = 11
"""
_FRIENDS = f"""version = 2

[dataset]
name = "friends"
source = "friends.csv"

[graph]
vertices = {FRIENDS}

[budget]
epsilon = 3.0
delta = 1e-6
"""


def prepare_demo(home: Path) -> None:
    """Write the generated data and their schemas, unless they are there."""
    (home / "data").mkdir(parents=True, exist_ok=True)
    (home / "datasets").mkdir(parents=True, exist_ok=True)
    people = payroll()
    rows = zip(people["job"], people["total_pay"], people["age"], strict=True)
    _once(
        home / "data" / "payroll.csv",
        "job,total_pay,age\n" + "".join(f"{job},{pay:.2f},{age}\n" for job, pay, age in rows),
    )
    _once(home / "data" / "friends.csv", "source,target\n" + "".join(f"{a},{b}\n" for a, b in friends()))
    _once(home / "datasets" / "payroll.toml", _PAYROLL)
    _once(home / "datasets" / "friends.toml", _FRIENDS)


def friends(people: int = FRIENDS, seed: int = 7) -> list[tuple[int, int]]:
    """Friendships of generated people who live along a circle: neighbours mostly, and some far away."""
    rng = np.random.default_rng(seed)
    near = {(index, (index + step) % people) for index in range(people) for step in range(1, 6) if rng.random() < 0.7}
    far = {tuple(int(end) for end in rng.choice(people, 2, replace=False)) for _ in range(people // 2)}
    return sorted({(min(pair), max(pair)) for pair in near | far})


def _once(file: Path, text: str) -> None:
    if not file.exists():
        file.touch(mode=0o600)
        file.write_text(text, encoding="utf-8")
