"""The warm parent: beside ``frozen.py`` the only file of dither that exists inside a sandbox.

It imports the analyst's libraries once, never looks at data and never runs the analyst's code.  For every block it
forks one child into fresh pid, mount and ipc namespaces; the child mounts a scratch folder of its own, gives up every
capability, takes the strict system call filter, and only then opens the block and runs the program.  Killing the child
kills everything the program started, and with it the scratch folder and all of its memory.

Run as a script by ``bwrap``; it uses nothing but the standard library and numpy, and there is no /proc.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import mmap
import os
import resource
import signal
import socket
import struct
import sys
import time
from types import CodeType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Literal, Required, TypedDict

    from dither.sandbox.frozen import ProcessView

    class Settings(TypedDict, total=False):
        """Settings with which a sandbox starts."""

        program_type: Required[Literal["function", "executable"]]
        source: str
        name: str
        arguments: list[str]
        filter: Required[str]
        paths: Required[list[str]]
        devices: Required[list[str]]
        preload: Required[list[str]]
        imports: Required[list[str]]
        files: Required[bool]
        outputs: Required[int]
        memory: Required[int]
        scratch: Required[int]
        processes: Required[int]
        cpu_seconds: Required[int]
        checking_seconds: Required[float]
        has_example: Required[bool]
        pivot_root: Required[int]


_NEW_MOUNT, _NEW_IPC, _NEW_PID = 0x00020000, 0x08000000, 0x20000000
_READ_ONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND = 1, 2, 4, 8, 32, 4096
_PRIVATE_TREE = (1 << 18) | 16384
_SET_SECCOMP, _SET_PARENT_DEATH, _CAPBSET_DROP, _AMBIENT = 22, 1, 24, 47
_CAPABILITIES = (8, 21)  # SETPCAP and SYS_ADMIN, all that the parent was given
_PIDFD_OPEN = 434  # the same number everywhere
_DETACH = 2
# Parts that these packages load when a program first asks for them.  They are for programs: dither draws from none.
_LOADED_LATE = (
    "numpy.linalg",
    "numpy.fft",
    "numpy.random",
    "numpy.polynomial",
    "numpy.ma",
    "numpy.lib.stride_tricks",
    "pyarrow.compute",
)

DATA, ANSWER, TEXT = 3, 4, 5
FINISHED = struct.pack("<d", 1.0)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def _call(name: str, *arguments: Any) -> int:  # whatever ctypes passes on
    """A libc function that must succeed; a child that cannot isolate itself must not go on."""
    outcome: int = getattr(_libc, name)(*arguments)
    if outcome < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return outcome


class Parent:
    """One sandbox: answers GO and STOP on its control socket until the other end is closed."""

    def __init__(self, control: socket.socket, settings: Settings) -> None:
        self.control = control
        self.settings = settings
        self.own_pid_namespace = _call("syscall", _PIDFD_OPEN, os.getpid(), 0)
        protect_devices(settings["devices"])
        sys.path[1:1] = settings["paths"]
        for name in settings["preload"]:
            importlib.import_module(name)
        warm_up()
        if not settings["files"]:
            load_what_may_be_needed(settings["imports"])
        self.code: CodeType | None = None
        if settings["program_type"] == "function":
            self.code = compile(settings["source"], "<program>", "exec", dont_inherit=True)
        code = bytes.fromhex(settings["filter"])
        self.filter = _FilterProgram(len(code) // 8, code)
        self.address_space = address_space_in_use() + settings["memory"]

    def serve(self) -> None:
        child = 0
        while True:
            message, descriptors, _, _ = socket.recv_fds(self.control, 16, 3)
            if not message:
                return
            if message == b"STOP":
                if child:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)  # returns when the whole pid namespace has ended; the status is not used
                    child = 0
                self.control.send(b"STOPPED")
            elif message.startswith(b"PIN"):
                os.sched_setaffinity(0, {int(message[3:])})
            elif message == b"CHECK":
                self._wait(self._fork(descriptors, checking=True))
                self.control.send(b"CHECKED")
            else:
                child = self._fork(descriptors, checking=False)

    def _wait(self, child: int) -> None:
        """Until the child is done with its public example, or has taken far too long."""
        deadline = time.monotonic() + self.settings["checking_seconds"]
        while time.monotonic() < deadline:
            if os.waitpid(child, os.WNOHANG)[0]:
                return
            time.sleep(0.002)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    def _fork(self, descriptors: list[int], *, checking: bool) -> int:
        _call("unshare", _NEW_PID)
        child = os.fork()
        if child == 0:
            try:
                self._live(descriptors, checking=checking)
            finally:
                os._exit(0)
        _call("setns", self.own_pid_namespace, _NEW_PID)
        for descriptor in descriptors:
            os.close(descriptor)
        return child

    def _live(self, descriptors: list[int], *, checking: bool) -> None:
        settings = self.settings
        _call("prctl", _SET_PARENT_DEATH, signal.SIGKILL, 0, 0, 0)
        os.setsid()  # else ``kill(0, ...)`` would reach the parent, which is of the same group
        place_descriptors(descriptors)
        if not checking and settings["program_type"] == "function":
            os.close(TEXT)
        own_namespaces()
        streams = copied_streams() if self.code is None else (-1, -1)
        scratch_folder(f"size={settings['scratch']},nr_inodes=4096")
        if not settings["files"]:
            leave_files(settings["pivot_root"])
        limit_resources(settings, self.address_space)
        give_up_capabilities()
        _call("prctl", _SET_SECCOMP, 2, ctypes.byref(self.filter), 0, 0)
        if self.code is None:
            run_executable(settings["arguments"], *streams)
        elif checking:
            check_function(self.code, settings)
        else:
            run_function(self.code, settings)


def protect_devices(names: list[str]) -> None:
    """Read-only: devices can still be written to, but their times, which a later block could read, cannot be set."""
    for name in names:
        flags = ctypes.c_ulong(_REMOUNT | _BIND | _READ_ONLY | _NOSUID | _NOEXEC)
        _call("mount", None, name.encode(), None, flags, None)


def warm_up() -> None:
    """What packages find out or import when first used, once a process, happens here, on made-up rows."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.chunked_array([[1.0]]).to_numpy()  # looks for pandas: half a second
    clusters = sys.modules.get("sklearn.cluster")
    if clusters is not None:
        numpy = importlib.import_module("numpy")
        clusters.KMeans(2, n_init=1, random_state=0).fit(numpy.arange(8.0).reshape(4, 2))


def load_what_may_be_needed(imports: list[str]) -> None:
    """For blocks that see no files: what the program's text imports, and what packages load when it is first used.

    A name that is no module is left to the program, which then fails by itself.
    """
    for package in _LOADED_LATE:
        if package.partition(".")[0] in sys.modules:
            imports = [package, *imports]
    for name in imports:
        try:
            importlib.import_module(name)
        except (Exception, SystemExit):  # noqa: BLE001 - it may be a function of a module
            continue


def read_libraries(names: set[str]) -> None:
    """Bring libraries into memory as a whole: blocks could notice which parts of them others had used before."""
    for name in names:
        try:
            with open(name, "rb", buffering=0) as library:  # noqa: PTH123
                while library.read(1 << 20):
                    pass
        except OSError:
            continue


def leave_files(pivot_root: int) -> None:
    """Only the scratch folder is left visible.

    Blocks could otherwise leave notes in which files of the machine are in its memory, where later programs find them.
    """
    _call("syscall", ctypes.c_long(pivot_root), b".", b".")
    _call("umount2", b".", _DETACH)
    os.chdir("/")
    os.mkdir("/tmp", 0o700)  # noqa: PTH102
    os.chdir("/tmp")


def place_descriptors(descriptors: list[int]) -> None:
    """The block's descriptors become 3, 4, 5 and every other one is closed, the control socket included."""
    high = [os.dup2(descriptor, 100 + place, inheritable=False) for place, descriptor in enumerate(descriptors)]
    os.closerange(3, 100)
    for place, item in enumerate(high):
        os.dup2(item, DATA + place, inheritable=False)
    os.closerange(DATA + len(high), 200)


def own_namespaces() -> None:
    """A mount tree and System V IPC of the child's own."""
    _call("unshare", _NEW_MOUNT | _NEW_IPC)
    _call("mount", None, b"/", None, ctypes.c_ulong(_PRIVATE_TREE), None)


def scratch_folder(options: str) -> None:
    """A new, empty /tmp: the only writable folder there is."""
    flags = ctypes.c_ulong(_NOSUID | _NODEV | _NOEXEC)
    _call("mount", b"tmpfs", b"/tmp", b"tmpfs", flags, f"{options},mode=700".encode())
    os.chdir("/tmp")


def copied_streams() -> tuple[int, int]:
    """What an executable reads and writes, as files of a folder of its own that will be covered by the scratch folder.

    An executable can ask for the inode numbers of its streams.  Those of memory files come from a counter that all
    blocks can advance; in a new folder they are always the same.
    """
    size, room = os.fstat(DATA).st_size, os.fstat(TEXT).st_size
    scratch_folder(f"size={size + room + 16 * mmap.PAGESIZE}")
    written = os.open("input", os.O_WRONLY | os.O_CREAT, 0o600)
    done = 0
    while done < size:
        done += os.sendfile(written, DATA, done, size - done)
    os.close(written)
    return os.open("input", os.O_RDONLY), os.open("output", os.O_RDWR | os.O_CREAT, 0o600)


def limit_resources(settings: Settings, address_space: int) -> None:
    """Hard limits, which a process without capabilities cannot raise again."""
    limits = {
        resource.RLIMIT_AS: address_space,
        resource.RLIMIT_CPU: settings["cpu_seconds"],
        resource.RLIMIT_NPROC: settings["processes"],
        resource.RLIMIT_FSIZE: settings["scratch"],
        resource.RLIMIT_NOFILE: 64,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_SIGPENDING: 64,  # timers and queued signals also count for all sandboxes of a user together
    }
    for limited, limit in limits.items():
        resource.setrlimit(limited, (limit, limit))


def give_up_capabilities() -> None:
    """All of them, and the possibility of getting one back."""
    _call("prctl", _AMBIENT, 4, 0, 0, 0)
    for capability in _CAPABILITIES:
        _call("prctl", _CAPBSET_DROP, capability, 0, 0, 0)
    _call("capset", struct.pack("<Ii", 0x20080522, 0), bytes(24))


def mapped(descriptor: int, *, shared: bool) -> Any:  # an array of bytes, whose slices its stubs do not let be set
    """The bytes of a memory file, whose descriptor is then closed for good.

    Its inode number comes from a counter that all blocks advance by mapping shared memory, so programs must not be able
    to ask for it; ``mmap.mmap`` would keep a descriptor open.  Without ``shared`` changes stay in this process.
    """
    size = os.fstat(descriptor).st_size
    place = _libc.mmap(
        None,
        ctypes.c_size_t(size),
        mmap.PROT_READ | mmap.PROT_WRITE,
        mmap.MAP_SHARED if shared else mmap.MAP_PRIVATE,
        descriptor,
        ctypes.c_long(0),
    )
    if place == ctypes.c_void_p(-1).value:
        raise MemoryError
    os.close(descriptor)
    return (ctypes.c_char * size).from_address(place)


def load_block(content: ctypes.Array[ctypes.c_char]) -> Any:  # an array or a table of Arrow: neither is imported
    """The block as a writable view of its bytes."""
    view = memoryview(content).cast("B")
    (length,) = struct.unpack_from("<I", view)
    header = json.loads(bytes(view[4 : 4 + length]))
    start = header["start"]
    if header["format"] == "arrow":
        pyarrow = importlib.import_module("pyarrow")
        return pyarrow.ipc.open_stream(pyarrow.py_buffer(view[start : start + header["bytes"]])).read_all()
    numpy = importlib.import_module("numpy")
    dtype = numpy.dtype(header["dtype"])
    count = 1
    for side in header["shape"]:
        count *= side
    if count == 0:
        return numpy.zeros(header["shape"], dtype)
    return numpy.frombuffer(view, dtype, count, start).reshape(header["shape"])


def defined_function(code: CodeType, name: str) -> Callable[..., object]:  # the analyst's own
    """Run the source, which defines the function among other things."""
    names: dict[str, object] = {"__name__": "__program__"}  # the analyst's own
    exec(code, names)  # noqa: S102 - running it is the point, and this is the place made for it
    function = names.get(name)
    if not callable(function):
        raise TypeError(f"the source defines no function {name!r}")
    return function


def run_function(code: CodeType, settings: Settings) -> None:
    """Only a complete answer of the right length sets the flag; after anything else the answer is the default."""
    numpy = importlib.import_module("numpy")
    content, room = mapped(DATA, shared=False), mapped(ANSWER, shared=True)
    answer = numpy.asarray(defined_function(code, settings["name"])(load_block(content)), dtype=numpy.float64).ravel()
    if answer.size == settings["outputs"]:
        numbers = answer.tobytes()
        room[len(FINISHED) : len(FINISHED) + len(numbers)] = numbers
        room[: len(FINISHED)] = FINISHED


def check_function(code: CodeType, settings: Settings) -> None:
    """The same on public example data, with the text of the error; never used on a block of people."""
    numpy = importlib.import_module("numpy")
    try:
        function = defined_function(code, settings["name"])
        block = load_block(mapped(DATA, shared=False))
        if settings["has_example"]:
            answer = numpy.asarray(function(block), dtype=numpy.float64).ravel()
            if answer.size != settings["outputs"]:
                raise ValueError(f"returned {answer.size} numbers instead of {settings['outputs']}")
            os.pwrite(ANSWER, answer.tobytes(), len(FINISHED))
        os.pwrite(ANSWER, FINISHED, 0)
    except BaseException as error:  # noqa: BLE001 - SystemExit and MemoryError are findings too
        os.pwrite(TEXT, f"{type(error).__name__}: {error}".encode("utf-8", "replace")[:2000], 0)


def run_executable(arguments: list[str], reading: int, writing: int) -> None:
    """What it wrote is copied to memory of a fixed size, and the flag is set, here, where the program cannot reach."""
    child = os.fork()
    if child == 0:
        try:
            os.dup2(reading, 0)
            os.dup2(writing, 1)
            os.execve(arguments[0], arguments, dict(os.environ))
        finally:
            os._exit(127)
    while True:
        ended, status = os.wait()
        if ended == child:
            break
    text = os.pread(writing, os.fstat(TEXT).st_size, 0)
    fits = status == 0 and os.fstat(writing).st_size <= len(text)
    os.pwrite(TEXT, text, 0)
    os.pwrite(ANSWER, FINISHED if fits else struct.pack("<d", -1.0), 0)


def address_space_in_use() -> int:
    """Bytes of address space of this process, found by asking which limit still lets one more page in.

    >>> 1 << 20 < address_space_in_use() < 1 << 46
    True
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    page = mmap.PAGESIZE
    low, high = 0, 1 << 46
    probe = _libc.mmap
    release = _libc.munmap
    release.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    failed = ctypes.c_void_p(-1).value
    try:
        while high - low > page:
            middle = (low + high) // 2 // page * page
            resource.setrlimit(resource.RLIMIT_AS, (middle, hard))
            address = probe(None, page, 0, 0x22, -1, 0)
            if address == failed:
                low = middle
            else:
                release(address, page)
                high = middle
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    return high


def settle(frozen: ModuleType, view: ProcessView | None, *, files: bool) -> None:
    """What is loaded now stays: neither the garbage collector nor a fork need look at it again."""
    gc.collect()
    if view is not None:
        if not files:
            read_libraries({mapping.name for mapping in view.mappings() if mapping.name.startswith("/")})
        frozen.freeze(view)
        view.close()
    gc.freeze()


def main() -> None:
    """``fork_server.py CONTROL SETTINGS PROCESSES``: the numbers of three inherited descriptors."""
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, fileno=int(sys.argv[1]))
    with os.fdopen(int(sys.argv[2]), "rb") as source:
        settings = json.loads(source.read())
    sys.path.insert(0, os.path.dirname(__file__))  # noqa: PTH120
    frozen = importlib.import_module("frozen")
    del sys.path[0]
    view = frozen.opened_view(int(sys.argv[3]))  # from here on there is no way to /proc
    try:
        parent = Parent(control, settings)
    except Exception as error:  # noqa: BLE001 - no data were read yet: the owner gets the error
        control.send(b"FAILED" + f"{type(error).__name__}: {error}".encode("utf-8", "replace")[:2000])
        return
    nowhere = os.open("/dev/null", os.O_RDWR)
    for standard in (0, 1, 2):  # until here stderr had the reason of a failed start; programs must not reach it
        os.dup2(nowhere, standard)
    os.close(nowhere)
    settle(frozen, view, files=settings["files"])
    control.send(b"READY")
    parent.serve()


if __name__ == "__main__":
    main()
