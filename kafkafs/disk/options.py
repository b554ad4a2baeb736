"""What a reader may do to the machine that a broker runs on, as one frozen value that is handed down to whatever reads.

`log.options.ReadOptions` adds what is about Kafka. Two readers in one process may have different ones.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from kafkafs.format.memory import UNLIMITED, Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskOptions:
    """The defaults leave the page cache as it is, and count no memory."""

    cache_keep: bool = False  # leave pages that a read brought in in the page cache
    memory: Memory = field(default=UNLIMITED, compare=False, repr=False)  # where large buffers come from
    clock: Callable[[], float] = field(default=time.monotonic, compare=False, repr=False)  # seconds, for freshness
