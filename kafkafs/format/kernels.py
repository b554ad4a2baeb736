"""The kernels, by name: compiled loops over bytes and tables. Their source is `native`; `docs/code.md` says how to
debug one.

They let other threads run meanwhile. A buffer is a numpy array or bytes: those do not move while the caller has them.
KAFKAFS_KERNELS=python takes the uncompiled source, slow and checked; KAFKAFS_KERNELS=DIR modules that were built there.
"""

import os
from typing import TYPE_CHECKING

from kafkafs.errors import UsageError
from kafkafs.format import native as modules

_CHOICE = os.environ.get("KAFKAFS_KERNELS", "")

if TYPE_CHECKING or _CHOICE == "python":
    from kafkafs.format.native.batch_lines import *
    from kafkafs.format.native.checksum import *
    from kafkafs.format.native.columns import *
    from kafkafs.format.native.decoded_lines import *
    from kafkafs.format.native.differences import *
    from kafkafs.format.native.dump_lines import *
    from kafkafs.format.native.headers import *
    from kafkafs.format.native.indexing import *
    from kafkafs.format.native.json_lines import *
    from kafkafs.format.native.json_shapes import *
    from kafkafs.format.native.keys import *
    from kafkafs.format.native.legacy_records import *
    from kafkafs.format.native.merging import *
    from kafkafs.format.native.needle import *
    from kafkafs.format.native.v2_records import *
else:
    if _CHOICE:
        modules.__path__.insert(0, _CHOICE)
    try:
        from kafkafs.format.native._fields import *
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
