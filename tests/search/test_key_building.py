"""Key indexes of real logs: built, used in both isolation levels, and what has none."""

import random
from collections.abc import Sequence
from pathlib import Path

from kafkafs.disk.budget import Budget
from kafkafs.disk.directory import Directory
from kafkafs.format.batch import walk
from kafkafs.log.log import Log
from kafkafs.log.transactions import OpenTransactions
from kafkafs.search.key_building import build
from kafkafs.search.key_indexes import KeyIndexes, identity
from kafkafs.search.partition_keys import KEY_MEMORY, PartitionKeys
from tests.counting import counted
from tests.format.batch_maker import v2_around
from tests.kafka.dataset import Dataset
from tests.log.making import Made, partition_of, write_partition
from tests.log.reading import reader
from tests.log.transactional import TRANSACTIONAL, data, marker
from tests.search.test_partition_keys import ISOLATIONS, assert_like_a_dictionary, batch, last_of


def write_indexes(log: Log, place: Path) -> list[str]:
    """What `kafkafs reindex --keys` leaves of one partition: the names of its files."""
    names = []
    (place / log.name.directory).mkdir(parents=True, exist_ok=True)
    for segment in log.segments:
        own = identity(segment)
        made = build(log, segment, own, OpenTransactions())
        if made is not None:
            (place / log.name.directory / own.file_name).write_bytes(made)
            names.append(own.file_name)
    return names


def indexed(log: Log, place: Path) -> PartitionKeys:
    return PartitionKeys(Budget(KEY_MEMORY), KeyIndexes(Directory(str(place)), log.name.directory))


def test_indexes_of_real_logs_answer_as_a_scan_does(stopped: Dataset, tmp_path):
    """Every format and codec, compaction, transactions: both isolation levels, from one file a segment."""
    for name in stopped.partitions():
        log = partition_of(stopped.path, name.directory).log()
        write_indexes(log, tmp_path)
        for isolation in ISOLATIONS:
            model = {each.key: each.offset for each in stopped.records(*name, isolation) if each.key is not None}
            seen, keys = reader(log, isolation=isolation), indexed(log, tmp_path)
            for key in random.Random(2).sample(sorted(model), min(len(model), 60)):
                assert last_of(keys, seen, key) == model[key], (name, isolation, key)
            assert last_of(keys, seen, b"\0no such key") is None


def segments(count: int = 8) -> dict[int, Sequence[Made]]:
    """Segments of 300 records with some keys of their own and some that all share."""
    made: dict[int, Sequence[Made]] = {}
    for number in range(count):
        base = number * 300
        made[base] = [
            batch(base + at * 100, [b"%d" % ((base + at * 100 + i) * 7 % 1700) for i in range(100)]) for at in range(3)
        ]
    return made


def test_a_lookup_with_indexes_reads_next_to_nothing(tmp_path):
    """Not even the first one: no closed segment is scanned."""
    write_partition(tmp_path / "data", segments())
    log = partition_of(tmp_path / "data").log()
    assert len(write_indexes(log, tmp_path / "indexes")) == 7
    seen, keys = reader(log), indexed(log, tmp_path / "indexes")
    assert last_of(keys, seen, b"none") is None
    assert all(known.has_index for base, known in keys._known.items() if base < 2100)
    _, missing = counted(lambda: last_of(keys, seen, b"none"))
    assert missing <= 7 * 4096
    assert_like_a_dictionary(keys, seen)


def test_a_segment_with_an_open_transaction_has_no_index(tmp_path):
    """What of it will be visible is not settled."""
    path = write_partition(tmp_path, {0: [batch(0, [b"a"]), data(1, 7)], 2: [batch(2, [b"b"])]}, indexed=False)
    assert write_indexes(partition_of(tmp_path).log(), tmp_path / "i") == []
    with open(path / f"{2:020}.log", "ab") as file:
        file.write(marker(3, 7, True).data)
    assert len(write_indexes(partition_of(tmp_path).log(), tmp_path / "i")) == 1


def test_an_aborted_record_does_not_hide_a_committed_one(tmp_path):
    aborted = v2_around(b"\x10\0\0\0\x02a\x02x\0", 1, 1, header=(TRANSACTIONAL, 0, 5, 5, 7, 0, 0, 1))
    assert walk(aborted, 0).rows["valid"][0] == 1
    write_partition(tmp_path, {0: [batch(0, [b"a"]), Made(aborted, ()), marker(2, 7, False)], 3: [batch(3, [b"b"])]})
    log = partition_of(tmp_path).log()
    assert len(write_indexes(log, tmp_path / "i")) == 1
    for isolation, offset in (("read_uncommitted", 1), ("read_committed", 0)):
        assert last_of(indexed(log, tmp_path / "i"), reader(log, isolation=isolation), b"a") == offset


def test_a_corrupt_segment_has_no_index(tmp_path):
    """A scan says what is wrong, and answers what it can."""
    path = write_partition(tmp_path / "data", segments(3))
    content = bytearray((path / f"{300:020}.log").read_bytes())
    content[100] ^= 1
    (path / f"{300:020}.log").write_bytes(content)
    assert [name[:20] for name in write_indexes(partition_of(tmp_path / "data").log(), tmp_path / "i")] == [f"{0:020}"]
