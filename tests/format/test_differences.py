"""Records of two replicas side by side, compared by a kernel: which of those that both have is another one."""

from kafkafs.format.batch import Batches, walk
from kafkafs.format.records import Records, decode
from kafkafs.log.divergence import unlike_record
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
