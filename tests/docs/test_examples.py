"""Every example of the documentation runs, and prints what its page says it prints."""

import contextlib
import os
import re
import shutil

import examples
import pytest
from generated import generated_pages

from conftest import missing
from dither.wording import NOTHING_LEARNT
from servers import postgres  # noqa: F401  (a fixture)

DOCS = examples.ROOT / "docs"
WRITTEN = {
    path.relative_to(examples.ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in [examples.ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
}
GENERATED = {
    f"docs/{name}": text
    for name, text in generated_pages().items()
    if not name.startswith(("reference/", "tutorials/"))  # (test_notebooks.py runs the notebooks behind tutorials)
}
PAGES = WRITTEN | GENERATED
RUN_ELSEWHERE = {
    "docs/server.md": "tests/http runs every call against a real server",
    "docs/page.md": "tests/web drives the page in a browser",
    "docs/programs.md": "tests/sandbox/test_programs_guide.py runs it where programs can be isolated",
}
WITH_EXAMPLES = [
    name
    for name, text in PAGES.items()
    if name not in RUN_ELSEWHERE and any(one.language in examples.RUN for one in examples.blocks(text))
]


@pytest.fixture
def stage(tmp_path):
    """A folder with generated data, where a page's examples run."""
    examples.furnish(tmp_path)
    stage = examples.Stage(tmp_path)
    with contextlib.chdir(tmp_path):
        yield stage
        stage.close()


@pytest.fixture
def payroll_in_postgres(postgres, tmp_path, monkeypatch):  # noqa: F811
    """The generated payroll in a PostgreSQL of its own; its address in PAYROLL_DB."""
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS pay")
        cursor.execute(
            "CREATE TABLE pay (employee_id bigint, job text, total_pay double precision, age bigint, year bigint, "
            "hired date, active boolean)"
        )
        with cursor.copy("COPY pay FROM STDIN (FORMAT csv, HEADER)") as copy:
            copy.write((tmp_path / "pay.csv").read_text(encoding="utf-8"))
    monkeypatch.setenv("PAYROLL_DB", postgres)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_run_and_print_what_the_page_says(name, stage, request):
    """Words are compared, numbers are not: noise is fresh every time."""
    if "PAYROLL_DB" in PAGES[name]:
        request.getfixturevalue("payroll_in_postgres")
    if "$ curl " in PAGES[name] and shutil.which("curl") is None:
        missing("needs curl (Debian: curl)")
    wrong = examples.differences(PAGES[name], stage)
    assert not wrong, "\n".join(f"{name}:{one.line}\nsays:\n{one.said}\nprinted:\n{one.printed}" for one in wrong)


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_commands_stand_in_blocks_that_are_run(name):
    """A block without a language shows no command: it would not be run."""
    if name in RUN_ELSEWHERE:
        return  # pages of the server show its own lines
    for block in examples.blocks(PAGES[name]):
        if block.language in ("", "text", "bash", "shell"):
            assert not re.search(r"^(\$ |dither |import )", block.text, re.MULTILINE), f"{name}:{block.first}"


def test_words_are_compared_and_numbers_are_not():
    """The comparison lets noise pass and nothing else."""
    assert examples.alike("median = 59,574.73 (epsilon 0.5)", "median =  1.5e-3 (epsilon 1)")
    assert examples.alike("first\n...\nlast", "first\n2\n3\nlast")
    assert not examples.alike("median = 59,574.73", "mean = 59,574.73")
    assert not examples.alike("a\nb", "a")
    assert not examples.alike("first\n...\nlast", "first\n2")


def test_a_wrong_page_is_caught(stage):
    """A page that says something else, calls what is not there, or names no command fails."""
    page = "```python\nimport dither as dt\nprint(dt.count([True], epsilon=1))\n```\n\n```text\nmedian = 1\n```\n"
    assert len(examples.differences(page, stage)) == 1
    with pytest.raises(AttributeError):
        examples.differences("```python\nimport dither as dt\ndt.no_such_thing\n```\n", stage)
    with pytest.raises(AssertionError, match="no target"):
        examples.differences("```sh\nmake nothing-of-the-kind\n```\n", stage)
    with pytest.raises(AssertionError, match="nonsense"):
        examples.differences("```console\n$ dither nonsense\n```\n", stage)
    assert examples.differences("```console\n$ dither nonsense\nfine\n```\n", stage)


def test_nothing_of_the_environment_is_left(stage):
    """Tokens of a page's server are gone when its examples have run."""
    assert "ANALYST_TOKEN" not in os.environ


def test_whether_anything_was_learnt_may_differ():
    """It follows from drawn numbers: in a table, whose lines wrap, in a sentence and in JSON."""
    learnt = NOTHING_LEARNT.format(about=" about median [job surgeon]")
    table = "a 1\nhides one row\n{}missing values are left out"
    wrapped = learnt.replace(" (likely", "\n  (likely").replace(" which,", " \nwhich,") + "\n"
    pairs = [
        (table.format(""), table.format(wrapped)),
        ("median = 3; hides one row; clamped", f"median = 5; hides one row; {learnt}; clamped"),
        ('["hides one row", "clamped"]', f'["hides one row", "{learnt}", "clamped"]'),
    ]
    assert all(examples.alike(said, printed) for said, printed in pairs)
    assert not examples.alike("median = 3; hides one row", f"median = 3; {learnt}")
