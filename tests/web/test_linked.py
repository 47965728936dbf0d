"""Linked tables on the page: who is protected, which keys lead to people, and which limits hold."""

from typing import TYPE_CHECKING

import pytest

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from page_server import Curator

SCHEMA = """version = 2

[dataset]
name = "{name}"
person = "customers"
rows_per_unit = {limit}

[budget]
epsilon = 10

[tables.customers]
source = "{name}-customers.csv"
key = "id"
links = {{ nation = "nations" }}

[tables.customers.columns.segment]
type = "category"
values = ["home", "trade"]

[tables.orders]
source = "{name}-orders.csv"
links = {{ customer = "customers" }}

[tables.orders.columns.price]
type = "real"
bounds = [0, 100]

[tables.nations]
source = "{name}-nations.csv"
key = "code"
public = true

[tables.nations.columns.place]
type = "category"
values = ["Norway", "Ghana"]
"""


def registered(curator: "Curator", name: str, limit: str) -> str:
    """A thousand customers with three orders each."""
    tables = {
        "customers": ["id,segment,nation", *(f"{n},{('home', 'trade')[n % 2]},{n % 2}" for n in range(1000))],
        "orders": ["customer,price", *(f"{n % 1000},{n % 90}" for n in range(3000))],
        "nations": ["code,place", "0,Norway", "1,Ghana"],
    }
    for table, lines in tables.items():
        (curator.home / "data" / f"{name}-{table}.csv").write_text("\n".join(lines) + "\n")
    curator.call("POST", "/v1/datasets", {"name": name, "schema": SCHEMA.format(name=name, limit=limit)})
    return name


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("4", "at most 4 rows of each are used"),
        ('"private"', "how much of each counts is found by every answer, privately, and paid for by its loss"),
    ],
)
def test_people_links_and_limits_are_shown(visit, pictures, limit, words):
    """To an analyst: who is hidden, by which key, how much of a person counts, and what each table refers to."""
    tab, curator = visit.tab, visit.curator
    name = registered(curator, f"shop-{limit.strip(chr(34))}", limit)
    visit.sign_in(curator.analyst(f"linked {name}"))
    visit.open(name, "schema")
    tab.see("hides any one person with all rows in all tables")
    tab.see(f"named by customers.id; {words}")
    tab.see("Tables and links")
    cells = tab.run(
        "[...document.querySelectorAll('table')].find(one => one.caption?.innerText === 'Tables and links' || "
        "one.innerText.includes('customer → customers')).innerText"
    )
    for text in (
        "customer → customers",
        "nation → nations",
        "one for each person",
        "of the people that keys",
        "public",
    ):
        assert text in cells
    assert tab.run("document.documentElement.scrollWidth <= innerWidth")
    tab.picture(pictures / f"linked-{name}.png")
    dataset = curator.call("GET", f"/v1/datasets/{name}")
    assert dataset["person"] == "customers"
    assert dataset["tables"]["orders"] == {"key": None, "links": {"customer": "customers"}, "public": False}


def test_an_answer_says_which_limit_it_found(visit):
    """In words, with the part of epsilon that the limit took."""
    tab, curator = visit.tab, visit.curator
    name = registered(curator, "shop-answer", '"private"')
    visit.sign_in()
    visit.open(name)
    visit.pay()
    tab.see("a limit that was found privately for epsilon", "[aria-label=Answer]")
    (entry,) = curator.history(name)
    assert entry["releases"][0]["person_limit"]["epsilon"] > 0
