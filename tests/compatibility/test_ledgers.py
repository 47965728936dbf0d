"""Ledgers of version 0.1.0: they open and verify, and every stored answer is given again, free."""

import json

import pytest
from click.testing import CliRunner

import dither as dt
from compatibility.laying import (
    PLACE,
    command_line,
    differences,
    kept,
    lay_data,
    lay_postgres,
    lay_sqlite,
    plain,
    run,
    session,
)

pytestmark = pytest.mark.slow

REFUSED_NOW = {}
"""Statements that were answered by 0.1.0 and are refused on purpose since, with the reason."""
ANSWERED_NOW = {
    'session.sql("SELECT stddev(pay) FROM pay", epsilon=0.5)': "0.1.0 had no std; asked now, it is charged",
    'session.ask(dt.Variance("pay"), epsilon=0.5, where="age > 40")': "variances of selections are proved now",
    'session.ask(dt.Variance("visits"), epsilon=2)': "variances of people with several rows are proved now",
}
"""Statements that were refused by 0.1.0 and are answered since, with the reason."""


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def old(request, tmp_path_factory):
    """(folder, place of the ledger, what was asked, what was spent)."""
    folder = lay_data(tmp_path_factory.mktemp("old").resolve())
    if request.param == "sqlite":
        place, name = str(lay_sqlite("ledger", folder / "ledger.db", folder)), ""
        yield folder, place, kept("questions"), kept("budgets")
        return
    import psycopg

    server = request.getfixturevalue("postgres_server")
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS of_0_1_0 CASCADE")
        connection.execute("CREATE SCHEMA of_0_1_0")
    place = lay_postgres(f"{server.dsn()}?options=-csearch_path%3Dof_0_1_0", folder)
    name = "_postgres"
    yield folder, place, kept(f"questions{name}"), kept(f"budgets{name}")
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute("DROP SCHEMA of_0_1_0 CASCADE")


def invoke(*words):
    """What the command line prints, as JSON."""
    found = CliRunner().invoke(command_line(), [str(one) for one in words])
    assert found.exit_code == 0, (words, found.output, found.exception)
    return found.stdout


def test_a_ledger_is_read_as_it_was(tmp_path):
    """``dither ledger`` shows, verifies and exports what 0.1.0 did, before anything else opens the ledger."""
    folder = lay_data(tmp_path.resolve() / "old")
    place = lay_sqlite("ledger", folder / "ledger.db", folder)
    for one in kept("readers"):
        kind, command, *more = one["words"]
        text = invoke(kind, command, place, *more, *([] if command == "export" else ["--json"]))
        if command == "export":
            lines = text.replace(str(folder), PLACE).splitlines()
            assert len(lines) == one["lines"]
            found, expected = json.loads(lines[-1]), one["last"]
        else:
            found, expected = json.loads(text.replace(str(folder), PLACE)), one["printed"]
            if "first" in expected:
                assert set(expected["keys"]) <= set(found)
                found, expected = found["entries"][0], expected["first"]
        # The folder is another one here, and so are the hashes behind it.
        for hashed in ("hash", "previous", "head"):
            expected.pop(hashed, None)
        assert not [*differences(expected, found)]


def test_every_stored_answer_is_given_again_and_is_free(old):
    """Statistics, mechanisms, noises, filters, groups, lists, SQL, graphs, trees, clusters, programs, request ids."""
    folder, place, questions, budgets = old
    assert len(questions) > 60
    wrong = []
    for dataset, before in budgets.items():
        with session(dataset, folder, place) as opened:
            for one in questions:
                if one["dataset"] == dataset:
                    wrong += [f"{one['statement']}: {each}" for each in asked_again(one, opened, folder)]
            account = opened.budget
            now = {
                part: [getattr(account, part).epsilon, getattr(account, part).delta]
                for part in before
                if part != "charges"
            }
            wrong += differences(before, now | {"charges": len(opened.history)}, at=f"the budget of {dataset}")
    assert not wrong, "\n".join(wrong)


def asked_again(one, opened, folder):
    """What differs when a statement is asked again."""
    if one["statement"] in ANSWERED_NOW:
        assert "error" in one
        return
    if one["statement"] in REFUSED_NOW:
        with pytest.raises(dt.DitherError):
            run(one["statement"], folder, session=opened)
        return
    try:
        answer = plain(run(one["statement"], folder, session=opened))
    except dt.DitherError as error:
        found = {"type": type(error).__name__, "code": error.code}
        yield from differences(one.get("error", "an answer"), found)
        return
    if "error" in one and "answer" not in one:
        yield f"is answered, and was refused as {one['error']['type']}"
        return
    yield from differences(one["answer"], answer)


def test_the_ledger_still_verifies(old):
    """After all questions were asked again."""
    _, place, _, _ = old
    report = json.loads(invoke("ledger", "verify", place, "--json"))
    assert report["ok"], report


def test_commands_print_stored_answers(tmp_path):
    """``dither ask``, ``clusters`` and ``run`` give what they gave, with the same budget."""
    folder = lay_data(tmp_path.resolve() / "old")
    place = lay_sqlite("ledger", folder / "ledger.db", folder)
    wrong = []
    for one in kept("commands"):
        words = [each.replace(PLACE, str(folder)) for each in one["words"]]
        found = json.loads(invoke(*words, "--ledger", place, "--json"))
        wrong += [f"{' '.join(one['words'])}: {each}" for each in differences(one["printed"], found)]
    assert not wrong, "\n".join(wrong)
