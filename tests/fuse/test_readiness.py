"""Telling systemd that the mount answers: sd_notify's protocol, against a socket like its own."""

import socket
from collections.abc import Iterator

import pytest

from kafkafs.fuse.life.guard import notifier


@pytest.fixture(params=["path", "abstract"])
def listening(request, tmp_path, monkeypatch) -> Iterator[socket.socket]:
    """What systemd listens on: a file, or a name in the abstract namespace, which it writes with an @."""
    name = str(tmp_path / "notify") if request.param == "path" else f"@kafkafs-{tmp_path.name}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind("\0" + name[1:] if name.startswith("@") else name)
        channel.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        yield channel


def test_systemd_is_told_when_the_mount_answers_and_not_before(listening):
    """Units that are ordered behind it would find an empty directory."""
    notify = notifier()
    with pytest.raises(BlockingIOError):
        listening.recv(1000)
    notify()
    assert listening.recv(1000).split(b"\n")[0] == b"READY=1"


def test_the_socket_is_reached_though_its_address_is_out_of_reach_by_then(listening, monkeypatch):
    """The daemon is confined in between: no other file or socket can be opened any more."""
    notify = notifier()
    monkeypatch.setenv("NOTIFY_SOCKET", "/nowhere")
    notify()
    assert listening.recv(1000).startswith(b"READY=1")


def test_systemd_is_told_once(listening):
    notify = notifier()
    notify()
    notify()
    assert listening.recv(1000)
    with pytest.raises(BlockingIOError):
        listening.recv(1000)


def test_a_systemd_that_went_away_ends_no_mount(listening):
    notify = notifier()
    listening.close()
    notify()


@pytest.mark.parametrize("address", ["", "/nowhere/notify"])
def test_without_systemd_nothing_happens(address, monkeypatch):
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    notifier()()
    monkeypatch.delenv("NOTIFY_SOCKET")
    notifier()()
