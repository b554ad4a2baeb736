"""Files of remote segments by their paths alone, as `dump` opens them: what was on the broker's disk."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kafkafs.errors import DiskError
from kafkafs.log.tier.lone import open_lone
from tests.kafka import aiven
from tests.kafka.tiered import Tiered
from tests.mounting import KAFKAFS

TIERED = Tiered()


def dumped(*arguments: str | Path) -> tuple[str, str]:
    """What is printed of a file, the last argument, and what does not agree in it: without its path."""
    done = subprocess.run([KAFKAFS, "dump", *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    path = str(arguments[-1])
    return done.stdout.replace(path, "FILE"), done.stderr.replace(path, "FILE")


@pytest.mark.parametrize("is_encrypted", [False, True])
def test_a_dump_of_a_remote_segment_is_that_of_the_segment(tmp_path, is_encrypted):
    key = aiven.key_pair("k1")
    (tmp_path / "k1.pem").write_bytes(key.pem)
    chunked = aiven.write(TIERED.tier, tmp_path / "tier", prefix="p/", compress=True, key=key if is_encrypted else None)
    keys = [("k1", tmp_path / "k1.pem")] if is_encrypted else []
    flags = [f"--tiered-key=k1:{tmp_path}/k1.pem"] if is_encrypted else []
    plain = sorted(next(TIERED.tier.glob("payments-0-*")).glob("*.log"))[1]
    (packed,) = chunked.rglob(plain.name)
    local = TIERED.whole / f"payments-0/{plain.name[:20]}.log"
    assert dumped("--print-data-log", plain) == dumped("--print-data-log", local)
    assert dumped("--print-data-log", *flags, packed) == dumped("--print-data-log", local)
    window = ("--from-offset", str(int(plain.name[:20]) + 100), "--to-offset", str(int(plain.name[:20]) + 130))
    assert dumped(*window, *flags, packed) == dumped(*window, local)
    assert dumped(plain.with_suffix(".timeindex")) == dumped(local.with_suffix(".timeindex"))
    for kind in ("index", "timeindex"):
        opened = open_lone(str(packed.with_suffix(f".{kind}")), keys)
        assert opened is not None
        assert opened.read(0, 1 << 20) == local.with_suffix(f".{kind}").read_bytes()[: opened.size]


def test_what_is_no_remote_segment_is_left_alone_and_one_without_its_key_says_so(tmp_path):
    chunked = aiven.write(TIERED.tier, tmp_path / "tier", compress=True, key=aiven.key_pair("k1"))
    log = next(iter(sorted(chunked.glob("orders-*/0/*.log"))))
    assert open_lone(str(TIERED.left / "orders-0/00000000000000000000.log"), []) is None
    assert open_lone(str(next(TIERED.tier.glob("orders-0-*/*.log"))), []) is None
    with pytest.raises(DiskError, match="encrypted with the key 'k1'"):
        open_lone(str(log), [])
    shutil.copy(log, tmp_path / log.name)
    assert open_lone(str(tmp_path / log.name), []) is None
