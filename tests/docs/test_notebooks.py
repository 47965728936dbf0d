"""examples/*.ipynb: every cell runs, and shows what is stored below it; as a script this renews the outputs.

Noise is fresh every time: numbers may differ and words may not.  `papers.ipynb` is compared to the last digit where
the laboratory is tested.
"""

import ast
import contextlib
import io
import json
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

HERE = Path(__file__).parents[2]
sys.path.insert(0, str(HERE / "docs" / "_site"))

import examples  # noqa: E402

FOLDER = HERE / "examples"
NOTEBOOKS = sorted(path.stem for path in FOLDER.glob("*.ipynb") if path.stem != "papers")
MOST_BYTES = 60_000
SUBJECTS = {"first_answers", "table_with_budget", "graphs", "own_program", "models"}


def read(name):
    """A notebook as it is stored."""
    return json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))


def run(notebook, name):
    """What every code cell shows, one after the other in one namespace: the outputs as a notebook stores them."""
    names = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            yield _outputs("".join(cell["source"]), names, name)


def _outputs(source, names, name):
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    stream, value = io.StringIO(), None
    with contextlib.redirect_stdout(stream):
        exec(compile(tree, name, "exec"), names)  # noqa: S102
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval"), names)  # noqa: S307
    printed = stream.getvalue()
    outputs = [{"name": "stdout", "output_type": "stream", "text": _lines(printed)}] if printed else []
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = _lines(value._repr_html_())
        outputs.append({"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    return outputs


def _lines(text):
    return text.splitlines(keepends=True)


def _texts(outputs):
    """All texts of a cell's outputs, by their form."""
    texts = {}
    for output in outputs:
        for form, lines in output.get("data", {"text/stream": output.get("text", [])}).items():
            texts[form] = texts.get(form, "") + "".join(lines)
    return texts


def differences(notebook, name):
    """(number of the cell, stored, shown) where the words below a cell are not those that it shows."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, outputs) in enumerate(zip(cells, run(notebook, name), strict=True), 1):
        stored, shown = _texts(cell["outputs"]), _texts(outputs)
        if stored.keys() != shown.keys() or not all(examples.alike(stored[form], shown[form]) for form in stored):
            yield number, stored, shown


def test_every_subject_has_a_notebook():
    """First answers, a table with a budget, graphs, a program of one's own, models."""
    assert set(NOTEBOOKS) >= SUBJECTS


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_cell_shows_what_is_stored_below_it(name):
    """It runs from the first cell to the last; words are compared, in texts and in HTML."""
    if name == "models":
        pytest.importorskip("sklearn")
    if name == "table_with_budget":
        pytest.importorskip("pandas")
    assert list(differences(read(name), name)) == []


def test_another_output_is_noticed():
    """The comparison can fail: a word below a cell that it does not show."""
    notebook = read("graphs")
    output = next(cell["outputs"][0] for cell in notebook["cells"] if cell.get("outputs"))
    output["data"]["text/plain"] = ["<Release median = 1>"]
    with contextlib.closing(differences(notebook, "graphs")) as wrong:
        assert next(wrong)[1]["text/plain"] == "<Release median = 1>"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_are_small_and_say_what_they_are_for(name):
    """Format 4.5, ids of their own, prose before code, a heading and whom it is for; every result is stored."""
    notebook = read(name)
    cells = notebook["cells"]
    assert (FOLDER / f"{name}.ipynb").stat().st_size < MOST_BYTES
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in cells}) == len(cells)
    first = "".join(cells[0]["source"])
    assert first.startswith("# ")
    assert "For " in first
    assert "noise is fresh" in first.lower()
    assert all(before["cell_type"] == "markdown" for before, cell in pairwise(cells) if cell["cell_type"] == "code")
    assert sum(bool(cell.get("outputs")) for cell in cells) >= 4


if __name__ == "__main__":
    for each in sys.argv[1:] or NOTEBOOKS:
        began, renewed = time.monotonic(), read(each)
        code = [cell for cell in renewed["cells"] if cell["cell_type"] == "code"]
        for count, (cell, outputs) in enumerate(zip(code, run(renewed, each), strict=True), 1):
            cell["execution_count"] = count
            cell["outputs"] = [
                output | {"execution_count": count} if "data" in output else output for output in outputs
            ]
        text = json.dumps(renewed, indent=1, ensure_ascii=False) + "\n"
        (FOLDER / f"{each}.ipynb").write_text(text, encoding="utf-8")
        print(each, f"{time.monotonic() - began:.1f} s, {len(text):,} bytes")
