"""What the daemon gives up, piece by piece, in a process that gives it up: rights, memory, imports, and what it says.

All of it at once, on a real mount, from the inside: `tests/security/test_sandbox.py`.
"""

import os
import pkgutil
from pathlib import Path
from typing import Any

import pytest

import kafkafs
from kafkafs.fuse.sandbox import landlock
from kafkafs.fuse.sandbox.confinement import LAYERS, ON_DEMAND
from tests.fuse.conftest import reported_by

KAFKA = 1234
CHILD = """
import errno, importlib, json, logging, os, resource, signal, sys, threading
from pathlib import Path
from kafkafs.fuse.sandbox import confinement, landlock, syscalls
from kafkafs.view.ownership import Owner
logging.basicConfig(format="%(levelname)s %(message)s", level=logging.WARNING)

def status(thread="self"):
    lines = Path(f"/proc/{thread}/status").read_text().splitlines()
    return dict(line.split(":\\t", 1) for line in lines if ":\\t" in line)

def outcome(act):
    try:
        act()
    except OSError as error:
        return errno.errorcode[error.errno]
    except ImportError:
        return "ImportError"
    return "done"

place, told = Path(sys.argv[1]), {}
"""


def child(place: Path, code: str) -> tuple[dict[str, Any], str]:
    """What code in a process of its own told, and what stands on its standard error."""
    return reported_by(f"{CHILD}{code}\nprint(json.dumps(told))", place)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("text")
    return tmp_path


BECOME = """
confinement.switch_user({owner})
told = {{name: status()[name].split() for name in ("Uid", "Gid", "Groups", "CapEff", "CapPrm", "CapInh", "CapBnd")}}
"""
CAPABILITIES = ("CapEff", "CapPrm", "CapInh", "CapBnd")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")
@pytest.mark.parametrize(
    ("owner", "user", "kept"),
    [
        (f"Owner({KAFKA}, {KAFKA + 1}, True)", (KAFKA, KAFKA + 1), "0" * 16),
        (f"Owner({KAFKA}, {KAFKA + 1}, False)", (KAFKA, KAFKA + 1), f"{4:016x}"),
        ("Owner(0, 0, True)", (0, 0), "0" * 16),
        ("None", (0, 0), "0" * 16),
    ],
)
def test_root_becomes_the_owner_and_no_capability_stays_but_the_one_that_is_needed(data, owner, user, kept):
    """Data of several owners take the right to read past their bits (CAP_DAC_READ_SEARCH), and no other."""
    reported, _ = child(data, BECOME.format(owner=owner))
    assert (reported["Uid"], reported["Gid"]) == ([str(user[0])] * 4, [str(user[1])] * 4)
    assert {name: reported[name] for name in CAPABILITIES if name not in ("CapInh", "CapBnd")} == {
        "CapEff": [kept], "CapPrm": [kept],
    }  # fmt: skip
    assert (reported["CapInh"], reported["CapBnd"]) == (["0" * 16], [kept])
    assert user[0] == 0 or reported["Groups"] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")
def test_the_signal_that_tells_of_the_parents_death_outlives_a_change_of_user(data):
    """The kernel forgets it then, and a daemon whose supervisor was killed would go on alone."""
    reported, _ = child(
        data,
        f"""
import ctypes
libc, found = ctypes.CDLL(None), ctypes.c_int()
libc.prctl(1, int(signal.SIGTERM), 0, 0, 0)
confinement.switch_user(Owner({KAFKA}, {KAFKA}, True))
libc.prctl(2, ctypes.byref(found), 0, 0, 0)
told["signal"] = found.value
""",
    )
    assert reported["signal"] == 15


def test_memory_is_hidden_and_no_core_is_left(data):
    """Records of others are in it."""
    reported, _ = child(
        data,
        """
confinement.hide_memory()
told = {"core": resource.getrlimit(resource.RLIMIT_CORE), "owner": os.stat("/proc/self/mem").st_uid,
        "dumpable": int(__import__("ctypes").CDLL(None).prctl(3, 0, 0, 0, 0))}
""",
    )
    assert reported == {"core": [0, 0], "owner": 0, "dumpable": 0}


def test_everything_that_serving_may_need_is_imported_and_nothing_else_can_be(data):
    """A module that is looked for in the sandbox is not found: a query that needs it would be a bug there only."""
    reported, _ = child(
        data,
        """
confinement.load_everything()
told["loaded"] = [name for name in sys.modules if name.startswith("kafkafs.")]
confinement.close_imports()
told["late"] = outcome(lambda: importlib.import_module("kafkafs.cli.main"))
told["stdlib"] = outcome(lambda: importlib.import_module("wave"))
told["again"] = outcome(lambda: importlib.import_module("kafkafs.view.tree"))
told["codec"] = outcome(lambda: b"xx".decode("utf-16"))
""",
    )
    package = Path(kafkafs.__file__).parent
    names = [each.name for layer in LAYERS
             for each in pkgutil.walk_packages([str(package / layer)], f"kafkafs.{layer}.")]  # fmt: skip
    wanted = {name for name in names if ".native." not in name and name not in ON_DEMAND}
    assert len(wanted) > 100
    assert wanted - set(reported["loaded"]) == set()
    assert {name: reported[name] for name in ("late", "stdlib")} == {"late": "ImportError", "stdlib": "ImportError"}
    assert {name: reported[name] for name in ("again", "codec")} == {"again": "done", "codec": "done"}


def test_without_the_decoders_of_protobuf_all_else_is_imported(data):
    """They come with an extra: a mount that lacks it serves all the same."""
    reported, _ = child(
        data,
        """
sys.modules["google"] = sys.modules["antlr4"] = None
confinement.load_everything()
told["loaded"] = [name for name in sys.modules if name.startswith("kafkafs.")]
""",
    )
    assert [name for name in reported["loaded"] if "protobuf" in name] == []
    assert "kafkafs.format.schemas.avro_program" in reported["loaded"]


CONFINED = """
made = confinement.confine([place], Owner(os.geteuid(), os.getegid(), True))
told["made"] = [made.user, made.landlock, made.filtered]
def acts():
    told["acts"] = {
        "read": outcome(lambda: os.close(os.open(place / "file", os.O_RDONLY))),
        "read elsewhere": outcome(lambda: os.close(os.open("/etc/passwd", os.O_RDONLY))),
        "see signals": outcome(lambda: os.close(os.open("/proc/self/status", os.O_RDONLY))),
        "write": outcome(lambda: os.close(os.open(place / "file", os.O_WRONLY))),
        "touch": outcome(lambda: os.utime(place / "file")),
    }
    told["status"] = [status(f"self/task/{threading.get_native_id()}")[name] for name in ("NoNewPrivs", "Seccomp")]
thread = threading.Thread(target=acts)
thread.start()
thread.join()
"""


def test_all_of_it_holds_in_threads_that_come_later(data):
    reported, said = child(data, CONFINED)
    assert reported["made"] == [os.geteuid(), landlock.version(), True]
    assert (reported["acts"].pop("read"), reported["acts"].pop("see signals")) == ("done", "done")
    assert set(reported["acts"].values()) <= {"EPERM", "EACCES"}
    assert reported["status"] == ["1", "2"]
    assert said == ""


def test_what_the_kernel_lacks_is_named_and_the_rest_holds(data):
    """A mount without a lock is better than none, if somebody can read that it has none."""
    reported, said = child(data, f"landlock.version = lambda: 0\nsyscalls.seccomp = None\n{CONFINED}")
    assert reported["made"] == [os.geteuid(), 0, False]
    assert [line.partition(":")[0] for line in said.splitlines()] == [
        "WARNING this kernel has no Landlock", "WARNING no system call filter"
    ]  # fmt: skip
    assert reported["status"] == ["1", "0"]


def test_a_thread_that_was_there_before_is_a_bug_that_is_reported(data):
    """Landlock and the filter are of a thread and those that it starts: that one has neither."""
    _, said = child(data, f"threading.Thread(target=threading.Event().wait, daemon=True).start()\n{CONFINED}")
    assert "ERROR 1 threads started too early and are not confined" in said
