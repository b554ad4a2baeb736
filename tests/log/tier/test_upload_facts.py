"""What uploads tell, read once each."""

from pathlib import Path

import pytest

from kafkafs.disk.chunk_cache import ChunkCache
from kafkafs.disk.data_file import DiskOptions
from kafkafs.disk.objects import DirectoryObjects
from kafkafs.format.tiers.tier_names import TierPartition
from kafkafs.log.tier.layouts import LocalTiered
from kafkafs.log.tier.opening import ObjectFiles, Upload
from kafkafs.log.tier.upload_facts import UploadFacts, newest_lineage
from tests.log.tier.lives import TOPIC_ID, Past
from tests.log.tier.test_lives import cut

PARTITION = TierPartition("t", 0, TOPIC_ID)


class Counting(LocalTiered):
    """Counts what is asked of it."""

    asked = 0

    def completed(self, upload: Upload) -> Upload:
        self.asked += 1
        return super().completed(upload)


def layout_of(place: Path, past: Past) -> Counting:
    objects = DirectoryObjects(str(past.write_tier(place)), DiskOptions())
    return Counting(ObjectFiles(objects, ChunkCache(), DiskOptions()))


def test_epochs_and_ends_are_those_of_the_logs_and_are_read_once(tmp_path):
    past = cut()
    layout, facts = layout_of(tmp_path, past), UploadFacts()
    for _ in range(2):
        found = facts.with_ends(layout, facts.completed(layout, layout.uploads(PARTITION)))
        assert {(each.base_offset, each.end_offset, each.epochs) for each in found} == {
            (each.base, each.stop - 1, each.epochs) for each in past.uploads
        }
    assert layout.asked == len(past.uploads)


@pytest.mark.parametrize("data", [b"", b"\0" * 500, b"noise" * 100])
def test_a_log_without_a_batch_is_trouble_up_to_where_its_indexes_go(tmp_path, data):
    layout, facts = layout_of(tmp_path, cut()), UploadFacts()
    first = min(tmp_path.rglob("*.log"))
    first.write_bytes(data)
    found = facts.with_ends(layout, layout.uploads(PARTITION))
    assert found[0].end_offset == 29
    assert found[0].trouble == f"{found[0].object!r} has no batch that can be read"


def test_the_newest_upload_tells_the_lineage(tmp_path):
    past = cut()
    layout = layout_of(tmp_path, past)
    uploads = UploadFacts().completed(layout, layout.uploads(PARTITION))
    assert newest_lineage(layout, PARTITION, uploads) == ((0, 0), (6, 50))
    assert newest_lineage(layout, PARTITION, []) == ()


def test_the_lineage_of_thousands_of_lost_uploads_is_reported(tmp_path):
    """Regression: each lost upload took a call inside the one before, and 1,000 of them ended in a traceback."""
    lost = [Upload(base, str(base), {}, epochs=((base // 500, base),), trouble="lost") for base in range(3000)]
    found = newest_lineage(layout_of(tmp_path, cut()), PARTITION, lost)
    assert found == tuple((epoch, 500 * epoch) for epoch in range(6))
