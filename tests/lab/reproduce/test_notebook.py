"""examples/papers.ipynb: every cell runs, and prints what is stored below it; as a script this renews the outputs."""

import contextlib
import io
import json
from itertools import pairwise
from pathlib import Path

NOTEBOOK = Path(__file__).parents[3] / "examples" / "papers.ipynb"


def read():
    """The notebook as it is stored."""
    return json.loads(NOTEBOOK.read_text(encoding="utf-8"))


def run(notebook):
    """What every code cell prints, one after the other in one namespace."""
    names = {"__name__": "__main__"}
    printed = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            stream = io.StringIO()
            with contextlib.redirect_stdout(stream):
                exec(compile("".join(cell["source"]), str(NOTEBOOK), "exec"), names)  # noqa: S102
            printed.append(stream.getvalue())
    return printed


def stored(cell):
    """The text below a code cell."""
    return "".join("".join(output["text"]) for output in cell["outputs"])


def renewed(notebook):
    """With the outputs of a run."""
    printed = iter(run(notebook))
    for count, cell in enumerate((c for c in notebook["cells"] if c["cell_type"] == "code"), 1):
        text = next(printed)
        cell["execution_count"] = count
        lines = text.splitlines(keepends=True)
        cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": lines}] if text else []
    return notebook


CODE = [cell for cell in read()["cells"] if cell["cell_type"] == "code"]


def test_every_cell_prints_what_is_stored_below_it():
    """All numbers are computed, none is drawn without a seed, so that they are the same everywhere."""
    printed = run(read())
    assert printed == [stored(cell) for cell in CODE]
    assert sum(bool(text) for text in printed) >= 15


def test_all_five_papers_are_there_with_prose_before_their_code():
    """A heading for each paper, and a text before each cell of code."""
    cells = read()["cells"]
    headings = [line for cell in cells for line in cell["source"] if line.startswith("## ")]
    assert [heading.split(":")[0].removeprefix("## ") for heading in headings] == [
        "DMNS06",
        "NRS11",
        "DL09",
        "V17",
        "COQ17",
    ]
    kinds = [cell["cell_type"] for cell in cells]
    assert all(before == "markdown" for before, kind in pairwise(kinds) if kind == "code")


def test_it_is_a_notebook_that_editors_open():
    """Format 4.5: every cell has an id of its own."""
    found = read()
    assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in found["cells"]]
    assert len(ids) == len(set(ids))


if __name__ == "__main__":
    NOTEBOOK.write_text(json.dumps(renewed(read()), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
