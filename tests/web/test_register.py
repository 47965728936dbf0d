"""Registering by form: a file of the data folder, its columns, bounds that the owner names, and a budget."""

import pytest

pytestmark = pytest.mark.slow

PEOPLE = "age;pay;job;note\n" + "".join(f"{20 + row % 40};{300 + row % 100};nurse;x\n" for row in range(2000))


def declare(tab, column: str, type_: str, *bounds: str) -> None:
    """Choose the type of a column, and type its bounds."""
    tab.choose(f"select[data-column={column}]", type_)
    for end, value in zip(("Lower", "Upper"), bounds, strict=False):
        tab.fill(f"[aria-label='{end} bound of {column}']", value)


@pytest.mark.parametrize(
    "visit", [{"width": 1280}, {"width": 375, "height": 720}], ids=["wide", "phone"], indirect=True
)
def test_a_file_becomes_a_dataset_without_a_line_of_toml(visit, pictures, request):
    """From a semicolon CSV to an answer; the reason for bounds is given, and without them nothing is sent."""
    tab, curator, name = visit.tab, visit.curator, f"people-{request.node.callspec.id}"
    (curator.home / "data" / f"{name}.csv").write_text(PEOPLE)
    visit.sign_in()
    visit.go("register", "Register")
    tab.choose("select[name=source]", f"{name}.csv")
    tab.see("4 columns")
    tab.see("a maximum is one person’s record")
    declare(tab, "pay", "real")
    tab.click_text("Register", "form button")
    tab.see("a lower and an upper bound are needed", ".notice")
    declare(tab, "pay", "real", "0", "1000")
    tab.click_text("Missing values, format, what is publicly known")
    tab.choose("select[name=prior]", "normal")
    tab.fill("input[name=prior-1]", "350")
    tab.fill("input[name=prior-2]", "30")
    declare(tab, "job", "category")
    tab.fill("[aria-label='Values of job']", "clerk, nurse")
    tab.fill("input[name=rows]", "2000")
    tab.fill("input[name=epsilon]", "3")
    tab.picture(pictures / f"register-form-{request.node.callspec.id}.png")
    assert tab.run("document.documentElement.scrollWidth <= innerWidth")
    tab.click_text("Register", "form button")
    visit.until_title(f"Schema: {name}")
    dataset = curator.call("GET", f"/v1/datasets/{name}")
    assert dataset["rows"] == 2000
    assert dataset["budget"]["total"] == {"epsilon": 3.0, "delta": 0.0}
    assert {key: one["type"] for key, one in dataset["columns"].items()} == {"pay": "real", "job": "category"}
    assert dataset["columns"]["job"]["values"] == ["clerk", "nurse"]
    assert dataset["priors"] == {"pay": {"kind": "normal", "mean": 350, "sd": 30}}
    visit.open(name)
    visit.pay()


def test_a_single_column_asks_about_the_layout(visit):
    """Lines before the names make a file of one column; the page says where to say so."""
    (visit.curator.home / "data" / "export.csv").write_text("Made by a machine\n\n" + PEOPLE)
    visit.sign_in()
    visit.go("register", "Register")
    visit.tab.choose("select[name=source]", "export.csv")
    visit.tab.see("1 column. Only")
    visit.tab.see("If the file has lines before its names")


def test_people_with_several_rows_and_odd_names(visit):
    """Names that TOML must quote, a column that says whose rows are whose, and a draft that is taken over as text."""
    tab, curator = visit.tab, visit.curator
    odd = 'total "pay", in $'
    text = '"total ""pay"", in $",who\n' + "".join(f"{row % 50},{row // 4}\n" for row in range(2000))
    (curator.home / "data" / "odd names.csv").write_text(text)
    visit.sign_in()
    visit.go("register", "Register")
    tab.choose("select[name=source]", "odd names.csv")
    tab.see("2 columns")
    tab.choose("select[name=type]", "integer")
    tab.fill("input[name=low]", "0")
    tab.fill("input[name=high]", "1e2")
    tab.choose("select[name=unit]", "who")
    tab.fill("input[name=rows_per_unit]", "4")
    assert tab.run("document.querySelector('input[name=name]').value") == "odd_names"
    tab.click_text("Write a schema file")
    written = tab.run("document.querySelector('textarea[name=schema]').value")
    assert '[columns."total \\"pay\\", in $"]' in written
    tab.click_text("Register", "form button")
    visit.until_title("Schema: odd_names")
    dataset = curator.call("GET", "/v1/datasets/odd_names")
    assert (dataset["unit"], dataset["rows_per_unit"], dataset["rows"]) == ("who", 4, "private")
    assert list(dataset["columns"]) == [odd]


def test_a_graph_is_registered(visit):
    """Two columns are the ends of its edges, and a vertex with all of its edges may be what is protected."""
    tab, curator = visit.tab, visit.curator
    ring = "".join(f"{one},{(one + 1) % 60}\n" for one in range(60))
    (curator.home / "data" / "friends.csv").write_text("left,right\n" + ring)
    visit.sign_in()
    visit.go("register", "Register")
    tab.choose("select[name=source]", "friends.csv")
    tab.see("2 columns")
    tab.choose("select[name=about]", "graph")
    tab.fill("input[name=vertices]", "60")
    tab.choose("select[name=neighbours]", "node")
    tab.click_text("Register", "form button")
    visit.until_title("Schema: friends")
    dataset = curator.call("GET", "/v1/datasets/friends")
    assert (dataset["kind"], dataset["vertices"], dataset["neighbours"]) == ("graph", 60, "node")


def test_a_graph_in_a_database_file_is_registered(visit):
    """The table with its edges stands in the schema that the form writes."""
    import duckdb

    tab, curator = visit.tab, visit.curator
    with duckdb.connect(str(curator.home / "data" / "social.duckdb")) as connection:
        connection.execute("CREATE TABLE friendships AS SELECT i AS a, (i + 1) % 60 AS b FROM range(60) t(i)")
    visit.sign_in()
    visit.go("register", "Register")
    tab.click_text("Tables of databases, and text files of other layouts", "summary")
    tab.fill("input[name=table]", "friendships")
    tab.choose("select[name=source]", "social.duckdb")
    tab.see("2 columns")
    tab.choose("select[name=about]", "graph")
    tab.fill("input[name=vertices]", "60")
    tab.click_text("Register", "form button")
    visit.until_title("Schema: social")
    dataset = curator.call("GET", "/v1/datasets/social")
    assert (dataset["kind"], dataset["vertices"]) == ("graph", 60)


def test_what_cannot_be_opened_is_said(visit):
    """A file that is no table, and a refusal of the schema, stand where they were caused."""
    tab, curator = visit.tab, visit.curator
    (curator.home / "data" / "empty.parquet").write_bytes(b"")
    curator.source("fine")
    visit.sign_in()
    visit.go("register", "Register")
    tab.choose("select[name=source]", "empty.parquet")
    tab.see("empty.parquet", ".problem")
    tab.choose("select[name=source]", "fine.csv")
    tab.see("3 columns")
    declare(tab, "pay", "real", "1000", "0")
    tab.click_text("Register", "form button")
    tab.see("the lower end must be below the upper end", ".problem")
