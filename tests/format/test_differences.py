"""Records of two replicas side by side, compared by a kernel: which of those that both have is another one."""

import itertools
import random

from kafkafs.format.batch import Batches, walk
from kafkafs.format.differences import content_hashes
from kafkafs.format.records import Records, decode
from kafkafs.log.divergence import unlike_record
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.log.making import Made, made


def table(*batches: Made) -> Batches:
    return walk(b"".join(each.data for each in batches), 0).rows


def test_the_first_record_that_is_another_one():
    def piece(*batches: Made) -> tuple[Records, Batches]:
        (found,) = decode(b"".join(each.data for each in batches), 0, table(*batches), 1 << 20)
        assert isinstance(found, Records)
        return found, table(*batches)

    one = piece(made(0, [1, 2, 3]), made(7, [8, 9, 10]))
    assert unlike_record(*one, *piece(made(1, [2]), made(3, [4, 5]), made(8, [9]))) is None
    assert unlike_record(*one, *piece(made(1, [2]), made(8, [9], size=21))) == 8
    assert unlike_record(*one, *piece(made(1, [3]), made(8, [9], size=21))) == 1


def test_records_that_differ_have_different_hashes():
    """Regression: by half of the seeds a null key had the hash of an empty one a millisecond earlier or later, and
    `kafkafs diff --by content` took the two for one record."""
    fields, headers = (None, b"", b"v"), ((), ((b"", None),), ((b"", b""),), ((b"", None), (b"", None)))
    contents = [*itertools.product(range(1000, 1004), fields, fields, headers)]
    data = v2_batch([Record(at, time, 0, key, value, more) for at, (time, key, value, more) in enumerate(contents)])
    (records,) = decode(data, 0, walk(data, 0).rows, 1 << 20)
    assert isinstance(records, Records)
    chance = random.Random(1)
    for _ in range(20):
        assert len({*content_hashes(records, chance.randbytes(16)).tolist()}) == len(contents)
