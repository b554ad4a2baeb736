"""Where a log ends, against a naive reading of the file, while it grows, is cut, regrows and holds what is no batch."""

import random
from pathlib import Path

import pytest

from kafkafs.log.segment import Segment
from kafkafs.log.tail import Tail, find_tail
from tests.counting import opened
from tests.log.making import Made, log_of, made, partition_of, write_partition

BATCHES = [made(number * 2, [1000 + number] * 2, size=number * 37 % 300) for number in range(40)]
ENDINGS = [b"", b"\0" * 5, b"\0" * 4000, b"\xff" * 70, made(900, [1]).data[:50], made(900, [1]).data[:-1]]


def segment(data: Path, batches: list[Made], ending: bytes = b"") -> Segment:
    """The only segment of a partition, without an index, whose log has something behind its last batch."""
    directory = write_partition(data, {0: batches}, indexed=False)
    with open(directory / f"{0:020}.log", "ab") as file:
        file.write(ending)
    return log_of(data).segments[-1]


def place(tail: Tail) -> tuple[int, int]:
    return tail.position, tail.end_offset


def model(batches: list[Made]) -> tuple[int, int]:
    return sum(len(batch.data) for batch in batches), batches[-1].last + 1 if batches else 0


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_log_ends_behind_its_last_whole_valid_batch(tmp_path, ending):
    """What a broker preallocated, or had begun to write, is not there yet."""
    for count in (0, 1, 17, 40):
        found = find_tail(segment(tmp_path / str(count), BATCHES[:count], ending), None)
        assert place(found) == model(BATCHES[:count])
        assert (found.last and found.last.base_offset) == (BATCHES[count - 1].base if count else None)


def test_the_end_of_a_short_log_takes_no_index(tmp_path):
    """One read has all of it. A search of 100,000 small partitions would open each index for nothing."""
    write_partition(tmp_path, {0: BATCHES})
    partition = partition_of(tmp_path)
    names = opened(partition.log)
    assert [name for name in names if name.startswith("0")] == [f"{0:020}.log"]
    assert partition.log().end_offset == model(BATCHES)[1]


def test_a_last_batch_with_a_wrong_sum_is_not_there(tmp_path):
    one = segment(tmp_path, BATCHES[:9])
    path = tmp_path / "t-0" / one.log_name
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert place(find_tail(one, None)) == model(BATCHES[:8])


def test_a_batch_behind_damage_is_the_end(tmp_path):
    """Acknowledged records stand there: the damage before them is a corrupt batch, not the log's end."""
    damaged = [*BATCHES[:9], Made(b"\xff" * len(BATCHES[9].data), ()), *BATCHES[10:12]]
    found = find_tail(segment(tmp_path, damaged), None)
    assert place(found) == (sum(len(batch.data) for batch in damaged), 24)


def test_a_tail_taken_up_again_is_the_one_found_again(tmp_path):
    """A follower asks ten times a second; a cut and a regrowth must not be taken for growth."""
    chance = random.Random(3)
    one, written, known = segment(tmp_path, []), list[Made](), None
    path = tmp_path / "t-0" / one.log_name
    for _ in range(60):
        before, kept = list(written), len(written)
        if written and chance.random() < 0.3:
            kept = chance.randrange(len(written))
            del written[kept:]
        first = written[-1].last + 1 if written else 0
        for number in range(chance.randrange(4)):
            written.append(made(first + number, [chance.randrange(10**6)], size=chance.randrange(100)))
        with open(path, "r+b") as file:  # in place, as a broker does
            file.truncate(sum(len(batch.data) for batch in written[:kept]))
            file.seek(0, 2)
            file.write(b"".join(batch.data for batch in written[kept:]) + chance.choice(ENDINGS[:3]))
        tail = find_tail(one, known)
        assert place(tail) == model(written) == place(find_tail(one, None))
        if known is not None and kept < len(before):
            assert not tail.grew_from(known)
        if known is not None and kept == len(before) and before:
            assert tail.grew_from(known)
        known = tail
        with open(path, "r+b") as file:
            file.truncate(tail.position)
