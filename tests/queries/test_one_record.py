"""One record decides neither about errors nor about how others are read."""

import datetime
import itertools
import pathlib
import tracemalloc

import numpy as np
import pytest

import dither as dt
from dither.errors import DitherError

ASKED = {
    "median": lambda data: dt.median(data, bounds=(0, 10), epsilon=1.0),
    "mean": lambda data: dt.mean(data, bounds=(0, 10), epsilon=1.0),
    "count": lambda data: dt.count(data, epsilon=1.0),
    "histogram": lambda data: dt.histogram(data, edges=[0, 5, 10], epsilon=1.0),
}


def outcome(asked, data):
    """What somebody sees who asks: an answer, or which error."""
    try:
        asked(data)
    except DitherError as error:
        return str(error)
    return "answered"


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("entry", [[1.0], np.array([1.0])], ids=["list", "array"])
def test_lists_of_lists(name, entry):
    """Neighbours: every entry is a list of one number, and one of them is missing or a number instead."""
    outcomes = {outcome(ASKED[name], [entry] * 99 + [last]) for last in (entry, None, 1.0, [1.0, 2.0])}
    assert len(outcomes) == 1, outcomes


class Endless:
    def __len__(self):
        return 2

    def __getitem__(self, place):
        if place > 100_000:
            raise BaseException("read without end")
        return 1.0


FIRST = [None, "n/a", "ab", b"xy", {"a": 1}, {}, [], np.array([]), float("nan")]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("first", FIRST, ids=repr)
def test_the_first_record_of_a_regression(first):
    """What is missing there is an entry of a column, or with bounds for each column a row that is missing."""
    column, y = [float(place % 10) for place in range(1_200)], [float(place % 10) for place in range(1_200)]
    pairs = [[entry, entry % 3] for entry in column]
    assert len(dt.regression([first, *column[1:]], y, epsilon=3.0).labels) == 2
    dt.regression([first, *pairs[1:]], y, epsilon=3.0)
    for rows, labels in ((column, 2), ([[entry] for entry in column], 2), (pairs, 3)):
        for bounds in ([(0, 9)] * labels, {name: (0, 9) for name in ("x1", "x2", "y") if labels == 3 or name != "x2"}):
            data = [first, *rows[1:]]
            assert len(dt.regression(data, y, method="ols", bounds=bounds, epsilon=3.0).value) == labels


@pytest.mark.parametrize("first", FIRST, ids=repr)
def test_the_first_record_of_an_estimator(first):
    """Without bounds for each column what is missing there says nothing about their number, and raises no error."""
    sklearn = pytest.importorskip("dither.sklearn")
    rows, y = [first, *([float(place % 10)] for place in range(3_000))], [float(place % 10) for place in range(3_001)]
    assert sklearn.LinearRegression(epsilon=3.0).fit(rows, y).n_features_in_ == 1
    assert sklearn.LinearRegression(bounds=(0, 9), y_bounds=(0, 9), epsilon=3.0).fit(rows, y).n_features_in_ == 1


class Town:
    """Towns with equal names are equal and represented alike; only their texts differ."""

    def __init__(self, name, text):
        self.name, self.text = name, text

    def __repr__(self):
        return f"Town({self.name})"

    def __str__(self):
        if self.text is None:
            raise RuntimeError("private")
        return self.text

    def __eq__(self, other):
        return isinstance(other, Town) and self.name == other.name

    def __hash__(self):
        return hash(self.name)


@pytest.mark.parametrize("last", ["here", "only one record", None])
def test_no_record_writes_what_is_released_of_others(last):
    """Neither does the last of a category that nobody declared say how it is written, nor does it raise an error."""
    towns = [Town("here", "here")] * 300 + [Town("here", last)]
    for noise in ("auto", "gaussian"):
        assert dt.histogram(towns, noise=noise, epsilon=1.0, delta=1e-6).labels == ("here",)
    assert dt.mode(towns, epsilon=1.0, delta=1e-6).value == "here"


@pytest.mark.parametrize(
    "entry",
    [True, 3, 0.5, "a", b"a", datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), np.float32(0.1), 2 + 1j],  # noqa: DTZ001
    ids=repr,
)
def test_plain_records_stay_what_they_are(entry):
    """In a mode."""
    value = dt.mode([entry] * 300, epsilon=1.0, delta=1e-6).value
    assert (type(value), value) == (type(entry), entry)


def test_a_row_of_one_that_raises():
    """It is missing."""

    class Closed:
        def __len__(self):
            return 1

        def __getitem__(self, place):
            raise RuntimeError("private")

    numbers = [float(place % 10) for place in range(1_200)]
    for column in (numbers, [[number] for number in numbers]):
        assert dt.regression([*column[1:], Closed()], numbers, epsilon=3.0).labels == ("intercept", "x1")


def test_a_row_without_end():
    """What says that it has two entries is read no further."""
    rows = [[1.0, 2.0]] * 50 + [Endless()]
    assert dt.mean(rows, bounds=[(0, 10), (0, 10)], epsilon=1.0).value is not None


@pytest.mark.parametrize("word", ["true", "t", "yes", "2", " yes", "\tyes", "no\t", "\u2009yes", "\u20092.5", "\t2.5"])
def test_truth_values_of_texts(word, tmp_path: pathlib.Path):
    """A text is read in one way, whatever holds it (docs/schema.md says everywhere)."""
    entries = [word] * 50 + ["false"] * 50
    (tmp_path / "flags.csv").write_text("\n".join(["flag", *entries]) + "\n")
    how = {"epsilon": 100.0, "confidence": None}
    found = {}
    for name, source in {
        "csv": tmp_path / "flags.csv",
        "list": {"flag": entries},
    }.items():
        session = dt.open(source, columns={"flag": dt.Boolean()}, rows=100, budget=dt.Budget(1_000.0))
        found[name] = session.ask(dt.Count("flag"), **how).value
    found["dt.count"] = dt.count(entries, **how).value
    assert all(one == other for one, other in itertools.pairwise(found.values())), found


def raising(error, name="__array__"):
    """An entry that raises an error where it is looked at in this way."""

    def looked_at(*_, **__):
        raise error

    return type(
        "Entry", (), {name: looked_at, "__len__": lambda _: 2} if name == "__getitem__" else {name: looked_at}
    )()


LOOKED_AT = {
    "array": lambda: raising(RuntimeError("the record's own words")),
    "interface": type("Entry", (), {"__array_interface__": property(lambda _: {}["record"])}),
    "item": lambda: raising(RuntimeError("the record's own words"), "__getitem__"),
    "exit": lambda: raising(SystemExit(3)),
}


@pytest.mark.parametrize("name", LOOKED_AT)
def test_an_entry_that_raises(name):
    """In lists of entries and of rows, for programs and for means."""
    entry, how = LOOKED_AT[name](), {"bounds": (0, 10), "executor": "trusted", "blocks": 10, "epsilon": 1.0}
    for others in (1.0, [1.0, 2.0]):
        data = [others] * 199 + [entry]
        assert dt.sample_and_aggregate(data, lambda _: 1.0, **how).value is not None
    assert dt.mean([1.0] * 199 + [entry], bounds=(0, 10), epsilon=1.0).value is not None
    rows = [[1.0, 2.0]] * 199 + [entry]
    assert dt.mean(rows, bounds=[(0, 10), (0, 10)], epsilon=1.0).value is not None


@pytest.mark.parametrize("others", [1.0, [1.0, 2.0], np.array([1.0, 2.0]), "word"], ids=str)
@pytest.mark.parametrize("entry", [np.array(4.0), np.array(None)], ids=["number", "object"])
def test_an_array_without_a_length(entry, others):
    """An array of no dimension among rows, or alone in its block."""
    for blocks in (50, 10):
        how = {"bounds": (0, 10), "executor": "trusted", "blocks": blocks, "epsilon": 1.0}
        assert dt.sample_and_aggregate([others] * 49 + [entry], lambda _: 1.0, **how).value is not None


@pytest.mark.parametrize("looked_at", ["__hash__", "__str__", "__repr__", "__eq__", "__ne__", "__class__"])
@pytest.mark.parametrize(
    "asked",
    [
        lambda data: dt.count(data, epsilon=1.0),
        lambda data: dt.histogram(data, categories=["a", "b"], epsilon=1.0),
        lambda data: dt.histogram(data, epsilon=1.0, delta=1e-6),
        lambda data: dt.mode(data, epsilon=1.0, delta=1e-6),
        lambda data: dt.counting_queries(data, family="points", categories=["a", "b"], epsilon=1.0),
    ],
    ids=["count", "histogram", "found", "mode", "points"],
)
def test_an_entry_that_ends_the_program(asked, looked_at):
    """Counted as any other record, whatever its class does when it is compared, hashed or written."""

    def leave(*_):
        raise SystemExit(3)

    body = {looked_at: property(leave) if looked_at == "__class__" else leave}
    entry = type("Entry", (), {"__hash__": object.__hash__} | body)()
    assert asked(["a"] * 99 + [entry]).loss.epsilon == 1.0


def test_an_entry_that_warns(recwarn):
    """In tables and in blocks of programs, in columns of truth values and of numbers: nobody is warned."""
    columns = {"flag": dt.Boolean(), "x": dt.Real(0, 10)}
    how = {"bounds": (0, 10), "executor": "trusted", "blocks": 10}
    for place in ("flag", "x"):
        table = {"flag": [True] * 100, "x": [1.0] * 100}
        table[place][50] = np.ma.masked
        session = dt.open(table, columns=columns, budget=dt.Budget(100.0))
        session.ask([dt.Count("flag"), dt.Mean("x")], epsilon=1.0)
        session.ask(dt.Program(len, columns=["flag", "x"], **how), epsilon=1.0)
    dt.sample_and_aggregate([1.0] * 99 + [np.ma.masked], len, epsilon=1.0, **how)
    dt.sample_and_aggregate({"x": [1.0] * 99 + [np.ma.masked]}, len, epsilon=1.0, **how)
    assert [str(one.message) for one in recwarn] == []


class Zero(int):
    """A whole number of somebody's own class, which says of itself that it is 0."""

    def __float__(self):
        return 0.0


@pytest.mark.parametrize("entry", [Zero(10), np.ma.masked], ids=["own class", "masked"])
def test_an_entry_is_read_alike_among_all_others(entry):
    """An array made of a whole list may read it in another way than alone, and the others decided which."""
    how = {"bounds": (0, 10), "epsilon": 1_000.0, "confidence": None, "nulls": 10}
    others = (1, 1.0, True, np.float32(1), np.longdouble(1), "1", None)
    means = {round(dt.mean([entry] * 999 + [other], **how).value, 1) for other in others}
    assert len(means) == 1, means


def test_a_long_text_does_not_widen_the_others():
    """A block of texts needs memory for its texts, not for the longest of them once for each record."""
    data = ["a"] * 199 + ["x" * 1_000_000]
    tracemalloc.start()
    try:
        dt.sample_and_aggregate(data, lambda _: 1.0, bounds=(0, 10), executor="trusted", blocks=2, epsilon=1.0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 50_000_000, f"{peak / 1e6:.0f} MB"


@pytest.mark.parametrize(("version", "true"), [(1, 100), (2, 300)])
def test_version_1_keeps_its_reading(version, true, tmp_path: pathlib.Path):
    """docs/schema.md: version 1 is the reading of dither 0.1.0, which stays as it is; it knew 0 and 1 in CSV files."""
    (tmp_path / "v.csv").write_text("flag\n" + "2\n0.5\n1\n0\n" * 100)
    sections = '[dataset]\nsource = "v.csv"\nrows = 400\n[budget]\nepsilon = 1000\n[columns.flag]\ntype = "boolean"\n'
    (tmp_path / "v.toml").write_text(f"version = {version}\n{sections}")
    assert dt.open(tmp_path / "v.toml").ask(dt.Count("flag"), epsilon=100.0, confidence=None).value == true
