"""The choices of a reader of the log: the `-o` options that are about Kafka, as one frozen value."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from kafkafs.disk.blocking import AT_A_GLANCE_S
from kafkafs.disk.chunk_cache import CACHE_SIZE
from kafkafs.disk.data_file import DiskOptions
from kafkafs.disk.objects import is_bucket, place_of, shown
from kafkafs.errors import UsageError, did_you_mean

Isolation = Literal["read_uncommitted", "read_committed"]
ISOLATIONS: tuple[Isolation, ...] = get_args(Isolation)
MAX_BATCH = 256 << 20
"""Default limit of the bytes that a batch may unpack to."""

EXACT = 8 << 20
"""Default limit of the bytes of log up to which a decoded range has a size."""


@dataclass(frozen=True, slots=True)
class TierSource:
    """The place of older segments, and the keys that it takes to read them there. An address may hold what opens it: no
    text of this value has it."""

    place: str = field(repr=False)  # a directory, or a URI that pyarrow.fs opens
    keys: tuple[tuple[str, Path], ...] = field(default=(), repr=False)  # for Aiven's encryption: id and PEM file
    cache_size: int = CACHE_SIZE  # bytes of chunks that are kept

    @property
    def shown_as(self) -> str:
        """The place without what opens it."""
        return shown(self.place) if is_bucket(self.place) else self.place

    @classmethod
    def parse(cls, place: str, keys: Iterable[str]) -> "TierSource | None":
        """The tier at a place, None if none is named, and the keys of its segments. UsageError."""
        found = tuple(cls.parse_key(key.strip()) for key in keys if key.strip())
        if found and not place.strip():
            raise UsageError("tiered_key needs a tier: name it by tiered")
        return cls(place_of(place.strip()), found) if place.strip() else None

    @staticmethod
    def parse_key(text: str) -> tuple[str, Path]:
        """`ID:FILE`, the id of a key and the file that has it."""
        key_id, _, path = text.partition(":")
        if not key_id or not path:
            raise UsageError(f"tiered_key={text!r} is not ID:FILE, the id of a key and the PEM file of its private key")
        return key_id, Path(path).absolute()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions(DiskOptions):
    """The defaults are the contract's (docs/queries.md, "Visibility" and "Damage")."""

    isolation: Isolation = "read_uncommitted"
    corrupt_skip: bool = False  # decoded ranges skip corrupt batches instead of failing
    max_batch: int = MAX_BATCH  # bytes a batch may unpack to in a decoded view; above it: TooLarge
    exact: int = EXACT  # bytes of log, or of text without one, up to which text has a size; 0: none has one
    index_dir: Path | None = None  # the directory of indexes that `kafkafs reindex` has rebuilt
    tiered: TierSource | None = None  # the tier that has older segments of tiered topics
    log_fresh_s: float = 0.05  # for so long a look at a partition counts as now: less than followers wait between two
    names_fresh_s: float = 0.1  # the same of a data directory's names, and of its checkpoints
    indexes_fresh_s: float = 1.0  # the same of the names in `index_dir`
    glance_s: float = AT_A_GLANCE_S  # so long `ls -l` and `info.json` wait for a store


def isolation(option: str, value: str) -> Isolation:
    """The level that an option's value names; UsageError for any other word."""
    for level in ISOLATIONS:
        if value == level:
            return level
    raise UsageError(
        f"{option}={value!r} is neither read_uncommitted nor read_committed{did_you_mean(value, ISOLATIONS)}"
    )
