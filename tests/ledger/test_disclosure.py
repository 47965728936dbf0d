"""What is disclosed: the JSON schema of releases, and entries for a registry of deployments."""

import datetime
import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner

import dither as dt
from dither.interfaces.cli.main import main
from dither.interfaces.disclosure import DETAILS, release_schema

ROOT = Path(__file__).parents[2]
PAY = np.linspace(0, 100, 2_000)
PAIRS = np.column_stack([PAY, PAY[::-1]])
DAYS = (datetime.date(2020, 1, 1), datetime.date(2021, 1, 1))
MOMENTS = (datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1))  # noqa: DTZ001  (as it stands)
BOUNDED = {"bounds": (0, 100), "epsilon": 1.0}


def releases():
    """One of every sort of answer."""
    graph = dt.Graph([(i, (i * 7 + 1) % 60) for i in range(60)], n=60)
    data = {"pay": PAY, "job": ["a", "b"] * 1_000, "age": np.arange(2_000) % 90, "on": [DAYS[0]] * 2_000}
    columns = {"pay": dt.Real(0, 100), "job": dt.Category(["a", "b"]), "age": dt.Integer(0, 90), "on": dt.Date(*DAYS)}
    session = dt.open(data, columns=columns, rows=2_000, budget=dt.Budget(1_000.0, 0.01))
    yield dt.median(PAY, **BOUNDED)
    yield dt.median(PAY, bounds=(0, 100), epsilon=1.0, confidence=None, nulls="lower")
    yield dt.quantiles(PAY, q=[0.25, 0.75], **BOUNDED)
    yield dt.median(PAY, epsilon=1.0)
    yield dt.mean(PAY, epsilon=1.0, count_beyond=True)
    yield dt.count(PAY > 3, epsilon=1.0)
    yield dt.histogram(PAY, bins=4, **BOUNDED, confidence=dt.Simultaneous(0.9))
    yield dt.histogram(["a", "b"] * 500, epsilon=1.0, delta=1e-5)
    yield dt.mode(["a"] * 900 + ["b"] * 100, epsilon=1.0, delta=1e-5)
    yield dt.scale(PAY, epsilon=1.0, delta=1e-6)
    yield dt.median([DAYS[0]] * 50, bounds=DAYS, epsilon=1.0)
    yield dt.median([MOMENTS[0]] * 50, bounds=MOMENTS, epsilon=1.0)
    yield dt.covariance(PAIRS, bounds=(0, 100), epsilon=1.0)
    yield dt.regression(PAY, 2 * PAY, epsilon=5.0)
    yield dt.kmeans(PAIRS, k=2, bounds=(0, 100), epsilon=5.0, delta=1e-6)
    yield dt.triangles(graph, epsilon=1.0)
    yield dt.sample_and_aggregate(PAY, np.mean, bounds=(0, 100), epsilon=5.0, executor="trusted")
    yield dt.sample_and_aggregate(
        PAY, lambda rows: ("a", "b"), space=dt.Rankings(["a", "b"]), epsilon=5.0, executor="trusted"
    )
    yield from session.ask([dt.Mean("pay"), dt.Median("on")], by="job", epsilon=1.0)
    yield session.sql("SELECT quality(pay) AS how FROM data", epsilon=1.0)
    session.ask(dt.Histogram("age", edges=[0, 30, 60, 90]), epsilon=1.0)
    yield session.sql("SELECT count(*) FROM data WHERE age >= 30 AND age < 60", epsilon=0.1)
    yield session.sql("SELECT count(*) FROM data", epsilon=0.1)


def test_every_sort_of_release_is_as_its_schema_says():
    """And a twin that lacks a key, or has one of another type, is not."""
    schema = release_schema()
    checked = [json.loads(json.dumps(release.to_dict())) for release in releases()]
    for payload in checked:
        jsonschema.validate(payload, schema)
    assert len(checked) > 20
    broken = [{key: item for key, item in checked[0].items() if key != "epsilon"}, {**checked[0], "labels": 3}]
    for payload in broken:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(payload, schema)


def test_the_schema_that_is_published_is_the_present_one_and_documented():
    """docs/release.schema.json is compared here; every key has a row in docs/release.md."""
    assert json.loads((ROOT / "docs" / "release.schema.json").read_text()) == release_schema()
    rows = re.findall(r"^\| (`[^|]*`) \|", (ROOT / "docs" / "release.md").read_text(), flags=re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert set(release_schema()["properties"]) - {"calibration"} <= documented


def test_an_entry_for_a_registry_has_what_ledger_and_schema_know(tmp_path):
    """Unit, relation, parameters, accounting, mechanisms; what people state stands where they state it."""
    (tmp_path / "pay.csv").write_text("pay,who\n" + "".join(f"{i},{i // 2}\n" for i in range(400)))
    file = tmp_path / "pay.toml"
    file.write_text(
        'version = 2\n[dataset]\nsource = "pay.csv"\nunit = "who"\nrows_per_unit = 2\n'
        '[budget]\nepsilon = 3\ndelta = 1e-6\nfilter = "zcdp"\n[columns.pay]\ntype = "real"\nbounds = [0, 400]\n'
    )
    with dt.open(file) as session:
        session.ask(dt.Median("pay"), epsilon=0.5)
        left = session.budget
    words = ["ledger", "export", str(tmp_path / "pay.ledger"), "--registry", "--schema", str(file)]
    shown = CliRunner().invoke(main, [*words, "--detail", "rationale=As the council decided."])
    assert shown.exit_code == 0, shown.output
    (entry,) = json.loads(shown.output)["deployments"]
    assert entry["privacy_loss"]["privacy_unit"] == "a person: all rows with the same who"
    assert entry["privacy_loss"]["rows_per_unit"] == 2
    assert entry["privacy_loss"]["budget"] == {"epsilon": 3.0, "delta": 1e-6}
    assert entry["privacy_loss"]["spent"]["epsilon"] == pytest.approx(left.spent.epsilon)
    assert entry["accounting"]["filter"] == "zcdp"
    assert entry["implementation"]["mechanisms"] == {"inverse": 1}
    assert entry["implementation"]["rationale"] == "As the council decided."
    assert entry["data_product"]["statistics"] == ["median of pay"]
    assert entry["flavor"]["data_domain"]["pay"]["bounds"] == [0, 400]
    assert set(DETAILS) - {"rationale"} <= set(entry["data_product"])
    assert str(tmp_path) not in shown.output
    wrong = CliRunner().invoke(main, [*words, "--detail", "who=me"])
    assert wrong.exit_code != 0
    assert "curator" in wrong.output
