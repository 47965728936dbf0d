"""Runs the examples of a page, and compares what they print with what the page says.

The rules (CONTRIBUTING.md, "Documentation"):

* ``python``: all blocks of a page run in one namespace, in order.  A ``text`` block right after one is what it prints.
* ``console``: lines that start with ``$ `` run in a shell, the lines below are what they print.
* ``sql``: asked of the payroll at epsilon 1; a ``text`` block right after one is the answer.
* ``toml``: read as a schema file where it has a dataset; with ``title="..."`` it is written to that file first.
* ``sh``: setting up.  Not run, but every make target and every command of dither in it must exist.
* ``<!-- not run: reason -->`` right above a block says why that one is not run.

Numbers may differ (noise is fresh every time), words may not; a line ``...`` stands for any lines.

    python docs/_site/examples.py README.md docs/start/analyst.md    # writes fresh output into pages
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```(?P<language>[\w-]*)(?P<info>[^`]*)$")
_NOT_RUN = re.compile(r"<!-- not run: (?P<why>.+) -->")
_NUMBER = re.compile(r"-?\d(?:[\d,]*\d)?(?:\.\d+)?(?:e[-+]?\d+)?")
_SECRET = re.compile(r"[A-Za-z0-9_-]{32,}")
_LEARNT = re.compile(r'(?:; |, "|")?nothing was learnt.*?which,\s+for free\)"?\n?', re.DOTALL)
_SERVED = "http://127.0.0.1:8080"
RUN = ("python", "console", "sql", "toml", "sh")


@dataclass
class Block:
    """A fenced block: its lines are ``first`` .. ``last`` - 1 of the page (fences aside)."""

    language: str
    title: str | None
    lines: list[str]
    first: int
    not_run: str | None
    follows: bool
    """Right after another block."""

    @property
    def last(self) -> int:
        return self.first + len(self.lines)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass
class Difference:
    """Where a page says something else than what happened."""

    line: int
    said: str
    printed: str


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page."""
    found: list[Block] = []
    lines = text.splitlines()
    index, ended = 0, -2
    while index < len(lines):
        opening = _FENCE.match(lines[index])
        if opening is None:
            index += 1
            continue
        closing = next(k for k in range(index + 1, len(lines)) if lines[k].rstrip() == "```")
        above = next((line for line in reversed(lines[:index]) if line.strip()), "")
        marked = _NOT_RUN.fullmatch(above.strip())
        title = re.search(r'title="([^"]+)"', opening["info"])
        follows = all(not line.strip() for line in lines[ended + 1 : index]) and ended >= 0
        found.append(
            Block(
                opening["language"],
                title and title[1],
                lines[index + 1 : closing],
                index + 1,
                marked and marked["why"],
                follows,
            )
        )
        index, ended = closing + 1, closing
    return found


def masked(text: str) -> list[str]:
    """What has to be equal: words.  Numbers, secrets and the width of columns may differ.

    So may the sentence that follows from a number: that an interval is the whole range.
    """
    always = _LEARNT.sub("", text.strip())
    lines = (_NUMBER.sub("#", _SECRET.sub("@", line)).split() for line in always.splitlines())
    return [" ".join(words) for words in lines]


def alike(said: str, printed: str) -> bool:
    """Whether a page says what was printed; a line ``...`` stands for any lines."""
    written, got = masked(said), masked(printed)
    if "..." not in written:
        return written == got
    pattern = "\n".join(".*" if line == "..." else re.escape(line) for line in written)
    return re.fullmatch(pattern, "\n".join(got), re.DOTALL) is not None


@dataclass
class Stage:
    """Where a page's examples run: a folder with generated data, a namespace, and a curator if one is started."""

    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: _module().__dict__)
    server: subprocess.Popen[str] | None = None
    address: str = _SERVED

    def run(self, text: str) -> list[tuple[Block, int, str, str]]:
        """Runs a page: (block, place in it, what it says, what was printed) for each example that says something."""
        outputs: list[tuple[Block, int, str, str]] = []
        found = blocks(text)
        for place, block in enumerate(found):
            if block.not_run or block.language not in RUN:
                continue
            after = found[place + 1] if place + 1 < len(found) else None
            said = after if after is not None and after.follows and after.language == "text" else None
            if block.language == "console":
                outputs += [(block, *one) for one in self.console(block)]
            elif block.language == "toml":
                self.toml(block)
            elif block.language == "sh":
                check_commands(block.text)
            else:
                printed = self.python(block) if block.language == "python" else self.sql(block)
                if said is not None:
                    outputs.append((said, 0, said.text, printed))
        return outputs

    def python(self, block: Block) -> str:
        """Runs a block in the page's namespace."""
        # Errors point at the line of the page.
        code = compile("\n" * block.first + block.text, "<page>", "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, self.names)  # noqa: S102
        return printed.getvalue()

    def sql(self, block: Block) -> str:
        """Asks a statement of the payroll."""
        return self.shell(f"dither ask payroll.toml {shlex.quote(block.text)} --epsilon 1")

    def toml(self, block: Block) -> None:
        """Reads a schema file, and keeps it if the page names it."""
        from dither.sources.schema_file import load_schema

        file = self.folder / (block.title or "unnamed.toml")
        file.write_text(block.text + "\n", encoding="utf-8")
        if "[dataset]" in block.text:
            load_schema(file)

    def console(self, block: Block) -> Iterator[tuple[int, str, str]]:
        """(line of the command, what the page says, what was printed) for each command."""
        starts = [index for index, line in enumerate(block.lines) if line.startswith("$ ")]
        if not starts or starts[0] != 0:
            raise AssertionError(f"line {block.first}: a console block starts with a command, `$ ...`")
        for start, end in zip(starts, [*starts[1:], len(block.lines)], strict=True):
            words, body = [block.lines[start][2:]], start + 1
            while words[-1].endswith("\\"):
                words.append(block.lines[body])
                body += 1
            printed = self.shell(" ".join(word.rstrip("\\").strip() for word in words))
            said = "\n".join(block.lines[body:end])
            if printed.startswith(("error:", "Usage:")) and not said.strip():
                raise AssertionError(f"line {block.first + start + 1}: {printed}")
            yield body, said, printed

    def shell(self, command: str) -> str:
        """Runs a command: those of dither in this process, where everything is loaded already."""
        command = command.replace(_SERVED, self.address)
        plain = not re.search(r"[|<>&;`]|\$\(", command.replace("'", "")) or "'" in command
        words = shlex.split(os.path.expandvars(command)) if plain else []
        if words[:2] == ["dither", "serve"]:
            return self.serve(words[2:])
        if words[:1] == ["dither"]:
            return _dither(words[1:])
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        if done.returncode:
            raise AssertionError(f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout

    def serve(self, words: list[str]) -> str:
        """Starts a curator at a free port; later commands find it where the page says."""
        self.server = subprocess.Popen(
            [sys.executable, "-m", "dither", "serve", *words, "--port", "0"],
            cwd=self.folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        printed: list[str] = []
        expected = 3 if "--demo" in words else 2
        while self.server.stdout is not None and len(printed) < expected:
            line = self.server.stdout.readline()
            if not line:
                raise AssertionError(f"dither serve ended: {printed}")
            printed.append(line)
        output = "".join(printed)
        found = re.search(r"http://[\d.]+:\d+", output)
        self.address = found[0] if found else self.address
        for role in ("owner", "analyst"):
            token = re.search(rf"{role} token: (\S+)", output)
            if token:
                os.environ[f"{role.upper()}_TOKEN"] = token[1]
        os.environ["DITHER_TOKEN"] = os.environ.get("ANALYST_TOKEN", "")
        return re.sub(r"token: \S+", "token: dither_...", output.replace(self.address, _SERVED))

    def close(self) -> None:
        """Stops what was started."""
        if self.server is not None:
            self.server.send_signal(signal.SIGTERM)
            self.server.wait(timeout=30)
        for name in ("OWNER_TOKEN", "ANALYST_TOKEN", "DITHER_TOKEN"):
            os.environ.pop(name, None)


def _module() -> types.ModuleType:
    """A module that classes of a page can say they live in."""
    sys.modules["page"] = types.ModuleType("page")
    return sys.modules["page"]


def _dither(words: list[str]) -> str:
    from click.testing import CliRunner

    from dither.interfaces.cli.main import main

    done = CliRunner().invoke(main, words, prog_name="dither")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def check_commands(text: str) -> None:
    """Every make target and every command of dither that a block names must exist."""
    from dither.interfaces.cli.main import main

    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for named in re.findall(r"^\s*make ([a-z-]+)", text, re.MULTILINE):
        if named not in targets:
            raise AssertionError(f"make {named} is no target of the Makefile")
    for named in re.findall(r"(?:^|/)dither ([a-z-]+)", text, re.MULTILINE):
        if named not in main.commands:
            raise AssertionError(f"dither {named} is no command")


def differences(text: str, stage: Stage) -> list[Difference]:
    """Runs a page and lists where it is wrong."""
    return [
        Difference(block.first + place + 1, said, printed)
        for block, place, said, printed in stage.run(text)
        if said.strip() and not alike(said, printed)
    ]


def rewritten(text: str, stage: Stage) -> str:
    """The page with fresh output wherever it shows some; blocks with ``...`` are kept."""
    lines = text.splitlines()
    for block, place, said, printed in reversed(stage.run(text)):
        written = said.splitlines()
        if "..." in written or (block.language == "console" and not said.strip() and not printed.strip()):
            continue
        start = block.first + place
        lines[start : start + len(written)] = [line.rstrip() for line in printed.rstrip("\n").splitlines()]
    return "\n".join(lines) + "\n"


def furnish(folder: Path) -> None:
    """Generated data for examples: pay.csv, pay.parquet, payroll.toml, friends.csv and friends.toml."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from dither.demo.data import payroll
    from dither.demo.home import friends

    rng = np.random.default_rng(3)
    people = payroll(8_000)
    count = len(people["age"])
    table = pa.table(
        {
            "employee_id": rng.integers(0, 4_000, count),
            "job": people["job"],
            "total_pay": people["total_pay"],
            "age": people["age"],
            "year": rng.integers(2011, 2015, count),
            "hired": rng.integers(3_653, 16_000, count).astype("datetime64[D]"),
            "active": rng.random(count) < 0.8,
        }
    )
    pq.write_table(table, folder / "pay.parquet")
    rows = ["employee_id,job,total_pay,age,year,hired,active"]
    rows += [",".join(str(one) for one in row.values()) for row in table.to_pylist()]
    (folder / "pay.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    declared = {
        "total_pay": 'type = "real"\nbounds = [0, 600000]',
        "age": 'type = "integer"\nbounds = [0, 120]',
        "year": 'type = "integer"\nbounds = [2011, 2014]',
        "active": 'type = "boolean"',
        "job": f'type = "category"\nvalues = {json.dumps(["clerk", "nurse", "engineer", "surgeon"])}',
    }
    head = f'version = 2\n\n[dataset]\nname = "payroll"\nsource = "pay.parquet"\nrows = {count}\n\n'
    head += "[budget]\nepsilon = 20\ndelta = 1e-4\n"
    columns = "".join(f"\n[columns.{name}]\n{text}\n" for name, text in declared.items())
    (folder / "payroll.toml").write_text(head + columns, encoding="utf-8")
    edges = "".join(f"{one},{other}\n" for one, other in friends())
    (folder / "friends.csv").write_text("source,target\n" + edges, encoding="utf-8")
    graph = 'version = 2\n\n[dataset]\nname = "friends"\nsource = "friends.csv"\n\n[graph]\nvertices = 600\n\n'
    (folder / "friends.toml").write_text(graph + "[budget]\nepsilon = 20\n", encoding="utf-8")


def _rewrite(page: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        furnish(folder)
        stage = Stage(folder)
        text = page.read_text(encoding="utf-8")
        with contextlib.chdir(folder):
            try:
                fresh = rewritten(text, stage)
            finally:
                stage.close()
    page.write_text(fresh, encoding="utf-8")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        _rewrite(Path(argument).resolve())
