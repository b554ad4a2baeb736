"""What a reader may do to the machine that a broker runs on, as one frozen value that is handed down to whatever reads.

`log.options.ReadOptions` adds what is about Kafka. Two readers in one process may have different ones.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from kafkafs.disk.descriptor_budget import DescriptorBudget
from kafkafs.format.memory import UNLIMITED, Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskOptions:
    """The defaults leave the page cache as it is, count no memory, and share descriptors with no other value."""

    cache_keep: bool = False  # leave pages that a read brought in in the page cache
    memory: Memory = field(default=UNLIMITED, compare=False, repr=False)  # where large buffers come from
    descriptors: DescriptorBudget = field(default_factory=DescriptorBudget, compare=False, repr=False)  # of open files
    clock: Callable[[], float] = field(default=time.monotonic, compare=False, repr=False)  # seconds, for freshness
