"""Many lines at once: kernels write them from the tables of batches and records, with no Python object for either.

The state of a pass is two numbers: `first`, the row that is shown next, and `next_batch`, the first batch whose own
line is still to come. A kernel fills one buffer (`ROOM`), answers how far it came and is called again; it stops early
for a line that is too long for the room, which it then gets (`wanted`), and for a control batch that is not all
markers (`DUMP_ODD`), which goes to `odd`. A buffer is used again once no text in it is held (`format.memory`).
"""

from collections.abc import Callable, Iterator

import numpy as np

from kafkafs.dump.dump_options import DumpOptions
from kafkafs.dump.kafka_decoders import Decoder, as_hexadecimal, as_integer, as_long, as_string
from kafkafs.format import kernels
from kafkafs.format.batch import Batches
from kafkafs.format.memory import Buffers
from kafkafs.format.native.layout import (
    DUMP_BYTES,
    DUMP_CONTENTS,
    DUMP_INTEGER,
    DUMP_KEY,
    DUMP_LONG,
    DUMP_METADATA,
    DUMP_ODD,
    DUMP_STRING,
    DUMP_VALUE,
)
from kafkafs.format.records import Records

_DECODERS: dict[Decoder, int] = {
    as_string: DUMP_STRING,
    as_long: DUMP_LONG,
    as_integer: DUMP_INTEGER,
    as_hexadecimal: DUMP_BYTES,
}
ROOM = 1 << 20
"""Bytes of text in one piece, unless a single line is longer."""

_ROOMS = Buffers(ROOM, keep=4)
Text = bytes | memoryview


def has_kernels(options: DumpOptions) -> bool:
    """True if kernels can show the keys and values in the wanted way."""
    return options.decode_record is None and options.decode_key in _DECODERS and options.decode_value in _DECODERS


def header_lines(batches: Batches, first: int, stop: int) -> Iterator[Text]:
    """The lines of batches [first, stop), each of which has its header."""
    while first < stop:
        out = _ROOMS.take()
        size, first = kernels.dump_batches(batches, first, stop, out)
        yield out.data[:size]


def record_lines(
    batches: Batches, next_batch: int, records: Records, options: DumpOptions, odd: Callable[[int], Iterator[Text]]
) -> Iterator[Text]:
    """The lines of records, each batch's own in front, for those from `next_batch` on.

    `odd` makes all lines of a control batch that is not all markers; `records` must not hold a part of one.
    """
    shown = DUMP_METADATA * (not options.skip_record_metadata) + DUMP_CONTENTS * options.print_data_log
    shown += (_DECODERS[options.decode_key] << DUMP_KEY) + (_DECODERS[options.decode_value] << DUMP_VALUE)
    first, stop, wanted = 0, len(records), 0
    while first < stop:
        out = _ROOMS.take() if wanted <= ROOM else np.empty(wanted, np.uint8)
        size, first, next_batch, wanted = kernels.dump_records(
            batches, next_batch, records.data, records.rows, first, stop, shown, out
        )
        if size:
            yield out.data[:size]
        if wanted == DUMP_ODD:
            number = int(records.rows["batch"][first])
            yield from header_lines(batches, next_batch, number)
            yield from odd(number)
            first, next_batch = int(np.searchsorted(records.rows["batch"], number, side="right")), number + 1
