"""Logs as old clients left them: sound batches whose header states another last offset than their records have.

sarama before 1.18 left the last offset delta at 0, so the broker, which sets the last offset, moved the whole batch up
to it: bases are true last offsets, and records go on behind them into the offsets of later batches.
"""

import gzip
import random
from collections.abc import Iterable, Iterator, Sequence

from tests.format.batch_maker import record_bytes, v2_around
from tests.format.golden import Record
from tests.log.making import Made
from tests.log.reading import Row


def batch(base: int, offsets: Sequence[int], number: int, *, last: int, packed: bool = False) -> Made:
    """A batch with records at these offsets; values tell which batch it is, keys repeat."""
    records = tuple(
        Record(offset, 1_000 + 10 * number + at, 0, b"k%d" % (offset % 7), b"batch %d, record %d" % (number, at))
        for at, offset in enumerate(offsets)
    )
    first = records[0].timestamp if records else 1_000 + 10 * number
    content = b"".join(record_bytes(record, base, first) for record in records)
    newest = records[-1].timestamp if records else first
    data = v2_around(
        gzip.compress(content) if packed else content, len(records), base, last, first, newest, int(packed)
    )
    return Made(data, records)


def log_of_old_clients(chance: random.Random, batches: int, largest: int = 6, compacted: bool = False) -> list[Made]:
    """Batches of an old client and of others, in the order of a log; `compacted`: some records are gone."""
    found, end = [], chance.randrange(3)
    for number in range(batches):
        count = chance.randint(1, largest)
        is_old = chance.random() < 0.7
        base = end + count - 1 if is_old else end
        offsets = [base + at for at in range(count)]
        if compacted:
            offsets = [offset for offset in offsets if chance.random() < 0.5]
        found.append(batch(base, offsets, number, last=end + count - 1, packed=chance.random() < 0.4))
        end += count
    return found


def each_offset_once(batches: Iterable[Made]) -> Iterator[Row]:
    """What Kafka's consumer hands out that reads them from the start: it asks for what follows the last record."""
    seen = -1
    for batch in batches:
        for record in batch.records:
            if record.offset > seen:
                seen = record.offset
                yield Row(record.offset, record.timestamp, record.key, record.value)
