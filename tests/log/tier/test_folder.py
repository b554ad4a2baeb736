"""Files of remote segments by their paths alone, as `dump` opens them: what was on the broker's disk."""

import shutil
from pathlib import Path

import pytest

from kafkafs.errors import DiskError
from kafkafs.log.tier.folder import Folder, split
from tests.cli.asking import called
from tests.kafka import aiven
from tests.kafka.buckets import BUCKET, bucket_of
from tests.kafka.tiered import Tiered

TIERED = Tiered()


def dumped(*arguments: str | Path) -> tuple[str, str]:
    """What is printed of a file, the last argument, and what does not agree in it: without its path."""
    done = called("dump", *arguments)
    path = str(arguments[-1])
    return done.stdout.decode().replace(path, "FILE"), done.stderr.decode().replace(path, "FILE")


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
        opened = Folder(str(packed.parent), keys).open(f"{packed.stem}.{kind}")
        assert opened.read(0, 1 << 20) == local.with_suffix(f".{kind}").read_bytes()[: opened.size]


def test_one_without_its_key_says_so_and_one_without_its_manifest_is_a_file(tmp_path):
    chunked = aiven.write(TIERED.tier, tmp_path / "tier", compress=True, key=aiven.key_pair("k1"))
    log = next(iter(sorted(chunked.glob("orders-*/0/*.log"))))
    with pytest.raises(DiskError, match="encrypted with the key 'k1'"):
        Folder(str(log.parent), []).open(log.name)
    shutil.copy(log, tmp_path / log.name)
    file = Folder(str(tmp_path), []).open(log.name)
    assert file.read(0, file.size) == log.read_bytes()


def test_a_dump_of_a_folder_names_a_log_of_which_only_the_manifest_is_left(tmp_path):
    """Regression: it was left out, with exit code 0."""
    chunked = aiven.write(TIERED.tier, tmp_path / "tier", compress=True)
    log = sorted(chunked.glob("orders-*/0/*.log"))[1]
    assert called("dump", log.parent).returncode == 0
    log.unlink()
    done = called("dump", log.parent, check=False)
    assert done.returncode == 1
    assert log.name in done.stderr.decode()
    assert "its log is not in the tier" in done.stderr.decode()


def test_an_object_of_a_bucket_is_dumped_by_its_address(tmp_path):
    """As it was on the broker's disk, in either layout; a folder is all that it holds; nothing shows what opens it."""
    plain = sorted(next(TIERED.tier.glob("payments-0-*")).glob("*.log"))[1]
    local = TIERED.whole / f"payments-0/{plain.name[:20]}"
    zstd = aiven.write(TIERED.tier, tmp_path / "zstd", prefix="p/", compress=True)
    (packed,) = zstd.rglob(plain.name)
    for tier, log in ((TIERED.tier, plain), (zstd, packed)):
        with bucket_of(tier.parent) as running:
            address, _, store = running.address(tier.name, opened=True).partition("?")
            folder = f"{address}/{log.parent.relative_to(tier)}"
            shown = folder.replace("key:secret@", "")
            for kind in ("log", "index", "timeindex"):
                reported = called("dump", "--print-data-log", f"{folder}/{log.stem}.{kind}?{store}")
                expected = called("dump", "--print-data-log", f"{local}.{kind}").stdout
                assert reported.stdout == expected.replace(f"{local}.".encode(), f"{shown}/{log.stem}.".encode()), kind
                assert b"secret" not in reported.stdout + reported.stderr
            whole = called("dump", "--from-offset", "0", f"{folder}?{store}").stdout.decode()
            named = [line.rpartition("/")[2] for line in whole.splitlines() if line.startswith("Dumping ")]
            assert named == sorted(each.name for each in log.parent.glob("*.log"))
            for words, sentence in (
                (f"{folder}/nothing.log?{store}", f"there is no file 'nothing.log' in s3://{BUCKET}/{tier.name}"),
                (f"{address}/nowhere?{store}", f"s3://{BUCKET}/{tier.name}/nowhere: there is no such file or folder"),
            ):
                done = called("dump", words, check=False)
                assert sentence in done.stderr.decode()
                assert b"secret" not in done.stderr


@pytest.mark.parametrize("name", ["b", "b#c", "b c", "100%", "ä"])
def test_a_folder_has_any_name(name):
    """Regression: a # in a folder's name began the part of an address that no store gets."""
    assert split(f"s3://bucket/{name}/x.log?region=q") == (f"s3://bucket/{name}?region=q", "x.log")
