"""What a tier costs, and when it is listed anew."""

from kafkafs.disk.objects import DirectoryObjects
from kafkafs.log.options import TierSource
from tests.kafka import aiven
from tests.kafka.tiered import Tiered
from tests.view.trees import cat, tree

TIERED = Tiered()


def test_a_cold_point_takes_few_requests(tmp_path, monkeypatch):
    """Its manifest, its indexes, and one chunk of that segment alone, or two."""
    monkeypatch.setattr(aiven, "CHUNK", 20_000)
    left = tree(TIERED.left, tiered=TierSource(str(aiven.write(TIERED, tmp_path / "tier", compress=True))))
    cat(left, "orders-0/by-offset/3.jsonl")  # the partition is listed
    asked: list[str] = []
    read = DirectoryObjects.read

    def counted(self: DirectoryObjects, key: str, at: int, size: int) -> bytes:
        asked.append(key)
        return read(self, key, at, size)

    monkeypatch.setattr(DirectoryObjects, "read", counted)
    cat(left, "orders-0/by-offset/1500.jsonl")
    assert 3 <= len(asked) <= 4, asked
    assert len({key.rpartition("/")[2][:43] for key in asked}) == 1
