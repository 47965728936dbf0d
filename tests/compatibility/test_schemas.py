"""Schema files of version 0.1.0, in all its forms, declare what they declared."""

import json
import shutil

import pytest

import dither as dt
from compatibility.laying import HERE, differences, kept, lay_sources

UNLIMITED = "unit_alone"
"""Names a unit and no limit of rows, which version 0.1.0 read as 1."""


def test_a_unit_without_a_limit_is_refused(tmp_path):
    """With the line to add: no limit is assumed."""
    lay_sources(tmp_path / "data")
    shutil.copy(HERE / "schemas" / f"{UNLIMITED}.toml", tmp_path)
    with pytest.raises(dt.InvalidArgument, match="rows_per_unit = 10"):
        dt.open(tmp_path / f"{UNLIMITED}.toml", ledger=":memory:")


@pytest.mark.parametrize("name", sorted(set(kept("schemas")) - {UNLIMITED}))
def test_a_schema_file_means_what_it_meant(name, tmp_path):
    """Names, columns, people, budget and what is publicly known, through ``dt.open``."""
    lay_sources(tmp_path / "data")
    shutil.copy(HERE / "schemas" / f"{name}.toml", tmp_path)
    with dt.open(tmp_path / f"{name}.toml", ledger=":memory:") as session:
        schema = session.schema
        old = kept("schemas")[name]
        new = {key: getattr(schema, key) for key in old if key not in ("budget", "columns", "priors", "neighbours")}
        new |= {"budget": [schema.budget.epsilon, schema.budget.delta], "neighbours": str(schema.neighbours)}
        if "columns" in old:
            new["columns"] = {key: one.to_dict() for key, one in schema.columns.items()}
            new["priors"] = {key: dict(one) for key, one in schema.priors.items()}
        assert not [*differences(old, json.loads(json.dumps(new, default=str)))]


def test_every_file_is_looked_at():
    """One entry for each file, and files of both sorts."""
    assert {file.stem for file in (HERE / "schemas").glob("*.toml")} == set(kept("schemas"))
    assert {"vertices" in one for one in kept("schemas").values()} == {True, False}
