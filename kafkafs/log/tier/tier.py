"""A tier that is open: its layout, and whether it answers. `tier_part` has what it holds of one partition."""

from collections.abc import Callable

from kafkafs.disk.blocking import ProcessLock, acquired, may_ask_store, may_block
from kafkafs.disk.cached_value import CachedValue
from kafkafs.disk.chunk_cache import ChunkCache
from kafkafs.disk.objects import DirectoryObjects
from kafkafs.errors import DiskError, KafkafsError, UsageError
from kafkafs.log.read_options import ReadOptions, TierSource
from kafkafs.log.tier.layouts import DEEPEST, Layout, layout_of
from kafkafs.log.tier.opening import ObjectFiles
from kafkafs.log.tier.sources import keys_of, open_objects

SILENT_S = 5.0  # how long callers with little patience do not wait for a store that did not answer one of them
_STORAGE = "kafka-tiered-storage"  # LocalTieredStorage's folder in `rsm.config.dir`: either may be named


class Tier:
    """The value of `-o tiered=`. Opened once for a data directory.

    A directory is looked at when this is made, a bucket when something of it is asked for, under `_lock`: a mount has
    given up its rights by then.
    """

    def __init__(self, source: TierSource, options: ReadOptions, deepest: int = DEEPEST) -> None:
        """`deepest`: how many folders a prefix may have put above the topics'. UsageError if a directory has no tier
        that is known, and for keys that are none."""
        self.options = options
        self._lock = ProcessLock()
        self._layout: Layout | None = None
        objects = open_objects(source.place, options)
        if isinstance(objects, DirectoryObjects) and _STORAGE in objects.folders():
            objects = open_objects(f"{source.place}/{_STORAGE}", options)
        self.is_far = not isinstance(objects, DirectoryObjects)
        self.silent: CachedValue[bool] = CachedValue(SILENT_S, options.clock)
        """Known for a moment after a caller with little patience has waited in vain."""
        keys = keys_of(source.keys)
        cache = ChunkCache(source.cache_size, may_ask_store) if self.is_far else ChunkCache(source.cache_size)
        self._open: Callable[[], Layout] = lambda: layout_of(ObjectFiles(objects, cache, options), keys, deepest)
        try:
            if not self.is_far:
                self._layout = self._open()
        except KafkafsError as error:
            raise UsageError(str(error)) from error

    def before_asking(self) -> None:
        """Call this before something of it is waited for. See `blocking.may_ask_store`."""
        if self.is_far:
            may_ask_store()
        else:
            may_block()

    def check(self) -> str:
        """Why it does not answer, which those hear that read of it; empty if it does. UsageError if nothing known
        is there."""
        try:
            _ = self.layout
        except DiskError as error:
            return str(error)
        return ""

    @property
    def layout(self) -> Layout:
        """How it is laid out. DiskError if it does not answer; UsageError if nothing known is there."""
        if self._layout is None:
            self.before_asking()
            with acquired(self._lock):
                self._layout = self._layout or self._open()
        return self._layout
