"""`audit --deep`: nothing is wrong with what brokers write, and what a true CRC hides is found."""

import subprocess
from pathlib import Path

import pytest

from kafkafs.spark.audit.audit_job import clean_of
from kafkafs.spark.audit.findings import Finding
from kafkafs.spark.audit.segment_check import check_segment
from kafkafs.spark.segment_units import segments_of
from tests.format.batch_maker import record_bytes, v2_around
from tests.format.golden import Record
from tests.kafka.dataset import Dataset
from tests.log.making import Made, made, write_partition
from tests.log.old_clients import batch
from tests.mounting import KAFKAFS, mounting


def look(path: Path) -> list[Finding]:
    """What each segment by itself gives."""
    clean = clean_of([path])
    return [finding for unit in segments_of([path]) for finding in check_segment(unit, clean, deep=True).findings]


def test_nothing_is_wrong_with_what_brokers_write(dataset: Dataset):
    """Of all releases and codecs, compacted and transactional topics among them."""
    assert look(dataset.path) == []


CONTENT = record_bytes(Record(5, 1_000, 0, b"k", b"v"), 5, 1_000)
LIES = {
    "no gzip": (v2_around(b"no gzip", 1, 5, 5, 1_000, 1_000, 1), "records"),
    "a record too few": (v2_around(CONTENT, 2, 5, 6, 1_000, 1_000), "records"),
    "a byte too many": (v2_around(CONTENT + b"\0", 1, 5, 5, 1_000, 1_000), "records"),
    "a cut record": (v2_around(CONTENT[:-1], 1, 5, 5, 1_000, 1_000), "records"),
    "offsets out of order": (v2_around(2 * CONTENT, 2, 5, 6, 1_000, 1_000), "records"),
    "another time": (v2_around(CONTENT, 1, 5, 5, 1_000, 1_001), "record-timestamp"),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_what_a_true_crc_hides_is_found(name, tmp_path):
    data, kind = LIES[name]
    before, after = made(0, [1, 2, 3, 4, 5]), made(7, [2_000])
    write_partition(tmp_path, {0: [before, Made(data, ()), after]})
    (finding,) = look(tmp_path)
    assert (finding.kind, finding.offset, finding.position) == (kind, 5, len(before.data))
    assert finding.severity == "data loss"
    clean = frozenset[Path]()
    assert [each for unit in segments_of([tmp_path]) for each in check_segment(unit, clean).findings] == []


def test_each_of_two_damaged_batches_side_by_side_is_named(tmp_path):
    """Regression: one finding told of the first alone, as if that had the bytes of both."""
    batches = [made(0, [1, 2]), made(2, [3]), made(3, [4, 5]), made(5, [6])]
    start, size = len(batches[0].data), len(batches[1].data)
    for number in (1, 2):
        data = batches[number].data
        batches[number] = Made(data[:-1] + bytes([data[-1] ^ 1]), ())
    write_partition(tmp_path, {0: batches})
    found = [(each.position, each.offset, each.message) for each in look(tmp_path) if each.kind == "crc"]
    says = "{} bytes hold a batch (offsets {} to {}) whose CRC fails; they own the offsets {} to {}"
    assert found == [
        (start, 2, says.format(size, 2, 2, 2, 2)),
        (start + size, 3, says.format(len(batches[2].data), 3, 4, 3, 4)),
    ]


@pytest.mark.parametrize("deep", [True, False])
def test_a_header_that_merely_states_too_few_offsets_loses_nothing(tmp_path, deep):
    """Old clients wrote it so, and each such batch is named once, with what it claims and what it holds."""
    batches = [batch(2, [2, 3, 4], 0, last=2), batch(4, [4, 5], 1, last=4), batch(5, [5], 2, last=5)]
    write_partition(tmp_path, {0: batches})
    clean = frozenset[Path]()
    found = [each for unit in segments_of([tmp_path]) for each in check_segment(unit, clean, deep=deep).findings]
    assert [(each.kind, each.severity, each.offset) for each in found] == [("last-offset", "note", 2),
                                                                          ("last-offset", "note", 4)]  # fmt: skip
    assert "claims the offsets 2 to 2 and holds records up to 4" in found[0].message


def test_only_a_look_at_records_tells_of_what_compaction_has_left_of_them(tmp_path):
    write_partition(tmp_path, {0: [batch(2, [4], 0, last=2), batch(5, [5], 1, last=5)]})
    assert [(each.kind, each.offset) for each in look(tmp_path)] == [("last-offset", 2)]


def test_a_batch_of_no_records_is_no_finding_whatever_its_codec_says(tmp_path):
    empty = Made(v2_around(b"", 0, 5, 8, 1_000, 1_000, 1), ())
    write_partition(tmp_path, {0: [made(0, [1, 2, 3, 4, 5]), empty, made(9, [2_000])]})
    assert look(tmp_path) == []


def test_a_mount_is_no_data_directory(tmp_path):
    """Its own views would be audited, and found foreign, one by one."""
    data = Dataset("4.3.1", "stopped").copy_to(tmp_path / "data", "binary-0")
    place = tmp_path / "mount"
    place.mkdir()
    with mounting([KAFKAFS, "mount", data, place], place, tmp_path / "log") as mounted:
        done = subprocess.run([KAFKAFS, "audit", mounted.path], capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert done.stderr == f"kafkafs: {str(place)!r} is a mount of kafkafs; name the data directory behind it: {data}\n"
