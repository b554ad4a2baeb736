"""Protobuf payloads as canonical JSON, with the schema's own field names: by Google's library, on parsed `.proto` text.

A payload, or a header behind the id, begins with the path to its message. The path is zig-zag numbers, the count first.
A count of 0 means the first message. Source: confluentinc/schema-registry, MessageIndexes.

Some files a `.proto` text may import though no subject has them: the registry itself provides these (`COMMON`). Their
messages are here as googleapis/googleapis (`google/type`) and confluentinc/schema-registry (`confluent/`) publish them:
names, numbers and types, which is all that payloads need. Google's `google/protobuf` comes with its library.
"""

import json
import threading
from collections.abc import Callable, Sequence

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from google.protobuf.message import Error as MessageError
from google.protobuf.message_factory import GetMessageClass

from kafkafs.errors import CorruptData
from kafkafs.format.schemas.protobuf_files import add_well_known, has_maps, keep_imports, make_safe, read_file
from kafkafs.format.schemas.protobuf_maps import MapOrder, check_maps
from kafkafs.format.schemas.reference import Reference
from kafkafs.format.strings import escape_controls
from kafkafs.format.varints import varint

_GOOGLE_TYPE = {
    "calendar_period": """
        enum CalendarPeriod { CALENDAR_PERIOD_UNSPECIFIED = 0; DAY = 1; WEEK = 2; FORTNIGHT = 3; MONTH = 4; QUARTER
        = 5; HALF = 6; YEAR = 7; }
    """,
    "color": """
        import "google/protobuf/wrappers.proto"; message Color { float red = 1; float green = 2; float blue = 3;
        google.protobuf.FloatValue alpha = 4; }
    """,
    "date": """
        message Date { int32 year = 1; int32 month = 2; int32 day = 3; }
    """,
    "datetime": """
        import "google/protobuf/duration.proto"; message DateTime { int32 year = 1; int32 month = 2; int32 day = 3;
        int32 hours = 4; int32 minutes = 5; int32 seconds = 6; int32 nanos = 7; oneof time_offset {
        google.protobuf.Duration utc_offset = 8; google.type.TimeZone time_zone = 9; } } message TimeZone { string
        id = 1; string version = 2; }
    """,
    "dayofweek": """
        enum DayOfWeek { DAY_OF_WEEK_UNSPECIFIED = 0; MONDAY = 1; TUESDAY = 2; WEDNESDAY = 3; THURSDAY = 4; FRIDAY =
        5; SATURDAY = 6; SUNDAY = 7; }
    """,
    "decimal": """
        message Decimal { string value = 1; }
    """,
    "expr": """
        message Expr { string expression = 1; string title = 2; string description = 3; string location = 4; }
    """,
    "fraction": """
        message Fraction { int64 numerator = 1; int64 denominator = 2; }
    """,
    "interval": """
        import "google/protobuf/timestamp.proto"; message Interval { google.protobuf.Timestamp start_time = 1;
        google.protobuf.Timestamp end_time = 2; }
    """,
    "latlng": """
        message LatLng { double latitude = 1; double longitude = 2; }
    """,
    "localized_text": """
        message LocalizedText { string text = 1; string language_code = 2; }
    """,
    "money": """
        message Money { string currency_code = 1; int64 units = 2; int32 nanos = 3; }
    """,
    "month": """
        enum Month { MONTH_UNSPECIFIED = 0; JANUARY = 1; FEBRUARY = 2; MARCH = 3; APRIL = 4; MAY = 5; JUNE = 6; JULY
        = 7; AUGUST = 8; SEPTEMBER = 9; OCTOBER = 10; NOVEMBER = 11; DECEMBER = 12; }
    """,
    "phone_number": """
        message PhoneNumber { message ShortCode { string region_code = 1; string number = 2; } oneof kind { string
        e164_number = 1; google.type.PhoneNumber.ShortCode short_code = 2; } string extension = 3; }
    """,
    "postal_address": """
        message PostalAddress { int32 revision = 1; string region_code = 2; string language_code = 3; string
        postal_code = 4; string sorting_code = 5; string administrative_area = 6; string locality = 7; string
        sublocality = 8; repeated string address_lines = 9; repeated string recipients = 10; string organization =
        11; }
    """,
    "quaternion": """
        message Quaternion { double x = 1; double y = 2; double z = 3; double w = 4; }
    """,
    "timeofday": """
        message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }
    """,
}

COMMON = {
    "confluent/meta.proto": (
        'syntax = "proto3"; package confluent;'
        " message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }"
    ),
    "confluent/type/decimal.proto": (
        'syntax = "proto3"; package confluent.type;'
        " message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }"
    ),
    **{f"google/type/{name}.proto": f'syntax = "proto3"; package google.type; {text}'
       for name, text in _GOOGLE_TYPE.items()},
}  # fmt: skip
"""Texts by the names under which they are imported."""


PAYLOAD_BYTES = 2 << 20
"""A larger payload is not decoded: as objects of Python it takes a hundred times its size."""

_LARGE = 64 << 10
_one_large = threading.Lock()
"""Payloads above _LARGE are decoded one at a time, so that their memory does not add up."""

_MAIN = "<schema>"
"""The text that refers to the others, by a name that none of those has."""

_MOST_INDEXES = 100


def compile_protobuf(text: str, references: Sequence[Reference]) -> Callable[[bytes, bytes | None], bytes]:
    """Make a decoder of payloads of that `.proto` text. `references` come before the files that import them.
    CorruptData."""
    return ProtobufSchema(text, references).json


class ProtobufSchema:
    """A `.proto` text with its descriptors. `references` come before what imports them. CorruptData."""

    def __init__(self, text: str, references: Sequence[Reference]) -> None:
        self.pool = DescriptorPool()
        self._names = add_well_known(self.pool)
        self._has_maps = False
        self._order = MapOrder(self.pool)
        for reference in references:
            if reference.name not in self._names:
                self._add(reference.name, reference.text)
        self._file = self._add("", text)
        self._kinds: dict[tuple[int, ...], type[Message]] = {}

    def _add(self, name: str, text: str) -> FileDescriptor:
        """Adds a file, and before it what it imports of those that need no reference."""
        made = read_file(name or _MAIN, text)
        for imported in made.dependency:
            if imported in COMMON and imported not in self._names:
                self._add(imported, COMMON[imported])
        keep_imports(made, self._names)
        make_safe(made.message_type)
        self._has_maps = self._has_maps or has_maps(made)
        self._names.add(name)
        try:
            self.pool.AddSerializedFile(made.SerializeToString())
            file = self.pool.FindFileByName(made.name)
        except (TypeError, ValueError, KeyError, DecodeError) as error:
            raise CorruptData(f"the schema cannot be used: {_first_line(error)}") from None
        if self._has_maps:
            check_maps(file.extensions_by_name.values(), file.message_types_by_name.values())
        return file

    def json(self, payload: bytes, header: bytes | None) -> bytes:
        """A payload as canonical JSON; `header` is what one holds behind the id. CorruptData if it does not fit."""
        kind, content = self.message_of(payload, header)
        if len(content) <= _LARGE:
            return self._shown(self.parsed(kind, content))
        with _one_large:
            return self._shown(self.parsed(kind, content))

    def _shown(self, message: Message) -> bytes:
        try:
            made = json_format.MessageToDict(message, preserving_proto_field_name=True, descriptor_pool=self.pool)
            made = self._order.of(message, made) if self._has_maps else made
            text = json.dumps(made, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
            return escape_controls(text).encode()
        except (
            MessageError,
            json_format.Error,
            ValueError,
            TypeError,
            LookupError,
            RecursionError,
            OverflowError,
        ) as error:
            raise CorruptData(_first_line(error)) from None

    def message_of(self, payload: bytes, header: bytes | None) -> tuple[type[Message], bytes]:
        """The message that a payload is, and its content. CorruptData."""
        if header is None:
            indexes, payload = _indexes(payload)
        else:
            indexes, rest = _indexes(header) if header else ((0,), b"")
            if rest:
                raise CorruptData("the header holds more than its message indexes")
        if len(payload) > PAYLOAD_BYTES:
            raise CorruptData(f"it has more than {PAYLOAD_BYTES} bytes, the most that is decoded of Protobuf")
        if indexes not in self._kinds:
            self._kinds[indexes] = GetMessageClass(_message(self._file, indexes))
        return self._kinds[indexes], payload

    def named(self, name: str) -> type[Message]:
        """The message with that full name, in this text. CorruptData if there is none."""
        try:
            descriptor = self.pool.FindMessageTypeByName(name)
        except KeyError:
            raise CorruptData(f"the schema has no message {name[:200]!r}") from None
        return GetMessageClass(descriptor)

    def parsed(self, kind: type[Message], content: bytes) -> Message:
        """The message that the bytes are. CorruptData if they are none, or hold what the schema does not name."""
        message = kind()
        try:
            message.ParseFromString(content)
            size = message.ByteSize()
            message.DiscardUnknownFields()
            is_whole = message.ByteSize() == size
            if self._has_maps and len(content) > _LARGE:
                self._order.check_depth(message)
        except (MessageError, ValueError, RecursionError) as error:
            raise CorruptData(_first_line(error)) from None
        if not is_whole:
            raise CorruptData("it has fields that the schema does not name")
        return message


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["it contradicts itself"])[0][:300]


def _indexes(data: bytes) -> tuple[tuple[int, ...], bytes]:
    """The path to the message, and what follows it."""
    count, at = _zigzag(data, 0)
    if count == 0:
        return (0,), data[at:]
    if not 0 < count <= _MOST_INDEXES:
        raise CorruptData("it begins with no valid message indexes")
    found = []
    for _ in range(count):
        index, at = _zigzag(data, at)
        found.append(index)
    return tuple(found), data[at:]


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    try:
        return varint(data, at)
    except CorruptData:
        raise CorruptData("it begins with no valid message indexes") from None


def _message(file: FileDescriptor, indexes: tuple[int, ...]) -> Descriptor:
    """The message at the end of a path. Entries of maps count where they are in the text, or in a descriptor."""
    found: Descriptor | None = None
    messages = list(file.message_types_by_name.values())
    for index in indexes:
        if not 0 <= index < len(messages):
            raise CorruptData("it names a message that the schema does not have")
        found = messages[index]
        messages = list(found.nested_types)
    if found is None or found.GetOptions().map_entry:
        raise CorruptData("it names a message that the schema does not have")
    return found
