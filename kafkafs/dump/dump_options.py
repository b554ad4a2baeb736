"""What of a file is wanted: the flags of Kafka's tool, and those that kafkafs adds."""

from dataclasses import dataclass

from kafkafs.dump.kafka_decoders import Decoder, RecordDecoder, as_string
from kafkafs.format.memory import UNLIMITED, Memory

ALL_BYTES = 2**31 - 1
"""`--max-bytes` unless told otherwise: only then is the end of a log spoken of."""

LARGEST_MESSAGE = 5 << 20
"""`--max-message-size` unless told otherwise."""


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
    memory: Memory = UNLIMITED  # where those come from

    @property
    def is_deep(self) -> bool:
        """Whether each record is shown, and not only each batch."""
        return self.deep_iteration or self.print_data_log
