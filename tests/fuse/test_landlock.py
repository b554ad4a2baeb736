"""Landlock by itself, in a process that restricts itself: what is below the paths is read, and nothing else opened."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from kafkafs.fuse.sandbox import landlock
from tests.disk.descriptors import open_below
from tests.fuse.conftest import reported_by

pytestmark = pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")

RESTRICTED = """
import errno, json, os, socket, sys, threading
from pathlib import Path
from kafkafs.fuse.sandbox import confinement, landlock
paths, ports, asked = json.loads(sys.argv[1])

def attempt(what, argument):
    acts = {
        "read": lambda: os.close(os.open(argument, os.O_RDONLY)),
        "list": lambda: os.listdir(argument),
        "write": lambda: os.close(os.open(argument, os.O_WRONLY)),
        "create": lambda: os.close(os.open(argument, os.O_WRONLY | os.O_CREAT)),
        "run": lambda: os.posix_spawn(argument, [argument], {}),
        "connect": lambda: socket.socket().connect(("127.0.0.1", argument)),
        "listen": lambda: socket.socket().bind(("127.0.0.1", argument)),
    }
    try:
        acts[what]()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"

confinement.forbid_new_privileges()
reported = [landlock.allow_reading_only(list(map(Path, paths)), ports)]
thread = threading.Thread(target=lambda: reported.extend(attempt(*each) for each in asked))
thread.start()
thread.join()
print(json.dumps(reported))
"""


def restricted(paths: list[Path], ports: list[int], asked: list[tuple[str, Any]]) -> list[str]:
    """What a thread that was started afterwards could do."""
    given = json.dumps([list(map(str, paths)), ports, [(what, str(each) if isinstance(each, Path) else each)
                                                      for what, each in asked]])  # fmt: skip
    (abi, *reported), _ = reported_by(RESTRICTED, given)
    assert abi == landlock.version()
    return [str(each) for each in reported]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name in ("data/deep", "outside"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_text("text")
    (tmp_path / "data/link").symlink_to("../outside/file")
    return tmp_path


def test_what_is_below_a_path_is_read_and_nothing_else(data: Path) -> None:
    """Also by root, who may read everything, and through a link that leads out."""
    inside = [("read", data / "data/deep/file"), ("list", data / "data"), ("read", data / "data/deep")]
    outside = [("read", data / "outside/file"), ("list", data / "outside"), ("read", data / "data/link"),
               ("read", Path("/etc/passwd")), ("list", Path("/"))]  # fmt: skip
    changes = [("write", data / "data/deep/file"), ("create", data / "data/new"), ("run", Path("/bin/true"))]
    reported = restricted([data / "data"], [], [*inside, *outside, *changes])
    assert reported == ["done"] * len(inside) + ["EACCES"] * len(outside + changes)
    assert not (data / "data/new").exists()


def test_a_file_may_be_named_by_itself(data: Path) -> None:
    """Certificates, names of hosts: not the directory that they lie in."""
    asked = [("read", data / "outside/file"), ("list", data / "outside"), ("read", data / "data/deep/file")]
    assert restricted([data / "outside/file"], [], asked) == ["done", "EACCES", "EACCES"]


@pytest.mark.skipif(landlock.version() < 4, reason="this kernel's Landlock knows no ports")
def test_only_named_ports_are_reached_and_none_is_listened_on(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        allowed, denied = one.getsockname()[1], other.getsockname()[1]
        asked = [("connect", allowed), ("connect", denied), ("listen", 0)]
        assert restricted([], [allowed], asked) == ["done", "EACCES", "EACCES"]
        assert restricted([], [], asked) == ["EACCES"] * 3


RIGHTS = {  # of landlock(7): ABI -> rights to files, to the network, scopes
    1: (13, 0, 0), 2: (14, 0, 0), 3: (15, 0, 0), 4: (15, 2, 0), 5: (16, 2, 0), 6: (16, 2, 2), 9: (16, 2, 2),
}  # fmt: skip


@pytest.mark.parametrize("abi", RIGHTS)
def test_every_right_that_an_abi_knows_is_denied(abi: int) -> None:
    """What is not named stays allowed, and a right that a kernel does not know is an error."""
    kinds = (landlock.FILE_RIGHTS, landlock.NET_RIGHTS, landlock.SCOPES)
    assert tuple(landlock.rights_of(known, abi) for known in kinds) == tuple((1 << count) - 1 for count in RIGHTS[abi])


def test_what_is_not_there_is_an_error_and_leaves_no_descriptor(data: Path) -> None:
    places = (data, Path("anon_inode:[landlock-ruleset]"))
    before = [open_below(place) for place in places]
    with pytest.raises(FileNotFoundError):
        landlock.allow_reading_only([data / "data", data / "gone"])
    assert [open_below(place) for place in places] == before
