"""Every attack works in an ordinary process (the control) and fails in a sandbox."""

import json
import os
import platform
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dither.procedures.executor import Output, Trusted
from dither.sandbox import Function, Sandbox

SOURCE = Path(__file__).with_name("attacks.py").read_text(encoding="utf-8")
FLAG = Output(1, bounds=(-1, 2), default=-1)

SINGLE = [
    "connect_to_the_host",
    "connect_to_an_abstract_socket",
    "read_the_dataset",
    "read_the_password_file",
    "read_the_owners_environment",
    "list_processes",
    "fork_many",
    "take_memory",
    "take_memory_in_pieces",
    "take_memory_files",
    "fill_the_scratch_folder",
    "signal_another_process",
    "trace",
    "leave_the_core",
    "run_another_program",
    "lock_a_shared_file",
]
WITHOUT_CONTROL = ["write_to_the_parents_descriptors", "change_the_block", "grow_the_answer"]
PAIRS = [
    ("leave_a_file", "find_a_file"),
    ("leave_shared_memory", "find_shared_memory"),
    ("leave_shared_memory", "find_message_queue"),
    ("leave_shared_memory", "find_semaphore"),
]
NAMES = sorted({*SINGLE, *WITHOUT_CONTROL, *(one for pair in PAIRS for one in pair)} | {"leave_a_global", "find_a_global"})
NAMES += ["kill_everything"]

# Numbers for x86_64; those above 423 are the same everywhere.  The arguments are wrong on purpose.
CALLS = {
    "io_uring_setup": (425, (1, 0)),
    "bpf": (321, (99, 0, 0)),
    "keyctl": (250, (0, -3, 1)),
    "add_key": (248, (0, 0, 0, 0, -3)),
    "request_key": (249, (0, 0, 0, 0)),
    "userfaultfd": (323, (1,)),
    "perf_event_open": (298, (0, 0, -1, -1, 0)),
    "mount": (165, (0, 0, 0, 0, 0)),
    "umount2": (166, (0, 0)),
    "unshare": (272, (0,)),
    "setns": (308, (-1, 0)),
    "clone with a new user namespace": (56, (0x10000000 | 0x80000000 | 0x00000800, 0, 0, 0, 0)),
    "clone3": (435, (0, 0)),
    "personality": (135, (0xFFFFFFFF,)),
    "chroot": (161, (0,)),
    "pivot_root": (155, (0, 0)),
    "ptrace": (101, (99, 0, 0, 0)),
    "process_vm_readv": (310, (0, 0, 0, 0, 0, 0)),
    "process_vm_writev": (311, (0, 0, 0, 0, 0, 0)),
    "memfd_create": (319, (0, 0)),
    "memfd_secret": (447, (99,)),
    "shmget": (29, (0, 1 << 12, 0)),
    "mq_open": (240, (0, 0, 0, 0)),
    "inotify_init1": (294, (99,)),
    "fanotify_init": (300, (99, 0)),
    "flock": (73, (-1, 0)),
    "fadvise64": (221, (-1, 0, 0, 0)),
    "readahead": (187, (-1, 0, 0)),
    "mincore": (27, (1, 1, 0)),
    "sysinfo": (99, (0,)),
    "statfs": (137, (0, 0)),
    "socket": (41, (1, 1, 0)),
    "socketpair": (53, (1, 1, 0, 0)),
    "sched_setaffinity": (203, (0, 0, 0)),
    "setpriority": (141, (0, 0, 0)),
    "execve": (59, (0, 0, 0)),
    "open_by_handle_at": (304, (-1, 0, 0)),
    "name_to_handle_at": (303, (-1, 0, 0, 0, 0)),
    "init_module": (175, (0, 0, 0)),
    "kexec_load": (246, (0, 0, 0, 0)),
    "landlock_create_ruleset": (444, (0, 0, 99)),
    "pidfd_open": (434, (-1, 0)),
    "pidfd_getfd": (438, (-1, 0, 0)),
    "vmsplice": (278, (-1, 0, 0, 0)),
    "setxattr": (188, (0, 0, 0, 0, 0)),
    "seccomp": (317, (99, 0, 0)),
    "sync": (162, ()),
    "x32 getpid": (0x40000000 + 39, ()),
}


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """Doors that stand open on this machine, and a dataset that any process here can read."""
    folder = tmp_path_factory.mktemp("host")
    (folder / "people.csv").write_text("name,value\ntarget,1\n", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as inet, socket.socket(socket.AF_UNIX) as local:
        abstract = f"dither-{os.getpid()}"
        local.bind("\0" + abstract)
        local.listen()
        yield {
            "port": inet.getsockname()[1],
            "abstract": abstract,
            "dataset": str(folder / "people.csv"),
            "folder": str(folder),
            "key": 0x0D170000 + os.getpid() % 0xFFFF,
        }


@pytest.fixture(scope="module")
def box(host):
    """One core, so that blocks follow each other in the same sandbox; the block's number chooses the attack."""
    source = (
        f"{SOURCE}\nSETTINGS.update({host!r})\nNAMES = {NAMES!r}\nCALLS = {list(CALLS.values())!r}\n"
        "def program(rows):\n"
        "    which = int(rows[0])\n"
        "    if which >= 1000:\n"
        "        SETTINGS['call'], SETTINGS['arguments'] = CALLS[which - 1000]\n"
        "        return attempt('system_call')\n"
        "    return attempt(NAMES[which])\n"
    )
    program = Function(source, "program")
    with Sandbox(program, output=FLAG, cores=1, slot=0.5, memory_mib=128, scratch_mib=16) as sandbox:
        yield sandbox


def inside(box, *names):
    return [float(one) for one in box.run([np.array([float(NAMES.index(name))]) for name in names])[:, 0]]


def outside(settings, name):
    script = str(Path(__file__).with_name("attacks.py"))
    done = subprocess.run([sys.executable, script, json.dumps(settings), name], capture_output=True, check=True)
    return float(done.stdout)


@pytest.mark.parametrize("name", SINGLE)
def test_attack_fails_inside_and_works_outside(box, host, name):
    """The program is told no by the kernel; the same text does its work in an ordinary process."""
    assert outside(host, name) == 1.0
    assert inside(box, name) == [0.0]


@pytest.mark.parametrize("name", WITHOUT_CONTROL)
def test_descriptors_of_a_block_cannot_be_misused(box, name):
    """The block is sealed, the answer cannot grow, and no descriptor leads out."""
    assert inside(box, name) == [0.0]


@pytest.mark.parametrize(("leave", "find"), PAIRS)
def test_nothing_is_left_for_the_next_block(box, host, leave, find):
    """Files and shared memory of a block are gone when the next one looks; outside they stay."""
    try:
        outside(host, leave)
        assert outside(host, find) == 1.0
    finally:
        remove_what_was_left(host)
    assert inside(box, leave, find, leave, find) == [0.0] * 4


def remove_what_was_left(host):
    for place in ("/tmp", "/", "/var/tmp", "/dev/shm", "/dev", "/run", "/usr/lib", host["folder"], str(Path.cwd())):
        Path(place, "dither-was-here").unlink(missing_ok=True)
    for kind, option in (("shmget", "-M"), ("msgget", "-Q"), ("semget", "-S")):
        del kind
        subprocess.run(["ipcrm", option, str(host["key"])], capture_output=True, check=False)


def test_no_global_is_left_for_the_next_block(box, host):
    """A module's variables are those of the warm parent again; in one process they would be remembered."""
    names: dict = {}
    exec(SOURCE, names)
    names["SETTINGS"].update(host)
    control = Trusted(lambda rows: names[("leave_a_global", "find_a_global")[int(rows[0])]](), output=FLAG)
    try:
        assert control.run([np.zeros(1), np.ones(1)])[1, 0] == 1.0
    finally:
        import builtins

        del builtins.mark, json.mark, sys.modules["mark"], os.environ["MARK"]
    assert inside(box, "leave_a_global", "find_a_global") == [0.0, 0.0]


def test_killing_everything_kills_nothing_else(box):
    """Siblings, the parent and later blocks live on."""
    answers = inside(box, "trace", "kill_everything", "trace")
    assert (answers[0], answers[2]) == (0.0, 0.0)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of x86_64")
@pytest.mark.parametrize("name", CALLS)
def test_system_call_is_refused(box, host, name):
    """As if the kernel had no such call; outside it has, unless it was built without."""
    place = list(CALLS).index(name)
    assert box.run([np.array([1000.0 + place])])[0, 0] == 0.0


@pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of x86_64")
def test_refused_system_calls_exist_outside(host):
    """The control of the test above: most of these calls reach the kernel from an ordinary process."""
    names = [name for name in CALLS if not name.startswith("clone with")]
    reached = [
        name for name in names if outside({**host, "call": CALLS[name][0], "arguments": CALLS[name][1]}, "system_call")
    ]
    assert len(reached) >= 0.6 * len(names)
    assert {"unshare", "socket", "memfd_create", "flock", "personality", "process_vm_readv"} <= set(reached)
