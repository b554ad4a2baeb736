"""All valid batches of a file, in whatever order, and what lies between them: against what was put there."""

import random

import pytest

from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.log.batch_runs import BatchRun, Damage
from kafkafs.log.scattered import scattered_batches
from tests.log.making import made


@pytest.fixture
def walked(tmp_path):
    """Writes bytes and walks them: (position, size, is valid) of each batch and of all that is none."""

    def walk(data: bytes) -> list[tuple[int, int, bool]]:
        (tmp_path / "file").write_bytes(data)
        file, found = LocalDirectory(str(tmp_path)).open_now("file"), []
        for item in scattered_batches(file, file.size, 1 << 31):
            if isinstance(item, Damage):
                found.append((item.position, item.size, False))
            else:
                assert isinstance(item, BatchRun)
                for row in item.rows:
                    at = int(row["position"])
                    assert bytes(item.data[at - item.position :][: int(row["size"])]) == data[at : at + row["size"]]
                    found.append((at, int(row["size"]), True))
        return found

    return walk


@pytest.mark.parametrize("seed", range(40))
def test_every_valid_batch_comes_once_and_all_bytes_are_accounted_for(walked, seed):
    """Batches in random order and twice; between them rubbish, zeros, damaged and torn ones."""
    draw = random.Random(seed)
    data, wanted, bad = b"", [], 0
    for _ in range(draw.randrange(1, 25)):
        batch = made(draw.randrange(50), [draw.randrange(1000)] * draw.randrange(1, 4), size=draw.randrange(3000)).data
        kind = draw.randrange(9)
        if kind < 5:
            wanted.append((len(data), len(batch), True))
        elif kind == 5:
            batch = draw.randbytes(draw.randrange(1, 200))
        elif kind == 6:
            batch = bytes(draw.randrange(1, 5000))
        elif kind == 7:
            batch = batch[: draw.randrange(1, len(batch) - 3)]  # its last byte is what the next one begins with
        else:
            at = draw.randrange(21, len(batch))
            batch = batch[:at] + bytes([batch[at] ^ 1]) + batch[at + 1 :]
        bad += len(batch) if kind >= 5 else 0
        data += batch
    found = walked(data)
    assert [each for each in found if each[2]] == wanted
    assert sum(size for _, size, is_valid in found if not is_valid) == bad
    assert [position for position, *_ in found] == sorted(position for position, *_ in found)


def test_batches_inside_the_value_of_a_damaged_one_are_not_the_logs(walked):
    """A topic can hold whole batches as values."""
    from tests.format.batch_maker import v2_batch
    from tests.format.golden import Record

    inner = made(7, [1]).data
    outer = bytearray(v2_batch([Record(0, 1, 0, b"k", inner)]))
    outer[-3] ^= 1
    before, behind = made(0, [1]).data, made(9, [1]).data
    assert walked(before + outer + behind) == [
        (0, len(before), True), (len(before), len(outer), False), (len(before) + len(outer), len(behind), True),
    ]  # fmt: skip


def test_nothing_comes_of_nothing(walked):
    assert walked(b"") == []
    assert walked(bytes(100)) == [(0, 100, False)]
