"""The loops that touch every byte, in the part of Python that numba compiles. Only `build` and a fallback import this.

A kernel takes addresses, sizes and counts as int64 and returns one int64; it allocates nothing, raises nothing and
reads and writes only within the buffers that it was given, whatever they hold. Those that read files are
`kafkafs.disk.native`'s.
"""

from collections.abc import Callable

from kafkafs.format.native.kernels.avro import avro_text
from kafkafs.format.native.kernels.batch_lines import batch_lines
from kafkafs.format.native.kernels.cells import decode_cells, find_cells, type_cells
from kafkafs.format.native.kernels.checksum import crc32c
from kafkafs.format.native.kernels.columns import arrow_columns, arrow_headers
from kafkafs.format.native.kernels.decoded_lines import decoded_lines
from kafkafs.format.native.kernels.differences import unlike_record
from kafkafs.format.native.kernels.dump import dump_batches, dump_records
from kafkafs.format.native.kernels.headers import walk
from kafkafs.format.native.kernels.keys import hash_key, hash_keys, match_keys, settle_keys
from kafkafs.format.native.kernels.lines import base64_piece, is_text, json_headers, json_lines, lines_bound, text_piece
from kafkafs.format.native.kernels.messages import check_wrapped, decode_plain, decode_wrapped
from kafkafs.format.native.kernels.needle import needle_batches, needle_records
from kafkafs.format.native.kernels.records import check_v2, decode_part, decode_v2
from kafkafs.format.native.kernels.runs import next_run
from kafkafs.format.native.kernels.sketch import sketch_keys

KERNELS: list[Callable[..., int]] = [
    *(crc32c, walk),
    *(next_run, decode_v2, check_v2, decode_part),
    *(decode_plain, check_wrapped, decode_wrapped),
    *(dump_batches, dump_records),
    *(arrow_columns, arrow_headers, sketch_keys),
    *(hash_key, hash_keys, settle_keys, match_keys),
    *(needle_batches, needle_records),
    unlike_record,
    batch_lines,
    *(avro_text, find_cells, decode_cells, type_cells, decoded_lines),
    *(json_lines, lines_bound, json_headers, is_text, text_piece, base64_piece),
]
"""Entries of the library; their names are its symbols, less `kafkafs_`."""
