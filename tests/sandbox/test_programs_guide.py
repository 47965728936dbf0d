"""The guide for newcomers, run as it stands: every file it shows, every command and every piece of Python."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dither as dt
from blocks import in_time
from conftest import needs_package
from dither.procedures.executor import Output
from dither.sandbox import Executable

# On a busy machine drawing blocks may take longer than planned, which the owner is warned of.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:reading and drawing the blocks")]

GUIDE = Path(__file__).parents[2] / "docs" / "programs.md"
PIECE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def pieces():
    """Language, name of the file if it is one, and text of every piece."""
    for language, text in PIECE.findall(GUIDE.read_text(encoding="utf-8")):
        name = re.match(r"# ([\w.]+)\n", text)
        yield language, name and name[1], text[name.end() :] if name and language == "sh" else text


def test_everything_in_the_guide_runs(tmp_path, monkeypatch):
    """In the order of the page, in one folder; answers are near what the made-up data have."""
    needs_package("sklearn")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    output = ""
    for language, file, text in pieces():
        if file is not None:
            Path(file).write_text(text, encoding="utf-8")
            if file == "make_data.py":
                subprocess.run([sys.executable, file], check=True)
        elif language == "sh":
            command = text.strip().replace("dither ", f"{sys.executable} -m dither ", 1)
            done = subprocess.run(command.split(), capture_output=True, check=False, env=dict(os.environ))
            assert done.returncode == 0, done.stderr.decode()
            output += done.stdout.decode()
        elif language == "python":
            exec(text, names)  # noqa: S102 - running it is the point
    assert "141" in output
    assert "median (inverse)" in output
    assert names["release"].loss == dt.Loss(4.0, 1e-6)
    centres = np.reshape(names["release"].value, (3, 2))
    assert np.abs(centres[np.argsort(centres[:, 0])] - names["truth"]).max() < 1.0
    assert names["session"].budget.spent.epsilon == 6.0


def test_the_executable_of_the_guide_works(tmp_path):
    """The second column of a table without its first line."""
    pa = pytest.importorskip("pyarrow")
    (text,) = (text for _, file, text in pieces() if file == "mean_pay.awk")
    script = tmp_path / "mean_pay.awk"
    script.write_text(text, encoding="utf-8")
    script.chmod(0o755)
    block = pa.table({"age": [20, 30, 40], "pay": [1.0, 2.0, 6.0]})
    answers = in_time(Executable(script), [block], output=Output(1, bounds=(0, 100)), slot=2.0, example=block)
    assert answers[0].tolist() == [3.0]
