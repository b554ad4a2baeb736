"""The wanted part of a file: the flags of Kafka's tool, the flags that kafkafs adds, and the window of a log."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkafs.dump.kafka_decoders import Decoder, RecordDecoder, as_string
from kafkafs.format.memory import UNLIMITED, Memory

if TYPE_CHECKING:  # help and man page take the defaults, where no kernel is built yet
    from kafkafs.format.records import Records

ALL_BYTES = 2**31 - 1
"""The default of `--max-bytes`. Only with the default does the dump mention the end of a log."""

LARGEST_MESSAGE = 5 << 20
"""The default of `--max-message-size`."""


@dataclass(frozen=True, slots=True)
class DumpOptions:
    """The defaults are Kafka's, but for `limit` and `memory`, which its tool does not know."""

    deep_iteration: bool = False
    print_data_log: bool = False  # implies deep iteration
    skip_record_metadata: bool = False
    max_bytes: int = ALL_BYTES
    max_message_size: int = LARGEST_MESSAGE
    json: bool = False  # a line of JSON for each thing instead of text
    index_sanity_check: bool = False
    verify_index_only: bool = False
    decode_key: Decoder = as_string
    decode_value: Decoder = as_string
    decode_record: RecordDecoder | None = None  # instead of these two
    limit: int = 1 << 30  # bytes that one batch may unpack to
    memory: Memory = UNLIMITED  # the source of those bytes

    @property
    def is_deep(self) -> bool:
        """True if each record is shown, and not only each batch."""
        return self.deep_iteration or self.print_data_log


MAX_OFFSET = 2**63 - 1


@dataclass(frozen=True, slots=True)
class OffsetWindow:
    """Offsets in [start, stop); a bound that is None is no bound. `position`: what is before is not looked at.

    A window never changes while a log is dumped. `start` and `position` cut what comes first, `stop` ends the pass:
    once a run holds an entry behind it (`entries.within`), no more is read. Entries are kept whole; which of their
    records are shown, `of` and `has` tell.
    """

    start: int | None = None
    stop: int | None = None
    position: int = 0

    def of(self, found: "Records") -> "Records":
        """The records that are in the window."""
        if self.start is None and self.stop is None:
            return found
        return found.between(0 if self.start is None else self.start, MAX_OFFSET if self.stop is None else self.stop)

    def has(self, offset: int) -> bool:
        """True if the window has a record of that offset."""
        return (self.start is None or offset >= self.start) and (self.stop is None or offset < self.stop)


WHOLE = OffsetWindow()
