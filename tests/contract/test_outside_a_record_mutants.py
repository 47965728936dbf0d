"""Each mistake that version 0.2.0 made about what stands outside a record, put back alone: its detector finds it."""

import datetime

import pytest

from contract import test_outside_a_record as outside
from contract.test_records_mutants import fails
from dither.sources import entries, files, formats, parquet
from dither.sources.engines import duckdb, engine, postgres, spark, spark_scans


def without(settings, name):
    """Settings without one of them."""
    return {key: value for key, value in settings.items() if key != name}


def test_names_that_are_patterns(tmp_path, monkeypatch):
    """The path as it stands; a folder that adds a column."""
    for module in (parquet, files, duckdb):
        monkeypatch.setattr(module, "literal_path", str)
    for name in ("pay[1]", "p*y", "pa?", "~pay"):
        assert fails(outside.test_the_name_of_a_file_is_no_pattern, name, ".parquet", tmp_path, monkeypatch), name


def test_folders_that_add_columns(tmp_path, monkeypatch):
    """A folder x=7 takes the place of the column x."""
    monkeypatch.setattr(files, "_READ", files._READ.replace("hive_partitioning = false, ", ""))
    assert fails(outside.test_the_name_of_a_file_is_no_pattern, "x=7/pay", ".parquet", tmp_path, monkeypatch)


@pytest.mark.usefixtures("spark")
def test_names_that_are_patterns_in_spark(tmp_path, monkeypatch):
    """Without the option that says that a path is a name."""
    monkeypatch.setattr(spark, "_AS_NAMED", {})
    assert fails(outside.test_the_name_of_a_file_is_no_pattern_in_spark, tmp_path)


def test_milliseconds_that_are_read(tmp_path, monkeypatch):
    """DuckDB converts them while it reads: sessions and dither ask."""
    monkeypatch.setattr(parquet, "_MILLISECONDS", parquet.re.compile("(?!)"))
    assert fails(outside.test_one_record_makes_no_scan_of_a_file_fail, "milliseconds", tmp_path)


def test_moments_that_have_no_text(tmp_path, monkeypatch):
    """A plain cast to text raises for the first of all moments."""
    monkeypatch.setitem(files._AS_TEXT, "TIMESTAMP", "CAST({0} AS VARCHAR)")
    assert fails(outside.test_one_record_makes_no_scan_of_a_file_fail, "microseconds", tmp_path)


@pytest.mark.parametrize("name", ["milliseconds", "decimals of 20 digits"])
def test_types_that_spark_converts(name, tmp_path, spark, monkeypatch):
    """A scan whose files nobody looks at."""
    monkeypatch.setattr(spark_scans, "_is_converted", lambda stored_type: False)
    assert fails(outside.test_one_record_makes_no_scan_of_spark_fail, name, tmp_path, spark)


def test_the_machines_time_zone_in_duckdb(place, monkeypatch):
    """Connections with the machine's own time zone, and days that are cast in it."""
    monkeypatch.setattr(parquet, "SETTINGS", without(parquet.SETTINGS, "TimeZone"))
    assert fails(outside.test_the_machines_time_zone_changes_no_day_of_a_view, place)

    def by_cast(self, name, stored_type, written=None):
        return self.day_number(engine.exp.cast(engine.column(name), "date"))

    monkeypatch.setattr(duckdb.DuckDB, "day", by_cast)
    for zone in outside.ZONES:
        shows = zone == "Asia/Tokyo"  # (in New York the moment lies in the same day as in UTC)
        assert fails(outside.test_the_machines_time_zone_changes_no_day, "parquet_arrow", zone, place) == shows


def test_days_of_lists_in_their_own_time_zone(place, monkeypatch):
    """The date as an entry's own time zone has it."""

    def own(entry, written=None):
        return entry.date() if isinstance(entry, datetime.datetime) else None

    monkeypatch.setattr(entries, "day", own)
    assert fails(outside.test_the_machines_time_zone_changes_no_day, "lists", "Asia/Tokyo", place)
    assert fails(outside.test_the_machines_time_zone_changes_no_day, "objects", "Asia/Tokyo", place)


def test_days_of_a_spark_session(place, spark, monkeypatch):
    """A cast in the session's time zone."""
    monkeypatch.setattr(
        spark_engine().Spark,
        "day",
        lambda self, name, stored_type, written=None: self.day_number(engine.exp.cast(engine.column(name), "date")),
    )
    assert fails(outside.test_the_time_zone_of_a_spark_session_changes_no_day, "Asia/Tokyo", place, spark)


def spark_engine():
    """The module of the engine; the fixture has its name."""
    from dither.sources.engines import spark

    return spark


def test_settings_of_a_role(place, postgres_server, monkeypatch):
    """PostgreSQL without the settings that each connection makes."""
    kept = dict(postgres._SETTINGS)
    monkeypatch.setattr(postgres, "_SETTINGS", without(kept, "TimeZone"))
    assert fails(outside.test_the_time_zone_of_a_role_changes_no_day, "Asia/Tokyo", place)
    monkeypatch.setattr(postgres, "_SETTINGS", without(kept, "search_path"))
    assert fails(outside.test_a_function_of_the_database_replaces_no_built_in_one, postgres_server.dsn())


def test_macros_of_a_database_file(place, monkeypatch):
    """A connection that is in the file itself."""
    attached = duckdb.DuckDB._attached

    def inside(self):
        name = attached(self)
        self._connection.execute(f"USE {name}")
        return name

    monkeypatch.setattr(duckdb.DuckDB, "_attached", inside)
    assert fails(outside.test_a_macro_of_a_database_file_replaces_no_built_in_function, place)


@pytest.mark.slow
def test_days_in_texts_by_rules_of_their_own(place, monkeypatch):
    """Python's reader of days in lists and SQLite, DuckDB's in text files."""

    def python_day(self, text):
        try:
            return datetime.date.fromisoformat(text)
        except ValueError:
            return None

    monkeypatch.setattr(
        duckdb.DuckDB,
        "_iso_day",
        lambda self, text: self.day_number(engine.exp.TryCast(this=text, to=engine.exp.DataType.build("date"))),
    )
    assert fails(outside.test_days_in_texts_are_read_by_one_rule, "csv_file", place)
    assert fails(outside.test_every_day_of_the_calendar_is_one_in_text_files, place)
    monkeypatch.setattr(formats.IsoMoments, "day", python_day)
    for name in ("lists", "objects", "sqlite_dates"):
        assert fails(outside.test_days_in_texts_are_read_by_one_rule, name, place), name


def test_names_that_stand_twice(tmp_path, monkeypatch):
    """Readers that take the first column of a name in silence."""
    monkeypatch.setattr(parquet, "repeated_name", lambda names: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        outside.test_names_that_stand_twice_are_refused_without_a_schema(tmp_path)


def test_without_a_mistake_the_detectors_pass(place, tmp_path, monkeypatch):
    """The twin: what the tests above find is the mistake."""
    outside.test_the_name_of_a_file_is_no_pattern("pay[1]", ".parquet", tmp_path, monkeypatch)
    outside.test_one_record_makes_no_scan_of_a_file_fail("milliseconds", tmp_path)
    outside.test_the_machines_time_zone_changes_no_day_of_a_view(place)
    outside.test_days_in_texts_are_read_by_one_rule("csv_file", place)
    outside.test_names_that_stand_twice_are_refused_without_a_schema(tmp_path)
