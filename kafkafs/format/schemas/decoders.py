"""A schema's type, text and references in, what decodes its payloads out."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kafkafs.errors import CorruptData, Unsupported
from kafkafs.format.native.layout import WAY_AVRO, WAY_JSON, WAY_NONE, WAY_PYTHON
from kafkafs.format.schemas.avro_program import AvroProgram, compile_avro
from kafkafs.format.schemas.reference import Reference

KNOWN_BYTES = 64 << 20
_PYTHON_BYTES = 1 << 20  # size of a Protobuf decoder with its descriptors: a guess on the safe side

INSTALL = "pip install 'kafkafs[schemas]'"


class Decoder(NamedTuple):
    """How payloads of one schema become JSON text.

    A program is for the kernel; `decode` takes a payload and what a header held behind the id, else None, and raises
    CorruptData. If there is neither, `refusal` says why, or the payload is JSON.
    """

    way: int
    program: AvroProgram | None = None
    decode: Callable[[bytes, bytes | None], bytes] | None = None
    refusal: str = ""

    @property
    def size(self) -> int:
        """Bytes that it takes, more or less."""
        return _PYTHON_BYTES if self.program is None else self.program.code.nbytes + len(self.program.pool)


_EVERYTHING = """syntax = "proto3";
import "google/protobuf/timestamp.proto";
message A { google.protobuf.Timestamp at = 1; map<string, E> map = 2; oneof one { int32 number = 3; } }
enum E { ZERO = 0; }
"""


def load_libraries() -> None:
    """Has the libraries import what they would import when first used: in a sandbox that is too late."""
    for text in (_EVERYTHING, "no such text {"):
        decoder = make_decoder("PROTOBUF", text)
        if decoder.decode is not None:
            decoder.decode(b"\0\x0a\2\x08\1", None)


def refusing(why: str) -> Decoder:
    """A decoder that does not."""
    return Decoder(WAY_NONE, refusal=why)


class _Known:
    """The decoders that were asked for last, as many as fit into KNOWN_BYTES: schemas are compiled once.

    No `functools.lru_cache`, which counts entries: a decoder takes a kilobyte or some megabytes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._decoders: OrderedDict[tuple[str, str, tuple[Reference, ...]], Decoder] = OrderedDict()
        self._size = 0

    def get(self, kind: str, text: str, references: tuple[Reference, ...]) -> Decoder:
        """The decoder that is known, or one that is made now, without the lock: two threads may make the same."""
        name = (kind, text, references)
        with self._lock:
            known = self._decoders.get(name)
            if known is not None:
                self._decoders.move_to_end(name)
                return known
        made = make_decoder(kind, text, references)
        with self._lock:
            if name not in self._decoders:
                self._decoders[name] = made
                self._size += made.size
            while self._size > KNOWN_BYTES and len(self._decoders) > 1:
                _, forgotten = self._decoders.popitem(last=False)
                self._size -= forgotten.size
        return made


_known = _Known()


def known_decoder(kind: str, text: str, references: tuple[Reference, ...] = ()) -> Decoder:
    """As `make_decoder`; the same decoder again for a schema that was asked for lately. Any thread may ask."""
    return _known.get(kind, text, references)


def make_decoder(kind: str, text: str, references: Sequence[Reference] = ()) -> Decoder:
    """The decoder of a schema of that type (AVRO, PROTOBUF or JSON). Never raises: what cannot be decoded refuses."""
    try:
        if kind == "AVRO":
            return Decoder(WAY_AVRO, compile_avro(text, [reference.text for reference in references]))
        if kind == "JSON":
            return Decoder(WAY_JSON)
        if kind == "PROTOBUF":
            return Decoder(WAY_PYTHON, decode=_protobuf(text, references))
    except (CorruptData, Unsupported) as error:
        return refusing(str(error))
    return refusing(f"the schema's type {kind[:100]!r} is not AVRO, PROTOBUF or JSON")


def _protobuf(text: str, references: Sequence[Reference]) -> Callable[[bytes, bytes | None], bytes]:
    try:
        from kafkafs.format.schemas.protobuf import compile_protobuf  # takes what an extra installs
    except ImportError:
        raise Unsupported(f"decoding Protobuf takes {INSTALL}") from None
    return compile_protobuf(text, references)
