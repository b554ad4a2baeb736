"""Keys in one partition: the last record and the history, against a plain dictionary over what a consumer gets."""

import os
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from kafkafs.disk.blocking import time_slice
from kafkafs.disk.budget import Budget
from kafkafs.errors import CorruptData, NotFound, TooLarge, Unfinished, Vanished
from kafkafs.log.look import Reader
from kafkafs.log.partition import Partition
from kafkafs.search.partition_keys import KEY_MEMORY, PartitionKeys
from tests.counting import counted
from tests.format.batch_maker import v2_around, v2_batch
from tests.format.golden import Record
from tests.kafka.dataset import Dataset, Isolation
from tests.log.making import Made, partition_of, spread, write_partition, write_start
from tests.log.old_clients import each_offset_once, log_of_old_clients
from tests.log.reading import reader, rows_of
from tests.log.transactional import TRANSACTIONAL, data, marker
from tests.mounting import wait_until

ISOLATIONS: tuple[Isolation, ...] = ("read_uncommitted", "read_committed")


def batch(base: int, keys: Iterable[bytes | None], **how: object) -> Made:
    """A batch with a record for each key; values tell the offset."""
    records = tuple(Record(base + at, 1 + at, 0, key, b"v%d" % (base + at)) for at, key in enumerate(keys))
    return Made(v2_batch(records, **how), records)  # type: ignore[arg-type]


def last_of(keys: PartitionKeys, seen: Reader, key: bytes) -> int | None:
    """The offset of the key's last record."""
    try:
        record = keys.last(seen, key)
    except NotFound:
        return None
    assert bytes(record.record.key(0) or b"") == key
    return record.offset


def history_of(keys: PartitionKeys, seen: Reader, key: bytes) -> list[int]:
    found = keys.history(seen, key, seen.log.start_offset, seen.visible_end)
    return [row.offset for piece in found for row in rows_of(piece)]


def assert_like_a_dictionary(keys: PartitionKeys, seen: Reader, step: int = 1) -> None:
    """Every key of a log, or every so many, and some that are none."""
    model: dict[bytes, list[int]] = {}
    for piece in seen.records(seen.log.start_offset):
        for row in rows_of(piece):
            if row.key is not None:
                model.setdefault(row.key, []).append(row.offset)
    for key in list(model)[::step]:
        assert last_of(keys, seen, key) == model[key][-1], key
    for key in list(model)[:20]:
        assert history_of(keys, seen, key) == model[key]
    for key in (b"no such key", b"x" * 10_000):
        if key not in model:
            assert last_of(keys, seen, key) is None
            assert history_of(keys, seen, key) == []


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_every_key_of_real_logs(dataset: Dataset, isolation):
    """Formats v0 to v2, all codecs, compaction, transactions: what a consumer got last for each key."""
    for name in dataset.partitions(internal=True):
        log = partition_of(dataset.path, name.directory).log()
        seen, keys = reader(log, isolation=isolation), PartitionKeys(Budget(KEY_MEMORY))
        model = {}
        for record in dataset.records(*name, isolation):
            if record.key is not None:
                model[record.key] = record.offset
        for key in random.Random(1).sample(sorted(model), min(len(model), 200)):
            assert last_of(keys, seen, key) == model[key], (name, key)
        assert last_of(keys, seen, b"\0no such key") is None


def test_keys_of_all_kinds(tmp_path):
    """Empty, null, alike but for the end, long, and shared by all: a null key is no key."""
    kinds = [b"", None, b"a", b"a\0", b"a" * 7, b"a" * 8, b"a" * 9, b"\xff\xfe", b"k" * 10_000, b"/..", b"a"]
    write_partition(tmp_path, {0: [batch(0, kinds)], 11: [batch(11, kinds[:3])]})
    assert_like_a_dictionary(PartitionKeys(Budget(KEY_MEMORY)), reader(partition_of(tmp_path).log()))


def test_a_second_question_reads_one_record(tmp_path):
    """The log is scanned once, and only as far back as the answer."""
    write_partition(
        tmp_path, spread([batch(at * 100, [b"%d" % (at * 7 + i) for i in range(100)]) for at in range(50)], 5)
    )
    seen, keys = reader(partition_of(tmp_path).log()), PartitionKeys(Budget(KEY_MEMORY))
    _, first = counted(lambda: last_of(keys, seen, b"442"))
    _, again = counted(lambda: last_of(keys, seen, b"441"))
    _, missing = counted(lambda: last_of(keys, seen, b"none"))
    _, missed = counted(lambda: last_of(keys, seen, b"none"))
    assert 0 < again < first < missing
    assert missed == 0
    assert_like_a_dictionary(keys, seen)


def test_a_history_goes_on_past_a_segment_without_the_key_that_is_gone(tmp_path):
    """Regression: it opened each segment as it came there, to see whether it may be read, also one to be left out."""
    directory = write_partition(tmp_path, {at: [batch(at, [b"a" if at in (0, 4) else b"b"])] for at in range(6)})
    partition = partition_of(tmp_path)
    seen, keys = reader(partition.log()), PartitionKeys(Budget(KEY_MEMORY))
    keys.learn(seen)
    found = keys.history(seen, b"a", 0, 6)
    assert rows_of(next(found))[0].offset == 0
    for file in directory.glob(f"{2:020}.*"):
        file.unlink()
    partition.root.forget_cached()
    assert [row.offset for piece in found for row in rows_of(piece)] == [4]


def grow(path: Path, base: int, made: Made) -> None:
    with open(path / f"{base:020}.log", "ab") as file:
        file.write(made.data)


def fresh(partition: Partition, isolation: str = "read_uncommitted") -> Reader:
    partition.look_again()
    return reader(partition.log(), isolation=isolation)


def test_what_is_appended_is_followed_across_a_roll(tmp_path):
    """A log grows, rolls, and grows on; nothing is scanned twice, as what was scanned still stands."""
    path = write_partition(tmp_path, {0: [batch(0, [b"a", b"b"])]}, indexed=False)
    partition, keys = partition_of(tmp_path), PartitionKeys(Budget(KEY_MEMORY))
    assert last_of(keys, fresh(partition), b"a") == 0
    chance = random.Random(3)
    base = 0
    for number in range(2, 400, 2):
        if number % 50 == 0:
            base = number
        grow(path, base, batch(number, [b"%d" % chance.randrange(30), b"a"]))
        seen = fresh(partition)
        assert last_of(keys, seen, b"a") == number + 1
    assert_like_a_dictionary(keys, seen)
    assert len(keys.known) == 8


def test_a_truncated_log_that_grew_again(tmp_path):
    """The keys of what was cut off are gone, and those that took its place are found."""
    path = write_partition(tmp_path, {0: [batch(0, [b"a"]), batch(1, [b"b"])]}, indexed=False)
    partition, keys = partition_of(tmp_path), PartitionKeys(Budget(KEY_MEMORY))
    assert last_of(keys, fresh(partition), b"b") == 1
    with open(path / f"{0:020}.log", "r+b") as file:
        file.truncate(len(batch(0, [b"a"]).data))
    grow(path, 0, batch(1, [b"c"]))
    grow(path, 0, batch(2, [b"d"]))
    seen = fresh(partition)
    assert [last_of(keys, seen, key) for key in (b"a", b"b", b"c", b"d")] == [0, None, 1, 2]


def test_what_takes_the_place_of_a_marker_that_was_cut_off(tmp_path):
    """A scan passes over control records, so it has to look at them, too, to know that a log is as it was."""
    log = [batch(0, [b"a"]), data(1, 7), marker(2, 7, True)]
    path = write_partition(tmp_path, {0: log}, indexed=False)
    partition, keys = partition_of(tmp_path), PartitionKeys(Budget(KEY_MEMORY))
    assert [last_of(keys, fresh(partition), key) for key in (b"a", b"b")] == [0, None]
    os.truncate(path / f"{0:020}.log", len(log[0].data) + len(log[1].data))
    grow(path, 0, batch(2, [b"b"]))
    assert [last_of(keys, fresh(partition), key) for key in (b"a", b"b")] == [0, 2]


def test_a_closed_segment_that_grows_again(tmp_path):
    """A follower cuts its log where a segment ends, and goes on in the one before: its rows were thought complete."""
    path = write_partition(tmp_path, {0: [batch(0, [b"a", b"b"])], 2: [batch(2, [b"a"])]}, indexed=False)
    partition, keys = partition_of(tmp_path), PartitionKeys(Budget(KEY_MEMORY))
    assert_like_a_dictionary(keys, fresh(partition))
    (path / f"{2:020}.log").unlink()
    grow(path, 0, batch(2, [b"c"]))
    grow(path, 0, batch(3, [b"b"]))
    seen = fresh(partition)
    assert [last_of(keys, seen, key) for key in (b"a", b"b", b"c")] == [0, 3, 2]
    assert_like_a_dictionary(keys, seen)


@pytest.mark.parametrize("rolls", [False, True])
def test_who_looked_before_another_is_asked_to_look_again(tmp_path, rolls):
    """Of each key the last record is known only, and that one is not in the log of the one who looked before: it got
    the record of an older segment, or none."""
    path = write_partition(tmp_path, {0: [batch(0, [b"a"])], 1: [batch(1, [b"a", b"b"])]}, indexed=False)
    partition, keys = partition_of(tmp_path), PartitionKeys(Budget(KEY_MEMORY))
    before = fresh(partition)
    assert last_of(keys, before, b"b") == 2
    grow(path, 1, batch(3, [b"a", b"b"]))
    if rolls:
        grow(path, 5, batch(5, [b"c"]))
    assert last_of(keys, fresh(partition), b"a") == 3
    for key in (b"a", b"b"):
        with pytest.raises(Vanished):
            keys.last(before, key)
    assert partition.answer(lambda log: last_of(keys, reader(log), b"a")) == 3


def test_keys_of_a_compacted_segment_are_found_in_its_new_file(tmp_path):
    """The cleaner's file takes the place of the one that was scanned."""
    path = write_partition(tmp_path, {0: [batch(0, [b"a", b"b"]), batch(2, [b"a"])], 3: [batch(3, [b"c"])]})
    partition, keys = partition_of(tmp_path), PartitionKeys(Budget(KEY_MEMORY))
    assert history_of(keys, fresh(partition), b"a") == [0, 2]
    assert last_of(keys, fresh(partition), b"b") == 1
    (path / "new").write_bytes(batch(2, [b"a"]).data)
    (path / "new").replace(path / f"{0:020}.log")
    for name in ("index", "timeindex"):
        (path / f"{0:020}.{name}").unlink()
    seen = fresh(partition)
    assert [last_of(keys, seen, key) for key in (b"a", b"b", b"c")] == [2, None, 3]
    assert history_of(keys, seen, b"a") == [2]


def test_records_below_the_log_start_are_gone(tmp_path):
    write_partition(tmp_path, {0: [batch(0, [b"a", b"b", b"a"])]})
    partition, keys = partition_of(tmp_path), PartitionKeys(Budget(KEY_MEMORY))
    assert last_of(keys, fresh(partition), b"b") == 1
    write_start(tmp_path, 2)
    wait_until(lambda: fresh(partition).log.start_offset == 2)
    seen = fresh(partition)
    for known in (keys, PartitionKeys(Budget(KEY_MEMORY))):
        assert last_of(known, seen, b"b") is None
        assert last_of(known, seen, b"a") == 2


def test_an_aborted_record_gives_way_to_the_one_before(tmp_path):
    """read_committed: of a key the last record that is committed, as soon as that is known."""
    transactional = v2_around(b"\x10\0\0\0\x02a\x02x\0", 1, 1, header=(TRANSACTIONAL, 0, 5, 5, 7, 0, 0, 1))
    log = [batch(0, [b"a"]), Made(transactional, ()), batch(2, [b"b"])]
    path = write_partition(tmp_path, {0: log}, indexed=False)
    partition, keys = partition_of(tmp_path), PartitionKeys(Budget(KEY_MEMORY))
    assert [last_of(keys, fresh(partition, "read_committed"), key) for key in (b"a", b"b")] == [0, None]
    grow(path, 0, marker(3, 7, False))
    assert [last_of(keys, fresh(partition, "read_committed"), key) for key in (b"a", b"b")] == [0, 2]
    assert last_of(PartitionKeys(Budget(KEY_MEMORY)), fresh(partition), b"a") == 1


def test_a_corrupt_batch_hides_only_its_own_keys(tmp_path):
    """One bad sector must not take all keys of a partition away; a history says where it cannot go on."""
    path = write_partition(tmp_path, {0: [batch(0, [b"a"]), batch(1, [b"a", b"b"]), batch(3, [b"c"])]})
    data = bytearray((path / f"{0:020}.log").read_bytes())
    data[len(batch(0, [b"a"]).data) + 70] ^= 1
    (path / f"{0:020}.log").write_bytes(data)
    seen, keys = reader(partition_of(tmp_path).log()), PartitionKeys(Budget(KEY_MEMORY))
    assert [last_of(keys, seen, key) for key in (b"a", b"b", b"c")] == [0, None, 3]
    for key in (b"a", b"no such key"):
        with pytest.raises(CorruptData):
            history_of(keys, seen, key)
    assert history_of(keys, reader(seen.log, corrupt_skip=True), b"a") == [0]


def test_a_batch_too_large_to_unpack_may_hold_any_key(tmp_path):
    """Who asks is told so, unless the answer stands behind it."""
    large = batch(1, [b"b" * 3000])
    write_partition(tmp_path, {0: [batch(0, [b"a"]), large, batch(2, [b"c"])]})
    seen, keys = reader(partition_of(tmp_path).log(), max_batch=1000), PartitionKeys(Budget(KEY_MEMORY))
    assert last_of(keys, seen, b"c") == 2
    for key in (b"a", b"no such key"):
        with pytest.raises(TooLarge):
            keys.last(seen, key)


def test_keys_for_which_there_is_no_memory_are_found_nevertheless(tmp_path):
    """What does not fit is scanned again; what was asked in parts comes to an end."""
    batches = [batch(at * 50, [b"%d" % (at * 50 + i) for i in range(50)]) for at in range(100)]
    write_partition(tmp_path, spread(batches, 5))
    seen, keys = reader(partition_of(tmp_path).log()), PartitionKeys(Budget(4000))
    for key in (b"0", b"1234", b"4999"):
        assert last_of(keys, seen, key) == int(key)
    assert sum(known.size for known in keys.known.values()) <= 4000
    attempts = 0
    while attempts < 1000:
        attempts += 1
        try:
            with time_slice(0):
                assert last_of(keys, seen, b"77") == 77
            break
        except Unfinished:
            continue
    assert 10 < attempts < 1000


def test_a_long_scan_is_done_in_parts(tmp_path):
    """A thread of the mount is lent for a moment only; the next call goes on where the last one stopped."""
    batches = [batch(at * 50, [b"%d" % (at * 50 + i) for i in range(50)]) for at in range(200)]
    write_partition(tmp_path, {0: batches})
    seen, keys, attempts, found = reader(partition_of(tmp_path).log()), PartitionKeys(Budget(KEY_MEMORY)), 0, None
    while found is None:
        attempts += 1
        try:
            with time_slice(0):
                found = last_of(keys, seen, b"3")
        except Unfinished:
            pass
    assert (found, attempts > 1) == (3, True)
    assert_like_a_dictionary(keys, seen, step=7)


@pytest.mark.parametrize("per_segment", [10, 60])
@pytest.mark.parametrize("seed", range(3))
def test_batches_of_old_clients_give_each_offset_once(tmp_path: Path, seed: int, per_segment: int) -> None:
    batches = log_of_old_clients(random.Random(seed), 60)
    write_partition(tmp_path, spread(batches, per_segment))
    seen, keys = reader(partition_of(tmp_path).log()), PartitionKeys(Budget(1 << 24))
    for number in range(7):
        key = b"k%d" % number
        wanted = [row.offset for row in each_offset_once(batches) if row.key == key]
        assert history_of(keys, seen, key) == wanted
        assert last_of(keys, seen, key) == wanted[-1]
