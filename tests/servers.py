"""Real servers for tests, started here and stopped at the end: private, on this machine, gone when the tests are."""

import os
import shutil
from pathlib import Path

import pytest

from dither_lab.postgres import PostgresServer, postgres_programs


@pytest.fixture(scope="session")
def postgres_server():
    """A running PostgreSQL; skips the test if it is not installed, or fails it if DITHER_REQUIRE=all."""
    from conftest import missing, needs_package

    needs_package("psycopg")
    programs = postgres_programs()
    if programs is None:
        missing("needs PostgreSQL (Debian: postgresql)")
    server = PostgresServer(programs)
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture(scope="session")
def postgres(postgres_server):
    """The address of a running PostgreSQL."""
    return postgres_server.dsn()


@pytest.fixture
def postgres_schema(postgres_server):
    """An address whose tables lie in an empty schema for one test."""
    import psycopg

    name = f"test_{os.urandom(6).hex()}"
    with psycopg.connect(postgres_server.dsn(), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    yield f"{postgres_server.dsn()}?options=-csearch_path%3D{name}"
    with psycopg.connect(postgres_server.dsn(), autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {name} CASCADE")


def needs_java():
    """Spark, and what it runs on."""
    from conftest import missing, needs_package

    needs_package("pyspark")
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and Path(home, "bin", "java").exists()):
        missing("needs Java (Debian: default-jre-headless)")


@pytest.fixture(scope="session")
def spark():
    """A Spark session of our own, on two cores."""
    needs_java()
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    session = (
        SparkSession.builder.master("local[2]")
        .appName("dither-tests")
        .config("spark.ui.enabled", "false")
        # Short statements only: compiling them thoroughly would cost more than running them (measured: half).
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    yield session
    session.stop()
