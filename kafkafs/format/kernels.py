"""The kernels, by name: compiled loops over bytes and tables. Their source is `native`; `docs/code.md` says how to
debug one.

They let other threads run meanwhile. A buffer is a numpy array or bytes: those do not move while the caller has them.
KAFKAFS_KERNELS=python takes the uncompiled source, slow and checked; KAFKAFS_KERNELS=DIR modules that were built there.
"""

import os
from typing import TYPE_CHECKING

from kafkafs.errors import UsageError
from kafkafs.format import native

_CHOICE = os.environ.get("KAFKAFS_KERNELS", "")

if TYPE_CHECKING or _CHOICE == "python":
    from kafkafs.format.native.batch_lines import batch_lines as batch_lines
    from kafkafs.format.native.cells import decode_cells as decode_cells
    from kafkafs.format.native.cells import decoded_lines as decoded_lines
    from kafkafs.format.native.cells import find_cells as find_cells
    from kafkafs.format.native.cells import type_cells as type_cells
    from kafkafs.format.native.checksum import crc32c as crc32c
    from kafkafs.format.native.columns import arrow_columns as arrow_columns
    from kafkafs.format.native.columns import arrow_headers as arrow_headers
    from kafkafs.format.native.differences import unlike_record as unlike_record
    from kafkafs.format.native.dump_lines import dump_batches as dump_batches
    from kafkafs.format.native.dump_lines import dump_records as dump_records
    from kafkafs.format.native.headers import next_run as next_run
    from kafkafs.format.native.headers import walk as walk
    from kafkafs.format.native.json_lines import base64_piece as base64_piece
    from kafkafs.format.native.json_lines import is_text as is_text
    from kafkafs.format.native.json_lines import json_headers as json_headers
    from kafkafs.format.native.json_lines import json_lines as json_lines
    from kafkafs.format.native.json_lines import lines_bound as lines_bound
    from kafkafs.format.native.json_lines import text_piece as text_piece
    from kafkafs.format.native.keys import hash_key as hash_key
    from kafkafs.format.native.keys import hash_keys as hash_keys
    from kafkafs.format.native.keys import match_keys as match_keys
    from kafkafs.format.native.keys import settle_keys as settle_keys
    from kafkafs.format.native.keys import sketch_keys as sketch_keys
    from kafkafs.format.native.merging import merge_lines as merge_lines
    from kafkafs.format.native.messages import check_wrapped as check_wrapped
    from kafkafs.format.native.messages import decode_plain as decode_plain
    from kafkafs.format.native.messages import decode_wrapped as decode_wrapped
    from kafkafs.format.native.needle import needle_batches as needle_batches
    from kafkafs.format.native.needle import needle_records as needle_records
    from kafkafs.format.native.records import check_v2 as check_v2
    from kafkafs.format.native.records import decode_part as decode_part
    from kafkafs.format.native.records import decode_v2 as decode_v2
else:
    if _CHOICE:
        native.__path__.insert(0, _CHOICE)
    try:
        from kafkafs.format.native._cells import *
        from kafkafs.format.native._lines import *
        from kafkafs.format.native._records import *
    except ImportError as error:
        if not os.path.isdir(os.path.dirname(__file__)):
            raise UsageError(
                f"kafkafs cannot run out of {__file__.partition('/kafkafs/')[0]}: its compiled kernels have to be files"
                " of their own. To Spark's executors ship it with --archives, not --py-files (docs/spark.md)."
            ) from None
        raise UsageError(
            f"The compiled kernels of kafkafs are missing ({error}): run scripts/setup, or install kafkafs again."
        ) from None
