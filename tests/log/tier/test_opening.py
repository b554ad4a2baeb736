"""Objects that are cut, altered or gone: an error there, and nowhere else."""

import base64
import json
import os
import tracemalloc

import pytest
import zstandard

from kafkafs.disk.bucket import BucketObjects
from kafkafs.errors import CorruptData, DiskError
from kafkafs.log import refetching
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions, TierSource
from tests.kafka import aiven
from tests.kafka.buckets import KEYS, bucket_of
from tests.kafka.tiered import Tiered
from tests.view.trees import cat, tree

TIERED = Tiered()


@pytest.mark.parametrize("damage", ["cut", "longer", "altered", "manifest", "bomb", "no indexes"])
def test_damaged_objects_are_errors_there_and_nowhere_else(tmp_path, damage):
    place = aiven.write(TIERED.tier, tmp_path / "tier", compress=True)
    folder = next(place.glob("orders-*/0"))
    log = sorted(folder.glob("*.log"))[1]
    base = int(log.name[:20])
    if damage == "cut":
        log.write_bytes(log.read_bytes()[:-10])
    elif damage == "longer":
        log.write_bytes(log.read_bytes() + bytes(10))
    elif damage == "bomb":  # 64 MiB in each of its chunks, of which some bytes are stated
        reported = json.loads(log.with_suffix(".rsm-manifest").read_bytes())
        piece = zstandard.ZstdCompressor().compress(bytes(64 << 20))
        count = -(-reported["chunkIndex"]["originalFileSize"] // aiven.CHUNK)
        reported["chunkIndex"]["transformedChunks"] = base64.b64encode(aiven.packed([len(piece)] * count)).decode()
        log.with_suffix(".rsm-manifest").write_text(json.dumps(reported))
        log.write_bytes(piece * count)
    elif damage == "altered":
        data = bytearray(log.read_bytes())
        data[10:40] = bytes(30)
        log.write_bytes(data)
    elif damage == "manifest":
        log.with_suffix(".rsm-manifest").write_bytes(b"{}")
    else:
        log.with_suffix(".indexes").unlink()
    left, whole = tree(TIERED.left, tiered=TierSource(str(place))), tree(TIERED.whole)
    if damage == "no indexes":  # a hint: it costs time only
        assert cat(left, f"orders-0/by-offset/{base + 3}.jsonl") == cat(whole, f"orders-0/by-offset/{base + 3}.jsonl")
    else:
        tracemalloc.start()
        with pytest.raises(DiskError):
            cat(left, f"orders-0/by-offset/{base + 3}.jsonl")
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
        tracemalloc.stop()
    assert cat(left, "orders-0/by-offset/0..100.jsonl") == cat(whole, "orders-0/by-offset/0..100.jsonl")
    later = f"orders-0/by-offset/{base + 1000}...jsonl"
    assert cat(left, later) == cat(whole, later)


@pytest.mark.parametrize("kind", ["bucket local", "bucket zstd"])
def test_a_chunk_that_arrived_damaged_is_fetched_again(tier_sources, kind, monkeypatch):
    """Regression: it stayed in the cache, and its records were an error until it was pushed out."""
    whole, left = tree(TIERED.whole), tree(TIERED.left, tiered=tier_sources[kind])
    read, spoilt = BucketObjects.read, list[str]()

    def spoiling(self: BucketObjects, key: str, position: int, size: int) -> bytes:
        """Each object's log is damaged the first time."""
        data = read(self, key, position, size)
        if key.endswith(".log") and key not in spoilt:
            spoilt.append(key)
            return data[: size // 2] + bytes(8) + data[size // 2 + 8 :]
        return data

    monkeypatch.setattr(BucketObjects, "read", spoiling)
    for path in ("orders-0/by-offset/100.jsonl", "orders-1/by-offset/0..900.jsonl", "payments-0/by-offset/0...jsonl"):
        assert cat(left, path) == cat(whole, path)
    assert spoilt


@pytest.mark.parametrize("kind", ["bucket local", "bucket zstd"])
def test_a_chunk_that_arrived_damaged_twice_is_fetched_again_later(tier_sources, kind, monkeypatch):
    """Regression: it was an error until it was pushed out of the cache. A damaged manifest was kept, too."""
    now = [1000.0]
    monkeypatch.setattr(refetching, "monotonic", lambda: now[0])
    whole, read, spoilt, asked = tree(TIERED.whole), BucketObjects.read, [""], list[str]()
    path = "orders-1/by-offset/0..400.jsonl"

    def spoiling(self: BucketObjects, key: str, position: int, size: int) -> bytes:
        data = read(self, key, position, size)
        if not (spoilt[0] and key.endswith(spoilt[0])):
            return data
        asked.append(key)
        if spoilt[0] == ".log":
            return data[: size // 2] + bytes(8) + data[size // 2 + 8 :]
        return data.replace(b'"originalFileSize": ', b'"originalFileSize": 1')

    monkeypatch.setattr(BucketObjects, "read", spoiling)
    for spoilt[0] in (".log", ".rsm-manifest")[: 2 if "zstd" in kind else 1]:
        kind_of_object = spoilt[0]
        left = tree(TIERED.left, tiered=tier_sources[kind])
        for _ in range(3):
            with pytest.raises((DiskError, CorruptData)):
                cat(left, path)
        if kind_of_object == ".rsm-manifest":
            assert set(map(asked.count, asked)) == {2}, "not again for readers that come at once"
        spoilt[0] = ""
        now[0] += refetching.AGAIN_S
        assert cat(left, path) == cat(whole, path)
        asked.clear()


@pytest.mark.parametrize(("size", "most"), [(10, 2), (None, 1)])
def test_a_manifest_is_not_asked_for_again_for_what_it_does_not_explain(tmp_path, monkeypatch, size, most):
    """Regression: each reader of a log that is gone or has another size asked for its manifest twice."""
    place = aiven.write(TIERED.tier, tmp_path / "tier/p", compress=True)
    log = sorted(next(place.glob("orders-*/0")).glob("*.log"))[1]
    log.unlink() if size is None else log.write_bytes(log.read_bytes()[:-size])
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    with bucket_of(tmp_path / "tier") as store:
        left = tree(TIERED.left, tiered=TierSource(store.address("p")))
        for offset in range(3):
            with pytest.raises(DiskError):
                cat(left, f"orders-0/by-offset/{int(log.name[:20]) + offset}.jsonl")
        manifest = log.with_suffix(".rsm-manifest").name
        assert 1 <= sum(each.startswith("GET") and manifest in each for each in store.asked) <= most


def test_a_file_in_chunks_has_both_times_of_its_object(tmp_path):
    """Regression: it had the time of change that a writer may set back. The kernel keeps pages by the other one."""
    place = aiven.write(TIERED.tier, tmp_path / "tier", compress=True)
    path = sorted(next(place.glob("orders-*/0")).glob("*.log"))[0]
    os.utime(path, (1e9, 1e9))
    directory = open_data_directory(TIERED.left, ReadOptions(tiered=TierSource(str(place))))
    segment = directory.partition("orders-0").log().segments[0]
    about, own = segment.log().stat(), path.stat()
    assert (about.st_mtime_ns, about.st_ctime_ns) == (own.st_mtime_ns, own.st_ctime_ns)
