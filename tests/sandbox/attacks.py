"""What a hostile program would try, as plain functions: 1.0 where it worked.

The same text runs as a program in a sandbox and, as a control, as a script in an ordinary process
(``python attacks.py SETTINGS NAME``).  It uses the standard library alone.
"""

# The names say what is attempted, and pathlib would hide the call that is made.
# ruff: noqa: D103, PTH108, PTH109, PTH110, PTH112, PTH116, PTH118, PTH123, PTH208

import builtins
import ctypes
import errno
import json
import os
import signal
import socket
import sys
import time

SETTINGS: dict = {}
MARK = "dither-was-here"
libc = ctypes.CDLL(None, use_errno=True)


def connect_to_the_host():
    with socket.create_connection(("127.0.0.1", SETTINGS["port"]), timeout=1):
        return 1.0


def connect_to_an_abstract_socket():
    with socket.socket(socket.AF_UNIX) as door:
        door.connect("\0" + SETTINGS["abstract"])
        return 1.0


def read_the_dataset():
    with open(SETTINGS["dataset"]) as source:
        return float("target" in source.read())


def read_the_password_file():
    with open("/etc/passwd") as source:
        return float("root" in source.read())


def read_the_owners_environment():
    with open("/proc/self/environ", "rb") as source:
        return float(len(source.read()) > 0)


def list_processes():
    return float(any(name.isdigit() for name in os.listdir("/proc")))


def places():
    return [
        "/tmp",
        "/",
        "/var/tmp",
        "/dev/shm",
        "/dev",
        "/run",
        "/sandbox",
        "/usr/lib",
        SETTINGS["folder"],
        os.getcwd(),
    ]


def leave_a_file():
    for place in places():
        try:
            with open(os.path.join(place, MARK), "w") as out:
                out.write("x")
            if place == SETTINGS["folder"]:
                break
        except OSError:
            continue
    return 0.0


def find_a_file():
    return float(any(os.path.exists(os.path.join(place, MARK)) for place in places()))


def set_the_time_of_a_device():
    """Anybody may who may write to it, and the next block, or the host, can see it."""
    before = os.stat("/dev/null").st_mtime_ns
    time.sleep(0.02)
    os.utime("/dev/null")
    return float(os.stat("/dev/null").st_mtime_ns != before)


def hoard_timers():
    """Timers count for all sandboxes of a user together; the first thousand leave nobody else without."""
    made = 0
    while made < 1000 and libc.timer_create(1, None, ctypes.byref(ctypes.c_void_p())) == 0:
        made += 1
    return float(made == 1000)


def leave_shared_memory():
    libc.shmget(SETTINGS["key"], 4096, 0o1666)
    libc.msgget(SETTINGS["key"], 0o1666)
    libc.semget(SETTINGS["key"], 1, 0o1666)
    return 0.0


def find_shared_memory():
    return float(libc.shmget(SETTINGS["key"], 0, 0) >= 0)


def find_message_queue():
    return float(libc.msgget(SETTINGS["key"], 0) >= 0)


def find_semaphore():
    return float(libc.semget(SETTINGS["key"], 0, 0) >= 0)


def leave_a_global():
    json.mark = builtins.mark = SETTINGS["mark"] = os.environ["MARK"] = MARK
    sys.modules["mark"] = json
    return 0.0


def find_a_global():
    return float(any([hasattr(json, "mark"), hasattr(builtins, "mark"), "mark" in SETTINGS, "MARK" in os.environ]))


def fork_many():
    children = []
    try:
        while len(children) < 200:
            child = os.fork()
            if child == 0:
                time.sleep(20)
                os._exit(0)
            children.append(child)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return float(len(children) == 200)


def take_memory():
    pages = bytearray(1 << 29)
    pages[:: 1 << 12] = bytes(len(pages) >> 12)
    return 1.0


def take_memory_in_pieces():
    kept = [bytearray(1 << 20) for _ in range(512)]
    return float(len(kept) == 512)


def take_memory_files():
    descriptor = os.memfd_create("hoard")
    os.ftruncate(descriptor, 1 << 20)
    return 1.0


def fill_the_scratch_folder():
    folder = SETTINGS["folder"] if os.path.isdir(SETTINGS["folder"]) else "/tmp"
    names = [os.path.join(folder, f"fill{part}") for part in range(8)]
    try:
        for name in names:
            with open(name, "wb", buffering=0) as out:
                for _ in range(8):
                    if out.write(bytes(1 << 20)) != 1 << 20:
                        return 0.0
        return 1.0
    finally:
        for name in names:
            if os.path.exists(name):
                os.unlink(name)


def signal_another_process():
    for other in range(1, 1 << 15):
        if other != os.getpid():
            try:
                os.kill(other, 0)
            except ProcessLookupError:
                continue
            except PermissionError:
                pass
            return 1.0
    return 0.0


def trace():
    return float(libc.ptrace(0, 0, 0, 0) == 0)  # PTRACE_TRACEME


def kill_everything():
    """No control outside: it would do what it says."""
    os.kill(-1, signal.SIGKILL)
    return 0.0


def write_to_the_parents_descriptors():
    written = 0
    for descriptor in range(256):
        if descriptor not in {3, 4}:  # the block, which is sealed, and its own answer
            try:
                if not os.path.samestat(os.fstat(descriptor), os.stat("/dev/null")):
                    written += os.write(descriptor, b"x")
            except OSError:
                continue
    return float(written > 0)


def change_the_block():
    return float(os.write(3, b"x") > 0)


def grow_the_answer():
    return float(os.pwrite(4, b"x", 1 << 20) > 0)


def leave_the_core():
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return 1.0


def run_another_program():
    child = os.posix_spawn("/usr/bin/true" if os.path.exists("/usr/bin/true") else sys.executable, ["true"], {})
    os.waitpid(child, 0)
    return 1.0


def lock_a_shared_file():
    import fcntl

    with open(os.__file__) as shared:
        fcntl.flock(shared, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return 1.0


def system_calls():
    """For each call 1.0 if the kernel took it at all, even to find fault with its arguments."""
    return [system_call(number, arguments) for number, arguments in SETTINGS["calls"]]


def system_call(number, arguments):
    ctypes.set_errno(0)
    outcome = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(one) for one in arguments))
    return float(outcome >= 0 or ctypes.get_errno() not in {errno.ENOSYS, errno.EPERM})


def attempt(name):
    try:
        return globals()[name]()
    except (OSError, MemoryError, AttributeError):
        return 0.0


if __name__ == "__main__":
    SETTINGS.update(json.loads(sys.argv[1]))
    print(json.dumps(attempt(sys.argv[2])))
