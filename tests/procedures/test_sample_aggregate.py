"""Sample and aggregate: partitions, medians of blocks, what is refused, and that nothing is told by errors."""

import asyncio
import datetime
import json
import math
from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from dither.errors import InvalidArgument, NotApplicable
from dither.privacy import Loss
from dither.procedures.aggregate import MEDIAN, Aggregation, quantised
from dither.procedures.executor import Output, Trusted
from dither.procedures.partition import Independent, Overlapping, Partition, overlap
from dither.procedures.rows import Rows
from dither.queries.wire import from_json, to_json
from dither.sandbox import memory

PAY = np.linspace(20_000, 120_000, 5_000)


def ask(rows=PAY, program=np.mean, **options):
    """Of rows of pay, in this process."""
    return dt.sample_and_aggregate(
        rows, program, **{"bounds": (0, 600_000), "epsilon": 2.0, "executor": "trusted", **options}
    )


def test_a_mean_over_blocks_is_near_the_mean():
    """The program runs on every block and the median of its answers is released with a bar about it."""
    release = ask()
    assert 60_000 < release.value < 80_000
    assert release.interval[0] <= release.value <= release.interval[1]
    assert release.loss == dt.Loss(2.0)


def test_a_partition_holds_everybody_once_and_is_fresh():
    """Every index once, sizes within one of each other, another order every time."""
    first, second = Partition(10).draw(103), Partition(10).draw(103)
    assert sorted(np.concatenate(first)) == list(range(103))
    assert {len(block) for block in first} == {10, 11}
    assert any((one != two).any() for one, two in zip(first, second, strict=True))


@pytest.mark.parametrize(("people", "blocks"), [(50, 7), (1_000, 100), (30, 30), (9, 1)])
def test_overlapping_samples_keep_their_promise(people, blocks):
    """Different people within a block, nobody in more blocks than promised, the size of n/m rounded up."""
    drawn = Overlapping(blocks, people).draw(people)
    assert len(drawn) == blocks
    assert all(len(set(block.tolist())) == len(block) == -(-people // blocks) for block in drawn)
    assert np.bincount(np.concatenate(drawn), minlength=people).max() <= overlap(people, blocks)


def test_independent_blocks_keep_everybodys_rows_together():
    """Every row once, all rows of one person in one block, and 4,000 people leave none of 8 empty (1e-200)."""
    owner = np.repeat(np.arange(4_000), 2)
    drawn = Independent(8).draw_groups(owner, 4_000)
    assert sorted(np.concatenate(drawn)) == list(range(8_000))
    assert all(len(block) for block in drawn)
    held = [set(owner[block].tolist()) for block in drawn]
    assert sum(len(one) for one in held) == 4_000


def test_a_failing_block_counts_as_the_default():
    """An exception, a wrong shape and NaN are all the public default; nothing is raised."""

    def fails(rows):
        raise ValueError(rows)

    for program in (fails, lambda rows: rows, lambda rows: float("nan"), lambda rows: "text"):
        release = ask(program=program, default=1_000, epsilon=50.0, confidence=None, example=None)
        assert abs(release.value - 1_000) < 1


@pytest.mark.parametrize(
    "rows",
    [
        PAY,
        PAY.tolist(),
        np.column_stack([PAY, PAY]),
        {"pay": PAY, "job": ["clerk"] * len(PAY)},
    ],
)
def test_rows_of_every_kind(rows):
    """Arrays and lists arrive as arrays, columns with names as Arrow tables."""

    def program(block):
        return block["pay"].to_numpy().mean() if hasattr(block, "column_names") else np.mean(block)

    assert 50_000 < ask(rows, program).value < 90_000


def test_frames_arrive_as_arrow():
    """pandas and Polars alike."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for frame in (pandas.DataFrame({"pay": PAY}), polars.DataFrame({"pay": PAY})):
        assert 50_000 < ask(frame, lambda block: block["pay"].to_numpy().mean()).value < 90_000


def test_vectors_by_their_medians():
    """Each number by itself, for a share of the price."""
    release = ask(program=lambda rows: [rows.mean(), rows.max()], output=2, epsilon=8.0)
    assert len(release.value) == 2
    assert release.value[0] < release.value[1]
    assert all(low <= value <= high for value, (low, high) in zip(release.value, release.interval, strict=True))


@pytest.mark.parametrize(
    ("options", "error", "named"),
    [
        ({"bounds": None}, InvalidArgument, "bounds"),
        ({"bounds": (1, 0)}, InvalidArgument, "bounds"),
        ({"bounds": (0, float("inf"))}, InvalidArgument, "bounds"),
        ({"output": 0}, InvalidArgument, "output"),
        ({"output": 2.0}, InvalidArgument, "output"),
        ({"default": 10**9}, InvalidArgument, "default"),
        ({"blocks": 5_001}, InvalidArgument, "blocks"),
        ({"blocks": 0}, InvalidArgument, "blocks"),
        ({"blocks": 2.5}, InvalidArgument, "blocks"),
        ({"aggregator": "mode"}, InvalidArgument, "aggregator"),
        ({"sampling": "all"}, InvalidArgument, "sampling"),
        ({"metric": "l3"}, InvalidArgument, "metric"),
        ({"metric": "l1", "aggregator": "median"}, NotApplicable, "metric"),
        ({"executor": "thread"}, InvalidArgument, "executor"),
        ({"program": 3}, InvalidArgument, "program"),
        ({"epsilon": 0}, InvalidArgument, "epsilon"),
        ({"confidence": 2}, InvalidArgument, "confidence"),
        ({"rows": []}, InvalidArgument, "rows"),
        ({"rows": "text"}, InvalidArgument, "rows"),
        ({"rows": np.array([1j])}, InvalidArgument, "rows"),
        ({"rows": np.array(3.0)}, InvalidArgument, "rows"),
        ({"rows": {"a": [1, 2], "b": [1]}}, InvalidArgument, "rows"),
    ],
)
def test_bad_input_is_named(options, error, named):
    """An error names the argument; none of these needs more than public facts."""
    with pytest.raises(error, match=named):
        ask(**options)


def _frame(values):
    """A frame of pandas with a column of categories, which are a kind of their own."""
    pandas = pytest.importorskip("pandas")
    try:
        return pandas.DataFrame({"a": pandas.Series(values, dtype="category")})
    except TypeError:  # a list cannot be a category
        return pandas.DataFrame({"a": pandas.Series(values, dtype=object)})


def looks_of(rows, program):
    """What a program says about each of 30 blocks, as answers of the blocks themselves."""
    data = Rows(rows)
    return [program(data.block(members)) for members in Partition(30).draw(data.people)]


@pytest.mark.parametrize("as_rows", [list, lambda x: {"a": x}, lambda x: np.array(x, dtype=object)])
def test_one_fraction_among_whole_numbers_changes_no_other_block(as_rows):
    """Types are the same with and without it, or a program could ask every block about one person."""

    def kind(block):
        return str(block.schema.types) if hasattr(block, "schema") else block.dtype.str

    whole, almost = [1] * 300, [1] * 299 + [1.5]
    assert set(looks_of(as_rows(whole), kind)) == set(looks_of(as_rows(almost), kind))


def test_one_long_text_changes_no_other_block():
    """Texts of arrays are as wide as those of their block."""
    rows = ["ab"] * 299 + ["a long name"]
    for given in (rows, np.array(rows)):
        widths = looks_of(given, lambda block: block.dtype.str)
        assert sorted(set(widths)) == ["<U11", "<U2"]
        assert widths.count("<U11") == 1


def test_one_rare_category_is_in_no_other_block():
    """Categories of frames are decoded: their list would show everybody's."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"job": pandas.Categorical(["clerk"] * 299 + ["astronaut"])})
    seen = looks_of(frame, lambda block: "astronaut" in str(block.schema) + str(block["job"].chunks))
    assert seen.count(True) == 1
    assert looks_of(frame, lambda block: block.schema.metadata)[0] is None


ODD = ["seven", None, 10**400, datetime.date(1, 1, 1), [1, 2], object(), b"x", 3j, "\ud800", float("nan")]


@pytest.mark.parametrize("odd", ODD, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("as_rows", [list, lambda x: {"a": x}, lambda x: [[one, 0] for one in x], _frame])
def test_an_entry_of_another_kind_is_no_error_and_changes_its_own_block_alone(as_rows, odd):
    """Whoever has it: the answer of one block may be anything, those of all others are the same."""

    def looks(block):
        values = block["a"].to_numpy() if hasattr(block, "column_names") else block
        kind = str(block.schema) if hasattr(block, "column_names") else str(block.dtype)
        return [float(len(values)), float(hash((kind, np.shape(values)[1:])) % 1000)]

    plain = [float(place) for place in range(600)]
    seen = looks_of(as_rows([*plain[:-1], odd]), looks)
    common = max(set(map(tuple, seen)), key=[tuple(one) for one in seen].count)
    assert sum(tuple(one) != common for one in seen) <= 1
    assert common == tuple(looks_of(as_rows(plain), looks)[0])


def test_dictionaries_inside_lists_and_structs_do_not_travel():
    """Categories of others are in no block, however deep."""
    pa = pytest.importorskip("pyarrow")
    words = pa.array(["common", *["rare"] * 1, *["common"] * 58]).dictionary_encode()
    nested = pa.ListArray.from_arrays(pa.array(range(61), pa.int32()), words)
    struct = pa.StructArray.from_arrays([words], ["word"])
    runs = pa.RunEndEncodedArray.from_arrays([60], pa.array(["common"]))
    for column in (nested, struct, words, runs):
        data = Rows(pa.table({"a": column}))
        blocks = [data.block(np.array([place])) for place in (0, 2)]
        assert all("dictionary" not in str(block.schema) for block in blocks)
        assert all(b"rare" not in memory.encode(block) for block in blocks)


def _columns(entries):
    """One column of every kind of frame, whose type allows missing entries."""
    pa, pandas, polars = (pytest.importorskip(one) for one in ("pyarrow", "pandas", "polars"))
    yield pa.array(entries)
    yield pa.chunked_array([entries])
    yield polars.Series(entries)
    for kind in {bool: ("boolean",), int: ("Int64", "category"), float: ("Float64",)}[type(entries[0])]:
        yield pandas.Series(entries, dtype=kind)


@pytest.mark.parametrize("entries", [[1, 2, 3], [True, False, True], [1.5, 2.5, 3.5]], ids=lambda one: str(one[0]))
def test_one_missing_entry_changes_no_other_block(entries):
    """Neither its type nor whether there is an answer: what libraries make of whole numbers depends on all of them."""
    for whole, other in zip(_columns(entries), _columns([*entries[:2], None]), strict=True):
        one, two = (memory.encode(Rows(rows).block(np.array([0, 1]))) for rows in (whole, other))
        assert one == two, type(whole)


def test_a_text_that_cannot_be_told_changes_no_other_block():
    """A block without any text has the same type, whatever somebody else's text is."""
    pandas = pytest.importorskip("pandas")
    blocks = [
        Rows(pandas.DataFrame({"a": pandas.Series([None, None, last], dtype="string[python]")})).block(np.array([0, 1]))
        for last in ("x", "\ud800")
    ]
    assert blocks[0].schema == blocks[1].schema


def test_views_of_lists_carry_nothing_of_others():
    """They share one store of values, which would travel with every block."""
    pa = pytest.importorskip("pyarrow")
    for kind in (pa.list_view(pa.string()), pa.large_list_view(pa.string()), pa.list_(pa.list_view(pa.string()))):
        entries = [["a"], ["b"], ["SOMEBODY"]] if kind.value_type == pa.string() else [[["a"]], [["b"]], [["SOMEBODY"]]]
        block = Rows(pa.table({"a": pa.array(entries, kind)})).block(np.array([0, 1]))
        assert block.column("a").to_pylist() == entries[:2]
        assert b"SOMEBODY" not in memory.encode(block)


def test_columns_of_texts_and_dates():
    """Lists by what all of their entries are; missing ones stay missing."""
    day = datetime.date(2020, 1, 1)
    rows = {"name": ["a", None, "b"], "day": [day, None, day], "pay": [1, None, 2.5]}
    block = Rows(rows).block(np.arange(3))
    assert block.to_pydict() == {**rows, "pay": [1.0, None, 2.5]}
    assert Rows({"mixed": ["a", 1]}).block(np.arange(2)).to_pydict() == {"mixed": ["a", "1"]}


@pytest.mark.parametrize(
    "sampling", [Partition(20), Independent(20), Overlapping(20, 200)], ids=lambda one: type(one).__name__
)
def test_one_person_changes_no_more_blocks_than_promised(sampling):
    """With the same draw of blocks and a program written to betray one person, the tables differ in that many rows."""
    rows = np.arange(200.0)
    tables = []
    for target in (17.0, -1.0):
        rows[17] = target
        rng = np.random.default_rng(5)
        members = sampling.draw(200, rng.bytes)
        betrayer = Trusted(lambda block: float((block == 17.0).any()), output=Output(1, bounds=(0, 1)))
        tables.append(betrayer.run([Rows(rows).block(one) for one in members]))
    changed = int((tables[0] != tables[1]).sum())
    assert 1 <= changed <= sampling.touched


@pytest.mark.parametrize("raised", [GeneratorExit, SystemExit, asyncio.CancelledError, BaseException, MemoryError])
def test_whatever_a_trusted_function_raises_is_the_default(raised):
    """Whether it raises may depend on one person: only the owner's own interrupt gets through."""

    def function(block):
        if block[0]:
            raise raised
        return 1.0

    executor = Trusted(function, output=Output(1, bounds=(0, 1), default=0.25))
    assert executor.run([np.array([0]), np.array([1])]).tolist() == [[1.0], [0.25]]


def test_an_interrupt_is_not_swallowed():
    """Ctrl-C is the owner's."""

    def function(block):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Trusted(function, output=Output(1, bounds=(0, 1))).run([np.array([0])])


def off_by_chance(task):
    """The exact probability that blocks which all answer 37 are answered with another value, number by number."""
    made = MEDIAN.prepare(task)
    # A round number has a weight of its own on the fine grid, so that one is missed less often.
    column = quantised(np.full(task.blocks, 37.0 if task.steps else 37.123_456_789), task.grids[0])
    shells = made.mechanisms[0].shells(column)
    weights = shells.counts(1, shells.shell_count)
    rate = float(made.mechanisms[0].rate)
    mass = [weight * math.exp(-rate * cost) for cost, weight in enumerate(weights)]
    assert weights[0] == 1
    return 1 - mass[0] / math.fsum(mass)


@pytest.mark.parametrize("steps", [None, (Fraction(1),), (Fraction(1, 100),)], ids=["fine", "whole", "cents"])
@pytest.mark.parametrize("touched", [1, 3])
@pytest.mark.parametrize("epsilon", [0.25, 1.0, 4.0])
def test_blocks_wanted_tell_an_answer_from_all_others(steps, touched, epsilon):
    """With the wanted blocks the answer of all is missed once in a thousand; with a third less ten times as often."""
    output = Output(1, bounds=(0, 100))
    task = Aggregation(1, touched, output, Loss(epsilon), None, steps=steps)
    wanted = MEDIAN.blocks_wanted(task)
    assert off_by_chance(Aggregation(wanted, touched, output, Loss(epsilon), None, steps=steps)) <= 1e-3
    assert off_by_chance(Aggregation(2 * wanted // 3, touched, output, Loss(epsilon), None, steps=steps)) > 1e-2


def test_a_program_that_always_answers_the_same_is_answered_with_that():
    """On the default grid, by the default number of blocks: at most 7 of 200 are missed (false alarm below 1e-9)."""
    rows = np.zeros(3_000)
    for confidence in (None, 0.95):
        found = [ask(rows, lambda _: 37, bounds=(0, 100), confidence=confidence).value for _ in range(100)]
        assert sum(value != 37 for value in found) <= 7


@pytest.mark.parametrize("aggregator", ["median", "smooth_median", "centre", "medoid", "unconstrained_centre"])
def test_a_step_is_the_grid_of_what_is_released(aggregator):
    """Every aggregator's answer and both ends are multiples of the step within the bounds."""
    release = ask(bounds=(20_000, 120_001), step=2_500, aggregator=aggregator)
    assert all(number % 2_500 == 0 for number in (release.value, *release.interval))
    assert release.interval[0] <= release.value <= release.interval[1] <= 120_000


def test_steps_of_several_numbers_and_of_an_average():
    """One for all, or one for each; numbers stay at their places."""
    both = ask(program=lambda block: [block.mean(), 3], output=2, bounds=[(0, 600_000), (0, 10)], step=[1_000, 0.5])
    assert both.value[0] % 1_000 == 0
    assert both.value[1] % 0.5 == 0
    averaged = ask(output=1, step=100, aggregator="average", delta=1e-6, blocks=400)
    assert averaged.value % 100 == 0


@pytest.mark.parametrize("step", [0, -1, [1, 2], "1", math.nan, 700_000])
def test_what_is_no_step_is_refused(step):
    """Before anything runs."""
    with pytest.raises(InvalidArgument, match="step"):
        ask(step=step)
    with pytest.raises(InvalidArgument, match="step"):
        dt.Program(len, space="labels: a, b", step=1)


def test_a_step_is_sent_and_stored():
    """A client sends it, a server reads it, and it tells stored questions apart; one without it is stored as before."""
    program = dt.Program(dt.sandbox.Function("def f(rows):\n    return 1\n", "f"), bounds=(0, 9), step=0.5)
    again = from_json(json.loads(json.dumps(to_json(program))))
    assert again.steps == (Fraction(1, 2),)
    assert program.stored()["step"] == ["1/2"]
    assert "step" not in dt.Program(len, bounds=(0, 9)).stored()


def test_a_quote_says_how_many_blocks_or_values_there_should_be():
    """Where epsilon and blocks can't tell the grid's values apart; with the step that it names nothing is said."""
    schema = dt.Schema("pay.csv", {"pay": dt.Real(0, 600_000)}, rows=1_000)
    quoted = dt.quote(dt.Program(np.mean, bounds=(0, 100)), schema, epsilon=1.0)
    (advice,) = quoted.assumptions
    assert "125 blocks are too few" in advice
    assert "take 225 blocks, or a step that leaves at most 139,002 values" in advice
    assert advice in str(quoted)
    for better in (
        dt.Program(np.mean, bounds=(0, 100), step=100 / 139_000),
        dt.Program(np.mean, bounds=(0, 100), blocks=225),
    ):
        assert dt.quote(better, schema, epsilon=1.0).assumptions == ()
