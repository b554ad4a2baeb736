"""`_schemas-0`, read once and then followed: the current registry, for decoders.

Kept are at most KEPT_BYTES of schemas, whatever is in the topic. Schemas that the registry's own compaction has not
yet removed count, because data that were written with a deleted schema can still be decoded.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from kafkafs.cluster.following import Following, Replay, follow
from kafkafs.cluster.registry import RegisteredSchema, Registry, parse_schema_record
from kafkafs.disk.blocking import acquired, may_block
from kafkafs.disk.cached_value import CachedValue
from kafkafs.errors import CorruptData, NotFound
from kafkafs.format.batch import Batches, is_control
from kafkafs.format.records import Records
from kafkafs.format.schemas.avro_names import SCHEMA_BYTES
from kafkafs.format.schemas.decoders import load_libraries
from kafkafs.format.strings import json_object
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.replicas import furthest, replicas

SCHEMAS_TOPIC, SCHEMAS = "_schemas", "_schemas-0"
KEPT_BYTES = 64 << 20
_FRESH_S = 0.1
"""For how long a look at the topic counts as now."""

OVERHEAD = 1 << 10  # bytes that a schema takes besides its text


class SchemaRecords(Replay):
    """The result of the records of `_schemas-0` so far."""

    def _forget(self) -> None:
        self._subjects: dict[str, dict[tuple[int, int], RegisteredSchema]] = {}  # the schemas of each by version and id
        self._texts: dict[str, str] = {}  # one text of many subjects is kept once
        self._size = 0
        self.changed = True

    def registry(self) -> Registry:
        """The registry that they make up."""
        self.changed = False
        return Registry(schema for versions in self._subjects.values() for schema in versions.values())

    def add(self, records: Records, batches: Batches) -> None:
        """See `Replay`. A record that is none of a registry's is a problem, and the rest counts."""
        control = is_control(batches)[records.rows["batch"]]
        for number in np.flatnonzero(~control).tolist():
            key, value, offset = records.key(number), records.value(number), int(records.rows["offset"][number])
            try:
                self._take(bytes(key or b""), None if value is None else bytes(value), offset)
            except CorruptData as error:
                self.problems.add(f"{SCHEMAS}: offset {offset}: {error}")

    def _take(self, key: bytes, value: bytes | None, offset: int) -> None:
        about = json_object(key)
        if about is None:
            raise CorruptData("its key is not a JSON object")
        subject, version, kind = about.get("subject"), about.get("version"), about.get("keytype")
        if not isinstance(subject, str):
            return
        if kind == "SCHEMA" and value is None:
            self._mark(subject, lambda schema: schema.version == version, gone=True)
        elif kind == "SCHEMA":
            self._keep(parse_schema_record(about, _object(value), offset))
        elif kind == "DELETE_SUBJECT" and value is not None:
            last = _object(value).get("version")
            if isinstance(last, int):
                self._mark(subject, lambda schema: schema.version <= last, deleted=True)

    def _keep(self, schema: RegisteredSchema) -> None:
        text = schema.text
        if text is not None and text not in self._texts:
            if len(text) > SCHEMA_BYTES or self._size + len(text) + OVERHEAD > KEPT_BYTES:
                self.problems.add(f"{SCHEMAS}: schema {schema.id} is too large for memory, alone or with the others")
                text = None
            else:
                self._texts[text] = text
                self._size += len(text)
        versions = self._subjects.setdefault(schema.subject, {})
        before = versions.get((schema.version, schema.id))
        if before is None:
            self._size += OVERHEAD
            if self._size > KEPT_BYTES:
                self.problems.add(f"{SCHEMAS}: there are more schemas than fit in memory")
                return
        first = schema.offset if before is None else before.offset
        kept = None if text is None else self._texts[text]
        versions[schema.version, schema.id] = replace(schema, text=kept, offset=first)
        self.changed = True

    def _mark(
        self, subject: str, which: Callable[[RegisteredSchema], bool], deleted: bool = False, gone: bool = False
    ) -> None:
        for place, schema in self._subjects.get(subject, {}).items():
            if which(schema):
                marked = replace(schema, deleted=deleted or schema.deleted, gone=gone or schema.gone)
                self._subjects[subject][place] = marked
                self.changed = True


def _object(value: bytes | None) -> Mapping[str, object]:
    found = json_object(value or b"")
    if found is None:
        raise CorruptData("its value is not a JSON object")
    return found


def load_decoders() -> None:
    """Has all that decoding takes be imported now: what confines the mount asks here, since it knows no formats."""
    load_libraries()


class SchemaTopic:
    """The topic `_schemas`, followed. There is one for all data directories that are looked at together; any thread may
    ask."""

    def __init__(self, directories: Sequence[DataDirectory], options: ReadOptions) -> None:
        self._directories = directories
        self._options = options
        self._lock = threading.Lock()
        self._registry: CachedValue[Registry] = CachedValue(_FRESH_S, options.clock)
        self._following: Following[SchemaRecords] | None = None
        self._nothing = Registry()

    def registry(self, *, now: bool = False) -> Registry:
        """The current registry (`now`), or that of a moment ago; an empty one if no directory has the topic."""
        fresh = None if now else self._registry.fresh()
        if fresh is None:
            may_block()
            with acquired(self._lock):
                fresh = None if now else self._registry.fresh()
                if fresh is None:
                    fresh = self._registry.store(self._look(now))
        return fresh

    def partition(self) -> Partition | None:
        """The replica that counts; None if no directory has the topic."""
        return furthest(replicas(self._directories, SCHEMAS))

    def problems(self) -> list[str]:
        """Sentences about records that could not be read."""
        return list(self._following.problems()) if self._following is not None else []

    def _look(self, now: bool) -> Registry:
        chosen = self.partition()
        if chosen is None:
            self._following = None
            return self._nothing
        self._following = follow(self._following, chosen, SchemaRecords, self._options)
        if now:
            chosen.look_again()
        try:
            self._following.catch_up()
        except NotFound:
            self._following = None
            return self._nothing
        known, records = self._registry.latest, self._following.replay
        return records.registry() if records.changed or known is None else known
