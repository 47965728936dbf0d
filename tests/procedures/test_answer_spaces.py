"""Programs that answer with points: rankings, sets, labels, strings, any finite metric space."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest

import dither as dt
import oracle
from conftest import trials
from dither.errors import InvalidArgument
from dither.kernels.point_distances import edit, equality, kendall, symmetric_difference
from dither.privacy import Loss
from dither.procedures.aggregate import Aggregation
from dither.procedures.answer_spaces import ListedPoints, Rankings, Subsets, as_space
from dither.procedures.drawn_point import CENTRE, MEDOID, centre_costs, medoid_costs
from dither.queries.wire import from_json, to_json

COSTS = {"medoid": (medoid_costs, oracle.medoid_cost), "centre": (centre_costs, oracle.centre_cost)}
ITEMS = tuple("abcdefgh")


def line(points):
    """Points on a line."""
    places = np.arange(points)
    return ListedPoints(dt.MetricSpace.of(range(points), np.abs(places[:, None] - places[None, :])))


def random_space(rng, points):
    """Points of the plane with the sum of the absolute differences, some of them near each other."""
    places = {tuple(rng.integers(0, 5, 2).tolist()) for _ in range(points)} | {(0, 0), (9, 9)}
    return ListedPoints(dt.MetricSpace.of(sorted(places), lambda p, q: abs(p[0] - q[0]) + abs(p[1] - q[1])))


SPACES = {
    "line": line(4),
    "labels": as_space("labels: a, b, c"),
    "rankings": Rankings("abc"),
    "sets": Subsets("ab"),
    "strings": as_space("strings: ab, abc, b, bcd"),
    "star": ListedPoints(dt.MetricSpace.of(range(4), [[0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]])),
}
every_space = pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
both = pytest.mark.parametrize("name", COSTS)


def points_of(space):
    """All points and their plain distance."""
    table = [space.distances(place).tolist() for place in range(space.size)]
    return range(space.size), lambda p, q: table[p][q]


def prepared(name, space, blocks, epsilon=1.0, touched=1):
    """The draw, ready."""
    output = space.output(None)
    task = Aggregation(blocks, touched, output, Loss(epsilon), space=space)
    return {"medoid": MEDOID, "centre": CENTRE}[name].prepare(task)


@pytest.mark.parametrize(
    ("one", "other", "distance", "apart"),
    [
        ("a", "b", equality, 1),
        ("kitten", "sitting", edit, 3),
        ("", "abc", edit, 3),
        (tuple("abcd"), tuple("dcba"), kendall, 6),
        (tuple("abcd"), tuple("bacd"), kendall, 1),
        (frozenset("abc"), frozenset("cd"), symmetric_difference, 3),
    ],
)
def test_named_distances(one, other, distance, apart):
    """By hand."""
    assert distance(one, other) == distance(other, one) == apart
    assert distance(one, one) == 0


def test_edits_are_least():
    """Levenshtein's distance of short texts is the length of a shortest path of single edits."""
    texts = ["".join(one) for length in range(4) for one in product("ab", repeat=length)]

    def edited(text):
        for place in range(len(text) + 1):
            yield from (text[:place] + new + text[place:] for new in "ab")
            yield text[:place] + text[place + 1 :]
            yield from (text[:place] + new + text[place + 1 :] for new in "ab" if place < len(text))

    for start in texts:
        reached, layer = {start: 0}, [start]
        for step in range(1, 7):
            layer = [
                new for one in layer for new in edited(one) if len(new) <= 4 and reached.setdefault(new, step) == step
            ]
        assert all(edit(start, text) == reached[text] for text in texts)


def test_rankings_have_codes_and_kendalls_distances():
    """All 24 rankings of four items: places, codes, points and distances."""
    space = Rankings("abcd")
    points = [space.point(place) for place in range(space.size)]
    assert points == list(permutations("abcd"))
    for place, point in enumerate(points):
        assert space.place([int(number) for number in space.code(list(point))]) == place
        assert space.distances(place).tolist() == [kendall(point, other) for other in points]
    assert space.diameter == max(map(max, (space.distances(place) for place in range(24))))


def test_sets_have_codes_and_differences():
    """All 16 sets of four items."""
    space = Subsets("abcd")
    points = [space.point(place) for place in range(space.size)]
    assert len(set(points)) == 16
    for place, point in enumerate(points):
        assert space.place([int(number) for number in space.code(set(point))]) == place
        expected = [symmetric_difference(frozenset(point), frozenset(other)) for other in points]
        assert space.distances(place).tolist() == expected


@pytest.mark.parametrize("space", [Rankings("abcd"), Subsets("abc"), line(9)], ids=["rankings", "sets", "line"])
def test_what_is_no_code_is_the_default(space):
    """Numbers between, numbers twice, numbers outside."""
    rows = np.array([[0.5] * space.numbers, [-1.0] * space.numbers, [99.0] * space.numbers])
    assert space.places(rows, 7).tolist() == [7, 7, 7]


@both
@every_space
def test_costs_are_those_of_the_definition(name, space):
    """All tables of up to three answers, point by point."""
    fast, plain = COSTS[name]
    points, distance = points_of(space)
    for blocks in (1, 2, 3):
        for table in product(points, repeat=blocks):
            found = fast(space, np.array(table))
            assert found.tolist() == [plain(points, distance, table, one) for one in points]


@both
def test_costs_on_random_spaces(name):
    """More answers, uneven spaces."""
    fast, plain = COSTS[name]
    rng = np.random.default_rng(17)
    for _ in range(trials(40, 1_000)):
        space = [random_space(rng, 9), Rankings("abcd"), Subsets("abcd")][rng.integers(3)]
        points, distance = points_of(space)
        table = rng.integers(0, min(space.size, int(rng.integers(2, 30))), size=int(rng.integers(1, 12)))
        assert fast(space, table).tolist() == [plain(points, distance, table.tolist(), one) for one in points]


@both
@every_space
def test_one_answer_moves_costs_by_one_change(name, space):
    """Every pair of neighbours of all tables of three answers; and some point always costs nothing."""
    fast, _ = COSTS[name]
    tables = {table: fast(space, np.array(table)) for table in product(range(space.size), repeat=3)}
    moved = 0
    for table, costs in tables.items():
        assert costs.min() == 0
        assert costs.max() <= 5
        for place, other in product(range(3), range(space.size)):
            neighbour = tables[(*table[:place], other, *table[place + 1 :])]
            moved = max(moved, int(np.abs(costs - neighbour).max()))
    assert moved <= 2
    assert moved == 2 or space.equidistant or name == "centre"


def worst_loss(name, space, answers, blocks, rate=None):
    """The greatest log-ratio between neighbours among tables of the given answers."""
    fast, _ = COSTS[name]
    used = float(prepared(name, space, blocks).rate if rate is None else rate)
    sets = {
        table: np.log(oracle.exponential_law(fast(space, np.array(table)).tolist(), used))
        for table in combinations_with_replacement(answers, blocks)
    }
    laws = {table: sets[tuple(sorted(table))] for table in product(answers, repeat=blocks)}
    return max(
        float(np.max(law - laws[(*table[:place], other, *table[place + 1 :])]))
        for table, law in laws.items()
        for place, other in product(range(blocks), answers)
    )


@both
@every_space
def test_draws_are_private_in_small_universes(name, space):
    """All tables of three answers and all their neighbours."""
    assert worst_loss(name, space, range(space.size), 3) <= 1.0 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "space", "answers", "blocks"),
    [
        ("medoid", lambda: line(300), (0, 5, 6, 299), 4),
        ("centre", lambda: line(300), (30, 40, 100, 299), 4),
        ("medoid", lambda: as_space("labels: a, b"), (0, 1), 10),
    ],
    ids=["medoid", "centre", "labels"],
)
def test_the_loss_is_nearly_attained_and_more_is_found(name, space, answers, blocks):
    """A rate that is 30% too high breaks the promise, so these universes would notice one."""
    space = space()
    rate = prepared(name, space, blocks).rate
    reached = worst_loss(name, space, answers, blocks)
    assert 0.8 < reached <= 1.0 + 1e-9
    assert worst_loss(name, space, answers, blocks, rate * Fraction(13, 10)) > 1.0


@both
def test_draws_follow_the_law(name):
    """8,000 draws: the medoid's share is within its limit (false alarm 1e-9, Hoeffding); a rate 1.3 times is not."""
    space, table, runs = line(5), np.zeros(4, dtype=np.int64), 8_000
    draw = prepared(name, space, len(table), epsilon=1.5)
    costs = COSTS[name][0](space, table).tolist()
    counted = Counter(draw.drawn(table) for _ in range(runs))
    allowed = math.sqrt(math.log(2 / 1e-9) / (2 * runs))
    chance, wrong = (oracle.exponential_law(costs, factor * float(draw.rate))[0] for factor in (1, 1.3))
    assert abs(counted[0] / runs - chance) <= allowed
    assert abs(chance - wrong) > 2 * allowed
    assert set(counted) == set(range(5))


def test_touched_blocks_share_epsilon():
    """Someone in three blocks changes three answers."""
    assert prepared("medoid", line(4), 9, 1.0, 3).rate == prepared("medoid", line(4), 9, 1.0, 1).rate / 3


def agreeing(rng, blocks):
    """Two fifths of the answers are the same ranking, the others have two neighbouring ranks exchanged."""
    space = Rankings(ITEMS)
    truth = tuple(rng.permutation(8).tolist())
    rows = [list(truth) for _ in range(blocks)]
    for row in rows[2 * blocks // 5 :]:
        place = int(rng.integers(0, 7))
        row[place], row[place + 1] = row[place + 1], row[place]
    return tuple(ITEMS[one] for one in truth), space, np.array(rows, dtype=float)


def test_a_consensus_of_eight_items():
    """200 blocks, two fifths of them alike, epsilon 1: the right ranking each time (all others: below 1e-9)."""
    rng = np.random.default_rng(8)
    for _ in range(3):
        truth, space, rows = agreeing(rng, 200)
        draw = prepared("medoid", space, 200)
        (place,) = draw.run(rows).values
        assert space.point(int(place)) == truth
        costs = np.sort(medoid_costs(space, space.places(rows, 0)))
        assert costs[0] == 0
        assert space.size * math.exp(-float(draw.rate) * int(costs[1])) < 1e-9


def test_the_promise_about_costs():
    """The public statement bounds the exact mass of dearer points."""
    space, table = line(30), np.array([3, 3, 4, 20, 21])
    draw = prepared("medoid", space, len(table), epsilon=4.0)
    costs = medoid_costs(space, table)
    law = np.array(oracle.exponential_law(costs.tolist(), float(draw.rate)))
    for missed in (Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000)):
        assert law[costs > 2 * draw.changes(missed)].sum() <= missed


VOTES = np.array([[0, 1, 2]] * 3_000 + [[1, 0, 2]] * 1_000)


def borda(rows):
    """The drinks by their mean rank."""
    drinks = ("coffee", "tea", "water")
    return [drinks[int(one)] for one in np.argsort(rows.mean(axis=0), kind="stable")]


def ask(program, space, **options):
    """In this process."""
    given = {"space": space, "epsilon": 4.0, "executor": "trusted", **options}
    return dt.sample_and_aggregate(VOTES, program, **given)


def test_rankings_sets_labels_and_strings():
    """Each released as a point of its space."""
    ranked = ask(borda, dt.Rankings(["water", "tea", "coffee"]))
    assert ranked.value == ("coffee", "tea", "water")
    assert ranked.interval is None
    assert ranked.loss == Loss(4.0)
    assert "95% within" in ranked.query
    assert ask(lambda rows: {"tea", "water"}, dt.Subsets(["water", "tea"])).value == ("water", "tea")
    assert ask(lambda rows: "b", "labels: a, b, c", confidence=None).value == "b"
    words = dt.MetricSpace.of(["teh", "the", "then"], "edit")
    assert ask(lambda rows: "the", words, aggregator="centre").value == "the"


def test_a_block_that_fails_is_the_default():
    """Raising, unknown items, too few items, something else."""
    for program in (lambda rows: 1 / 0, lambda rows: ["tea", "beer"], lambda rows: ["tea"], lambda rows: 3):
        release = ask(program, dt.Rankings(["water", "tea"]), default=("tea", "water"), epsilon=40.0, example=None)
        assert release.value == ("tea", "water")
    assert ask(lambda rows: 1 / 0, dt.Rankings(["water", "tea"]), epsilon=40.0, example=None).value == ("water", "tea")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"space": "rankings"}, "space"),
        ({"space": "rankings: a"}, "items"),
        ({"space": "rankings: a, a"}, "items"),
        ({"space": "rankings: " + ", ".join("abcdefghij")}, "items.*at most 9"),
        ({"space": "sets: " + ", ".join(map(str, range(17)))}, "items"),
        ({"space": "tuples: a, b"}, "space"),
        ({"space": "points: {}"}, "space"),
        ({"space": 'points: {"points": ["a", "b"], "distances": [[0, 1]]}'}, "distance"),
        ({"space": 3}, "space"),
        ({"space": "labels: a, b", "bounds": (0, 1)}, "bounds"),
        ({"space": "labels: a, b", "output": 2}, "output"),
        ({"space": "labels: a, b", "default": "c"}, "default"),
        ({"space": "labels: a, b", "aggregator": "median"}, "aggregator"),
        ({"space": "labels: a, b", "metric": "l1"}, "metric"),
        ({"space": dt.Rankings("abcdefghi"), "aggregator": "centre", "blocks": 400}, "blocks"),
    ],
)
def test_bad_spaces_are_named(options, named):
    """From public facts, before anything runs."""
    with pytest.raises(InvalidArgument, match=named):
        ask(lambda rows: pytest.fail("nothing may run"), **options)


@pytest.mark.parametrize(
    ("points", "distance", "named"),
    [
        ([], "equality", "points"),
        (["a"], "equality", "points"),
        (["a", "b", "c"], [[0, 1, 5], [1, 0, 1], [5, 1, 0]], "triangle"),
        (["a", "b"], [[0, 1], [2, 0]], "both directions"),
        (["a", "b"], [[0, 0], [0, 0]], "no other"),
        (["a", "b"], [[0, -1], [-1, 0]], "no other"),
        (["a", "b"], lambda p, q: 1 / 0, "must not fail"),
        (["a", "b"], "euclid", "equality"),
        ([("a", "b"), ("a", "c")], "kendall", "must not fail"),
        ([1, 2], "edit", "must not fail"),
    ],
)
def test_what_is_no_metric_space_is_refused(points, distance, named):
    """All of it is public."""
    with pytest.raises(InvalidArgument, match=named):
        dt.MetricSpace.of(points, distance)


def test_huge_distances_do_not_overflow():
    """Sums beyond 64 bits are Python's whole numbers."""
    far = 1 << 60
    space = ListedPoints(dt.MetricSpace.of("abc", [[0, far, far], [far, 0, far], [far, far, 0]]))
    assert medoid_costs(space, np.array([0, 0, 0, 0, 1, 2])).tolist() == [0, 3, 3]
    assert space.equidistant


@pytest.mark.parametrize(
    "space",
    [dt.Rankings("abc"), dt.Subsets(["x, y", "z"]), dt.MetricSpace.of([(1, 2), "b", None], "equality")],
    ids=["rankings", "sets", "points"],
)
def test_spaces_are_sent_as_text(space):
    """A client's question arrives with the same points and distances; sandboxes translate answers as we do."""
    query = dt.Program(borda_source(), space=space, default=as_space(space).point(1))
    sent = to_json(query)
    arrived = from_json(sent)
    here, there = query.answer_space, arrived.answer_space
    assert there is not None
    assert [there.point(place) for place in range(there.size)] == [here.point(place) for place in range(here.size)]
    assert [there.distances(place).tolist() for place in range(3)] == [
        here.distances(place).tolist() for place in range(3)
    ]
    assert arrived.answers == query.answers
    assert arrived.stored()["space"] == query.stored()["space"]
    for place in range(here.size):
        scope = {}
        exec(f"def translated(answer):\n    {here.translation}", scope)  # noqa: S102 - our own text
        point = here.point(place)
        assert scope["translated"](list(point) if isinstance(point, tuple) else point) == here.code(point)


def borda_source():
    """A program as a server gets it."""
    from dither.sandbox import Function

    return Function("def order(rows):\n    return ['a', 'b', 'c']\n", "order")


def test_in_a_session_and_its_quote():
    """Charged, stored, and asked again for nothing."""
    columns = {"vote": dt.Category(["tea", "water"])}
    with dt.open({"vote": ["tea"] * 900 + ["water"] * 100}, columns=columns, budget=dt.Budget(9.0)) as session:
        query = dt.Program(
            lambda rows: max(("tea", "water"), key=rows["vote"].to_pylist().count),
            space="labels: tea, water",
            executor="trusted",
        )
        assert session.quote(query, epsilon=2.0).loss == Loss(2.0)
        assert session.ask(query, epsilon=2.0, confidence=None).value == "tea"
        assert session.budget.spent.epsilon == 2.0


@pytest.mark.slow
def test_at_the_shell(isolated, tmp_path, monkeypatch):
    """A dry run with a space in text; without bounds or a space it says what is missing."""
    from click.testing import CliRunner

    from dither.interfaces.cli.main import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "votes.csv").write_text("tea,water\n" + "1,0\n" * 400)
    columns = '[columns.tea]\ntype = "integer"\nbounds = [0, 1]\n[columns.water]\ntype = "integer"\nbounds = [0, 1]\n'
    dataset = '[dataset]\nsource = "votes.csv"\nrows = 400\n[budget]\nepsilon = 9\n'
    (tmp_path / "votes.toml").write_text(dataset + columns)
    (tmp_path / "order.py").write_text("def order(rows):\n    return ['water', 'tea']\n")
    words = ["run", "votes.toml", "order.py:order", "--epsilon", "2", "--blocks", "20", "--slot", "0.3", "--dry-run"]
    space = ["--space", "rankings: tea, water", "--default", "water, tea", "--json"]
    done = CliRunner().invoke(main, [*words, *space])
    assert done.exit_code == 0, done.output
    assert '"aggregator": "medoid"' in done.stdout
    refused = CliRunner().invoke(main, words)
    assert refused.exit_code != 0
    assert "bounds" in refused.output


@pytest.mark.slow
def test_in_a_sandbox(isolated):
    """The points are looked up inside, beside the program."""
    source = "def order(rows):\n    return ['tea', 'water', 'milk']\n"
    from dither.sandbox import Function

    release = dt.sample_and_aggregate(
        VOTES, Function(source, "order"), space="rankings: milk, tea, water", blocks=8, slot=1.5, epsilon=20.0
    )
    assert release.value == ("tea", "water", "milk")
