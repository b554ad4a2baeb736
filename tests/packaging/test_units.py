"""The systemd units: valid, hardened as far as a mount allows, and told when the mount answers."""

import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from kafkafs.fuse.life.mountpoint import mounted_at
from kafkafs.sample import unpack
from tests.mounting import KAFKAFS, run, wait_until

UNITS = Path(__file__).parents[2] / "scripts/systemd"


@pytest.fixture
def service(tmp_path: Path) -> Path:
    """The unit with the path of this environment's command, and no man page to look for."""
    text = (UNITS / "kafkafs.service").read_text().replace("/usr/local/bin/kafkafs", str(KAFKAFS))
    path = tmp_path / "kafkafs.service"
    path.write_text(re.sub("Documentation=.*\n", "", text))
    return path


def test_systemd_takes_the_units(service, tmp_path):
    for unit in UNITS.glob("mnt-kafka.*"):
        tmp_path.joinpath(unit.name).write_text(re.sub("Documentation=.*\n", "", unit.read_text()))
    units = [service, tmp_path / "mnt-kafka.mount", tmp_path / "mnt-kafka.automount"]
    done = run("systemd-analyze", "verify", *units, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_service_is_exposed_no_more_than_a_mount_must_be(service):
    """A mount has to be made in the host's mount namespace, which costs most of what is left."""
    shown = run("systemd-analyze", "security", "--offline=true", service).stdout.decode()
    exposure = re.search(r"exposure level for kafkafs.service: ([0-9.]+)", shown)
    assert exposure is not None
    assert float(exposure[1]) <= 4.2


@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_systemd_is_notified_when_the_mount_answers(tmp_path, kind):
    """Units that are ordered after it must find the files there."""
    place = tmp_path / "mount"
    place.mkdir()
    name = str(tmp_path / "notify") if kind == "path" else f"@kafkafs-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind("\0" + name[1:] if kind == "abstract" else name)
        channel.settimeout(20)
        environment = os.environ | {"NOTIFY_SOCKET": name}
        process = subprocess.Popen(
            [KAFKAFS, "mount", unpack(tmp_path), place], env=environment, stderr=subprocess.DEVNULL
        )
        try:
            assert channel.recv(1000).startswith(b"READY=1\n")
            assert mounted_at(place) is not None
            assert b"test-0" in run("ls", place).stdout
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(300) == 0
    wait_until(lambda: mounted_at(place) is None)
