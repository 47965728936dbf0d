"""Programs in sandboxes: answers, defaults for every kind of failure, and errors before any data."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from blocks import LONGER, in_time
from conftest import needs_package
from dither.errors import InvalidArgument, NotIsolated
from dither.procedures.executor import Output, Trusted
from dither.sandbox import Executable, Function, Sandbox, as_program, bubblewrap, open_executor, probe

SCALE, LARGEST, START = 2.0, float("inf"), 0
mean = np.ones(2)  # an attribute of the same name is no reason to send it along


def doubled_mean(rows: np.ndarray, start: int = START) -> "Output":
    """Uses a module and literals of its surroundings."""
    return min(start + rows.mean() * SCALE + np.float64(0), LARGEST)


def misbehave(rows):
    """Fails in the way that the block asks for."""
    import os
    import time

    how = int(rows[0])
    if how == 0:
        return [1.0, 2.0]
    if how == 1:
        raise RuntimeError("private")
    if how == 2:
        return [float("nan"), 1.0]
    if how == 3:
        return [1.0, 2.0, 3.0]
    if how == 4:
        time.sleep(60)
    if how == 5:
        while True:
            pass
    if how == 6:
        os.abort()
    if how == 7:
        os._exit(77)
    if how == 8:
        return [1e300, -float("inf")]
    if how == 9:
        return "words"
    if how == 10:
        return bytearray(1 << 34)
    if how == 11:
        os.close(4)
    rows[0] = 99.0  # its own copy
    return [rows[0], 1.0]


PAIR = Output(2, bounds=[(0, 10), (-5, 5)], default=(7, -1))


def test_every_failure_is_the_default_and_stays_with_its_block():
    """Late, crashing, NaN, oversized and senseless answers are the default; others are clipped to the bounds."""
    kinds = [0, 1, 0, 2, 0, 3, 4, 0, 5, 0, 6, 0, 7, 0, 8, 9, 10, 0, 11, 12, 0]
    expected = {0: (1, 2), 8: (10, -5), 12: (10, 1)}
    blocks = [np.array([float(kind), 0.0]) for kind in kinds]
    failures = sum(kind not in expected for kind in kinds)
    answers = in_time(misbehave, blocks, output=PAIR, slot=0.5, failures=failures)
    assert answers.tolist() == [list(map(float, expected.get(kind, (7, -1)))) for kind in kinds]


def test_a_function_brings_its_modules_and_literals():
    """Global modules and literals travel as text; rounds are reported, blocks of any numeric type arrive whole."""
    heard = []
    blocks = [np.arange(6, dtype=kind).reshape(3, 2) for kind in (np.float64, np.int32, np.float32, np.uint8)]
    answers = in_time(
        doubled_mean,
        [*blocks, np.zeros((0, 2))],
        output=Output(1, bounds=(0, 10)),
        slot=0.5,
        failures=1,  # the mean of no rows
        example=np.ones((2, 2)),
        progress=lambda done, planned: heard.append((done, planned)),
    )
    assert answers[:, 0].tolist() == [5.0, 5.0, 5.0, 5.0, 5.0]
    assert heard[-1][0] == heard[-1][1]
    trusted = Trusted(doubled_mean, output=Output(1, bounds=(0, 10))).run(blocks)
    assert trusted[:, 0].tolist() == [5.0] * 4


def test_what_is_wrong_with_a_program_is_said_before_any_data():
    """Parsing, names, surroundings, missing modules, wrong shapes on the public example."""
    outer = np.ones(3)

    def closure(rows):
        return rows @ outer

    for given, hint in [
        (closure, "outer of an enclosing function"),
        (lambda rows: 0.0, "written with def"),
        (helper_user, "source file"),
        (array_user, "modules, imports and literals"),
        (3, "a function"),
        ("nowhere.py:f", "readable source file"),
        ("nowhere", "file.py:function"),
        (len, "written with def"),
    ]:
        with pytest.raises(InvalidArgument, match=hint):
            as_program(given)
    with pytest.raises(InvalidArgument, match=r"parses.*line 1"):
        Function("def f(rows) return 1", "f")
    with pytest.raises(InvalidArgument, match="must name a function"):
        Function("def f(rows): return 1", "g")


ARRAY = np.ones(3)


def helper_user(rows):
    """Leans on another function of its module."""
    return doubled_mean(rows)


def array_user(rows):
    """Leans on an array of its module."""
    return rows @ ARRAY


@pytest.mark.parametrize(
    ("source", "preload", "hint"),
    [
        ("import no_such_module\ndef f(rows): return 1.0", (), "no_such_module"),
        ("def f(rows):\n    import no_such_module\n    return 1.0", (), "no_such_module"),
        ("def f(rows): return [1.0, 2.0, 3.0]", (), "3 numbers instead of 1"),
        ("def f(rows): return rows.no_such_thing", (), "no_such_thing"),
        ("def f(rows): return 'word'", (), "ValueError"),
        ("import os\ndef f(rows): os._exit(3)", (), "end with 1 numbers"),
        ("f = 3", (), "defines no function"),
        ("def f(rows): return 1.0", ("no_such_module",), "no_such_module"),
        ("def f(rows): return 1.0", ("not a name",), "names of modules"),
    ],
)
def test_a_program_is_tried_on_a_public_example(source, preload, hint):
    """Errors on made-up rows may be told, and are."""
    output = Output(1, bounds=(0, 1))
    with (
        pytest.raises(InvalidArgument, match=hint),
        Sandbox(Function(source, "f"), output=output, example=np.ones((2, 1)), preload=preload, cores=1),
    ):
        pass


@pytest.mark.parametrize(
    "wrong",
    [
        {"slot": 0.001},
        {"slot": "soon"},
        {"cores": 0},
        {"cores": 10_000},
        {"memory_mib": 1},
        {"scratch_mib": True},
        {"processes": 0},
        {"visible": ["/no/such/folder"]},
        {"lead": -1},
        {"example": np.array([object()])},
    ],
)
def test_arguments_are_checked(wrong):
    """Each is named."""
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        Sandbox(doubled_mean, output=Output(1, bounds=(0, 1)), **wrong)


@pytest.mark.parametrize(
    ("length", "bounds", "default"),
    [
        (0, (0, 1), None),
        (1, (1, 0), None),
        (1, (0, np.inf), None),
        (2, [(0, 1)] * 3, None),
        (1, "ab", None),
        (1, (0, 1), 3),
        (2, (0, 1), [0, 0, 0]),
        (1, None, None),
    ],
)
def test_outputs_are_checked(length, bounds, default):
    """Length, bounds and default are public and must fit together."""
    with pytest.raises(InvalidArgument):
        Output(length, bounds=bounds, default=default)


def script(folder, text):
    """An executable file that other users may read."""
    path = folder / "program"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    folder.chmod(0o755)
    return path


def test_an_executable_reads_csv(tmp_path):
    """awk, as an analyst would write it; a line of names first."""
    mean = Executable(
        shutil.which("awk"), ["-F,", "NR > 1 { s += $1; t += $2 } END { print s / (NR - 1), t }"], columns=("a", "b")
    )
    rows = np.array([[1.0, 2.5], [3.0, 4.5]])
    answers = in_time(mean, [rows, rows * 0, rows[:1]], output=Output(2, bounds=(0, 10)), slot=0.5, example=rows)
    assert answers.tolist() == [[2.0, 7.0], [0.0, 0.0], [1.0, 2.5]]


@pytest.mark.slow
def test_an_executable_fails_into_the_default(tmp_path):
    """Exit status, too much text, too few numbers, forks without end, a write outside."""
    program = script(
        tmp_path,
        "#!/bin/sh\nread how\ncase $how in\n"
        "0.0) echo 4 ;;\n"
        "1.0) echo 4; exit 1 ;;\n"
        "2.0) while :; do echo 4; done ;;\n"
        "3.0) echo 4 4 ;;\n"
        "4.0) i=0; while [ $i -lt 100 ]; do sleep 9 & i=$((i+1)); done; echo 4 ;;\n"
        "5.0) echo 4 > /tmp/x && cat /tmp/x ;;\n"
        "6.0) cat /tmp/x || echo 3 ;;\n"
        "7.0) cat /etc/passwd /proc/1/environ && echo 4 ;;\n"
        "8.0) echo 4; kill -9 -1 ;;\n"
        "esac\n",
    )
    expected = [4.0, 9.0, 9.0, 9.0, 9.0, 4.0, 3.0, 9.0, 9.0, 4.0]
    blocks = [np.array([float(how)]) for how in (0, 1, 2, 3, 4, 5, 6, 7, 8, 0)]
    output = Output(1, bounds=(0, 10), default=9)
    answers = in_time(Executable(program), blocks, output=output, slot=0.5, failures=expected.count(9.0), processes=20)
    assert answers[:, 0].tolist() == expected


@pytest.mark.slow
def test_arrow_reaches_functions_and_executables(tmp_path):
    """A table of an engine arrives as a table."""
    needs_package("pyarrow")
    import pyarrow as pa

    table = pa.table({"pay": [1.0, 2.0, 6.0], "job": ["a", "b", "b"]})
    source = "def f(table):\n    return sum(table['pay'].to_pylist()) / table.num_rows"
    settings = {"output": Output(1, bounds=(0, 10)), "slot": 1.5}
    assert in_time(Function(source, "f"), [table], preload=("pyarrow",), **settings)[0, 0] == 3.0
    program = script(
        tmp_path,
        f"#!{bubblewrap.interpreter()} -S\nimport sys\nsys.path += {bubblewrap.package_paths()!r}\n"
        "import pyarrow as pa\nt = pa.ipc.open_stream(sys.stdin.buffer).read_all()\nprint(max(t['pay'].to_pylist()))\n",
    )
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    # Outside first: it works, and its modules are in memory when the slot begins.
    outside = subprocess.run([program], input=stream.getvalue().to_pybytes(), capture_output=True, check=True)
    assert float(outside.stdout) == 6.0
    assert in_time(Executable(program, format="arrow"), [table], **settings)[0, 0] == 6.0


def test_isolation_is_probed_and_its_lack_named(monkeypatch):
    """Everything holds here; without bwrap, or with one that cannot do its work, programs are refused."""
    assert [one.name for one in probe() if not one.holds] == []
    monkeypatch.setattr(bubblewrap, "bwrap_path", lambda: None)
    assert [one.name for one in probe() if not one.holds] == ["bubblewrap"]
    monkeypatch.setattr(bubblewrap, "bwrap_path", lambda: shutil.which("false"))
    assert [one.name for one in probe() if not one.holds] == ["a sandbox that starts"]


@pytest.mark.parametrize(
    ("layer", "noticed"),
    [
        ("--unshare-net", set()),
        ("--remount-ro", {"read-only root"}),
        ("FILTER", {"system call filter"}),
        ("FILES", {"no files of the host"}),
        ("CAPABILITIES", {"no capabilities"}),
    ],
)
def test_the_probe_notices_a_missing_layer(monkeypatch, tmp_path, layer, noticed):
    """With one layer taken away the probe names it; two layers stop the network, so losing one is not fatal."""
    before, after, view = bubblewrap.arguments_before, bubblewrap.arguments_after, bubblewrap.view
    inside = Path(bubblewrap.__file__).with_name("fork_server.py").read_text(encoding="utf-8")
    if layer == "--unshare-net":
        monkeypatch.setattr(bubblewrap, "arguments_before", lambda path: [a for a in before(path) if a != layer])
    elif layer == "--remount-ro":
        monkeypatch.setattr(bubblewrap, "arguments_after", lambda *a, **k: without(after(*a, **k), layer, 1))
    else:
        text = {
            "FILTER": inside.replace(
                '        _call("prctl", _SET_SECCOMP', "        0 and _call('prctl', _SET_SECCOMP"
            ),
            "CAPABILITIES": inside.replace("        give_up_capabilities()\n", ""),
            "FILES": inside,
        }[layer]
        changed = tmp_path / "fork_server.py"
        changed.write_text(text, encoding="utf-8")
        extra = (("/etc/passwd", "/etc/passwd"),) if layer == "FILES" else ()

        def altered(**given):
            files = view(**given)
            binds = [(str(changed), to) if to == bubblewrap.INSIDE else (path, to) for path, to in files.binds]
            return bubblewrap.FileView((*binds, *extra), files.links)

        monkeypatch.setattr(bubblewrap, "view", altered)
    missing = {one.name for one in probe() if not one.holds}
    assert noticed <= missing
    assert bool(missing) == bool(noticed)


def without(arguments, name, values):
    """The arguments without an option and its values."""
    place = arguments.index(name)
    return arguments[:place] + arguments[place + 1 + values :]


def test_a_machine_without_isolation_runs_nothing(monkeypatch):
    """The refusal comes before the program starts, and says what is missing."""
    from dither.sandbox import probe as looked_up  # the function; its module is reached through sys.modules

    module = sys.modules[looked_up.__module__]
    module.require_isolation.cache_clear()
    monkeypatch.setattr(bubblewrap, "bwrap_path", lambda: None)
    with (
        pytest.raises(NotIsolated, match=r"install the package bubblewrap.*nothing was read"),
        Sandbox(doubled_mean, output=Output(1, bounds=(0, 1))),
    ):
        pass
    module.require_isolation.cache_clear()


@pytest.mark.slow
def test_a_block_that_does_not_go_away_costs_no_other_block():
    """The kernel may take long to end a block: then its sandbox is out of use, and nobody waits for it."""
    for slot in (0.5 * factor for factor in LONGER):
        with Sandbox(doubled_mean, output=Output(1, bounds=(0, 10), default=0), slot=slot, cores=1) as box:
            slow = box._running[0].workers[0]
            receive, since = slow._receive, []

            def late(deadline, slot=slot, since=since, receive=receive):
                since.append(time.monotonic())
                if time.monotonic() < since[0] + 4 * slot:
                    time.sleep(max(0.0, deadline - time.monotonic()))
                    return None
                return receive(deadline)

            slow._receive = late
            begin = time.monotonic()
            answers = box.run([np.ones(3)] * 12)
            assert time.monotonic() - begin >= box.schedule(12).seconds
            assert len(since) > 2
            assert answers[0, 0] == 0.0
        if box.failures == 1:  # no other block was late
            break
    assert answers[:, 0].tolist() == [0.0] + [2.0] * 11


@pytest.mark.slow
def test_a_block_that_cannot_be_encoded_is_the_default():
    """A date beyond the calendar or half of a surrogate pair is one person's matter: no error, and no other block."""
    needs_package("pyarrow")
    import pyarrow as pa

    def dated(days):
        return pa.table({"day": pa.array([days], pa.int32()).cast(pa.date32())})

    lines = Executable(shutil.which("awk"), ["END { print NR }"])
    settings = {"output": Output(1, bounds=(0, 10), default=9), "slot": 0.5, "failures": 1}
    assert in_time(lines, [dated(1), dated(10**7), dated(2)], **settings)[:, 0].tolist() == [2.0, 9.0, 2.0]
    assert in_time(lines, [np.array(["a"]), np.array(["\ud800"])], **settings)[:, 0].tolist() == [1.0, 9.0]


@pytest.mark.slow
def test_a_sandbox_that_dies_is_replaced():
    """The kernel may take a sandbox when memory is short: its block gets the default, the rest is answered."""
    with Sandbox(doubled_mean, output=Output(1, bounds=(0, 10), default=0), slot=0.5) as box:
        victim = box._running[0].workers[0].process_id
        blocks = [np.ones(3)] * (6 * box.cores)
        died = []

        def kill(done, planned):
            if done == 1:
                died.append(os.killpg(victim, signal.SIGKILL))

        answers = box.run(blocks, progress=kill)
        assert len(died) == 1
        assert 0 < box.failures <= 1 + len(blocks) // 3
        assert (answers[:, 0] == 2.0).sum() == len(blocks) - box.failures
        assert any((box.run(blocks[: box.cores]) == 2.0).all() for _ in range(10))  # a busy machine makes some late
        with pytest.raises(InvalidArgument, match="busy with a release"):
            box.run(blocks[:1], progress=lambda done, planned: box.run(blocks[:1]))
        with pytest.raises(InvalidArgument, match="arrays of numbers"):
            box.run([np.array([object()])])
        with pytest.raises(KeyboardInterrupt):
            box.run(blocks, progress=interrupt)
        assert any((box.run(blocks[: box.cores]) == 2.0).all() for _ in range(10))
    with pytest.raises(InvalidArgument, match="with statement"):
        box.run(blocks)


def interrupt(done, planned):
    """As if the owner had pressed Ctrl-C."""
    raise KeyboardInterrupt


@pytest.mark.slow
def test_executors_have_names():
    """A name chooses; an unknown one is refused with the list."""
    with open_executor("sandbox", doubled_mean, output=Output(1, bounds=(0, 10)), slot=1.0, cores=1) as box:
        assert any(box.run([np.ones(2)])[0, 0] == 2.0 for _ in range(10))  # a busy machine can only make it late
    with open_executor("trusted", doubled_mean, output=Output(1, bounds=(0, 10))) as box:
        assert box.run([np.ones(2)])[0, 0] == 2.0
    with pytest.raises(InvalidArgument, match=r"executor must .*; got 'cloud'"):
        open_executor("cloud", doubled_mean, output=Output(1, bounds=(0, 10)))


def test_an_ordinary_user_is_enough():
    """As root this suite shows that root is left behind; here the same probe runs as a user who never was root."""
    if os.getuid() != 0:
        return  # then every other test in this folder shows it
    source = Path(bubblewrap.__file__).parents[2]
    needed = [Path(bubblewrap.interpreter()).parent.parent, Path(sys.prefix), source]
    closed = {
        path: next((one for one in reversed(path.parents) if not one.stat().st_mode & 1), None) for path in needed
    }
    steps = ["mount -t tmpfs -o mode=755 tmpfs /mnt"]
    hidden = [path for path in needed if closed[path]]
    steps += [f"mkdir /mnt/{k} && mount --bind {path} /mnt/{k}" for k, path in enumerate(hidden)]
    steps += [f"mount -t tmpfs -o mode=755 tmpfs {one}" for one in sorted({closed[path] for path in hidden})]
    steps += [f"mkdir -p {path} && mount --bind /mnt/{k} {path}" for k, path in enumerate(hidden)]
    look = "import os; from dither.sandbox import probe; print(os.getuid(), all(one.holds for one in probe()))"
    command = " && ".join(steps) + (
        " && cd / && exec setpriv --reuid 12345 --regid 12345 --clear-groups"
        f" env -i PATH=/usr/bin PYTHONDONTWRITEBYTECODE=1 PYTHONPATH={source} {sys.executable} -c '{look}'"
    )
    done = subprocess.run(["unshare", "-m", "sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["12345", "True"], done.stderr
