"""Kafka Connect's connectors, as its config and status topics tell them. No secret comes out.

The topics have any name and one partition. Those that may be Connect's are known by a word in their names, and by the
keys of their first records. The last value of each key counts. Sources: KafkaConfigBackingStore,
KafkaStatusBackingStore.
"""

import json
import math
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

from kafkafs.cluster.chosen_replicas import ChosenReplicas
from kafkafs.cluster.following import Following, Replay, follow
from kafkafs.cluster.row_lines import Json, Row, known, text_of
from kafkafs.disk.cached_value import same_objects
from kafkafs.errors import KafkafsError, WouldBlock
from kafkafs.format.batch import Batches, is_control, is_transactional
from kafkafs.format.connect_secrets import (
    CONNECTOR,
    PROPERTIES,
    REDACTED,
    SESSION_KEY,
    TASK,
    is_secret,
    without_secrets,
)
from kafkafs.format.control import ControlType, control_type
from kafkafs.format.names import PartitionName
from kafkafs.format.records import Records
from kafkafs.log.look import Reader
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.replicas import furthest, replicas

Kind = Literal["config", "status", "other"]

_NAMES = re.compile(r"connect|config|status", re.IGNORECASE)
_COMMIT, _TARGET = b"commit-", b"target-state-"
_CONFIG_KEYS = (
    CONNECTOR,
    TASK,
    _COMMIT,
    _TARGET,
    SESSION_KEY,
    b"tasks-fencing-",
    b"restart-connector-",
    b"logger-cluster-",
)
_CONNECTOR_STATUS, _TASK_STATUS = b"status-connector-", b"status-task-"
_STATUS_KEYS = (_CONNECTOR_STATUS, _TASK_STATUS, b"status-topic-")
_FIRST = 16
"""Records at the beginning of a log that must all have such keys."""

_STARTED = "STARTED"
"""The target state of a connector if no record gives one."""

_MOST_TASKS = 10_000


class Connector(NamedTuple):
    """A connector and what its topics say of it: `configs` and `status` have the last values by key."""

    name: str
    topic: str
    configs: Mapping[bytes, tuple[Any, int]]
    status: Mapping[bytes, tuple[Any, int]]


class _Change(NamedTuple):
    """A record of a key: a value, or its end."""

    offset: int
    key: bytes
    value: bytes | None
    timestamp: int


class _LastValues(Replay):
    """The last value of each key, as JSON, with its timestamp. The writes of a transaction count once it is
    committed."""

    def __init__(self, where: str) -> None:
        self._where = where
        super().__init__()

    def _forget(self) -> None:
        self.values: dict[bytes, tuple[Any, int]] = {}
        self._changed: dict[bytes, int] = {}  # by key, the offset of what counts
        self._open: defaultdict[int, list[_Change]] = defaultdict(list)  # by producer

    def add(self, records: Records, batches: Batches) -> None:
        """Some records in order. A value that is no JSON only ends the value before it."""
        of_batch = records.rows["batch"]
        columns = is_control(batches)[of_batch], is_transactional(batches)[of_batch], batches["producer_id"][of_batch]
        rows = zip(
            *(column.tolist() for column in (*columns, records.rows["offset"], records.rows["timestamp"])), strict=True
        )
        for number, (control, in_transaction, producer, offset, timestamp) in enumerate(rows):
            key, value = records.key(number), records.value(number)
            if control:
                self._end(producer, control_type(key or b""))
            elif key is not None:
                change = _Change(offset, bytes(key), None if value is None else bytes(value), timestamp)
                if in_transaction:
                    self._open[producer].append(change)
                else:
                    self._keep(change)

    def _end(self, producer: int, marker: ControlType) -> None:
        if marker in (ControlType.COMMIT, ControlType.ABORT):
            for change in self._open.pop(producer, ()):
                if marker is ControlType.COMMIT:
                    self._keep(change)

    def _keep(self, change: _Change) -> None:
        if self._changed.get(change.key, -1) > change.offset:
            return
        self._changed[change.key] = change.offset
        self.values.pop(change.key, None)
        if change.value is None:
            return
        try:
            parsed = json.loads(change.value, parse_constant=_refuse, parse_float=_finite)
            self.values[change.key] = parsed, change.timestamp
        except (ValueError, RecursionError):
            self.problems.add_record(self._where, change.offset, "its value is not JSON")


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _finite(text: str) -> float:
    """The number; ValueError for one that JSON cannot write again."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


class Connect:
    """Follows the topics of all Connect clusters on some disks. For one thread at a time."""

    def __init__(self, replicas: ChosenReplicas, options: ReadOptions) -> None:
        self._replicas = replicas
        self._options = options
        self._names: list[dict[str, PartitionName]] = []
        self._candidates: list[str] = []
        self._kinds: dict[str, tuple[Partition, Kind]] = {}
        self._followed: dict[str, Following[_LastValues]] = {}

    def sources(self) -> list[Partition]:
        """The partitions that tell of connectors; none without a config topic."""
        configs = self._of_kind("config")
        return [*configs, *self._of_kind("status")] if configs else []

    def _of_kind(self, kind: Kind) -> list[Partition]:
        """The partitions of config topics, or of status topics, by name."""
        directories = self._replicas.directories
        names = [directory.names() for directory in directories]
        if not same_objects(names, self._names):
            self._candidates = sorted({
                name for here in names for name, parsed in here.items()
                if parsed.partition == 0 and not parsed.mark and _NAMES.search(parsed.topic)
            })  # fmt: skip
            self._names = names
        found = []
        for name in self._candidates:
            partition = furthest(replicas(directories, name))
            if partition is not None and self._kind(name, partition) == kind:
                found.append(partition)
        return found

    def _kind(self, name: str, partition: Partition) -> Kind | None:
        """Tell the kind from the first records. An empty log is asked again."""
        known = self._kinds.get(name)
        if known is not None and known[0] is partition:
            return known[1]
        try:
            kind = partition.ask_as(self._options, lambda look: _kind_of(look.visible))
        except WouldBlock:
            raise
        except KafkafsError:
            return None
        if kind is not None:
            self._kinds[name] = partition, kind
        return kind

    def connectors(self) -> list[Connector]:
        """All connectors, by config topic and name."""
        partitions = [self._of_kind("config"), self._of_kind("status")]
        here = [each for of_kind in partitions for each in of_kind]
        self._followed = {each.name.directory: self._following(each) for each in here}  # all, before one is asked
        configs, status = ([(each.name.topic, self._values(each)) for each in of_kind] for of_kind in partitions)
        found = []
        for topic, latest in configs:
            for key, (value, _) in latest.items():
                if key.startswith(CONNECTOR) and isinstance(value, dict):
                    name = key[len(CONNECTOR) :]
                    own = [each for each in status if _CONNECTOR_STATUS + name in each[1]]
                    best = max(own, key=lambda each: _likeness(topic, each[0]), default=("", {}))
                    found.append(Connector(os.fsdecode(name), topic, latest, best[1]))
        return sorted(found, key=lambda each: (each.topic, each.name))

    def _following(self, partition: Partition) -> Following[_LastValues]:
        name = partition.name.directory
        return follow(self._followed.get(name), partition, partial(_LastValues, name), self._options)

    def _values(self, partition: Partition) -> Mapping[bytes, tuple[Any, int]]:
        """The last values in a partition that is followed."""
        return dict(self._followed[partition.name.directory].look().values)

    def problems(self) -> Iterator[str]:
        """Sentences about records and topics that could not be read."""
        for each in self._followed.values():
            yield from each.problems()


def _kind_of(reader: Reader) -> Kind | None:
    """Tell what the first records of a log are about; None without records."""
    keys: list[bytes] = []
    for records in reader.records(reader.log.start_offset):
        keys += (bytes(records.key(number) or b"") for number in range(min(len(records), _FIRST - len(keys))))
        if len(keys) >= _FIRST:
            break
    if not keys:
        return None
    if all(key.startswith(_CONFIG_KEYS) for key in keys):
        return "config"
    return "status" if all(key.startswith(_STATUS_KEYS) for key in keys) else "other"


def _likeness(one: str, other: str) -> int:
    """How many signs two names begin with alike: `prod-configs` has its status in `prod-status`."""
    return next((number for number, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))


def connector_row(connector: Connector) -> Row:
    """A line of `connectors.jsonl`."""
    name = os.fsencode(connector.name)
    return {
        "name": text_of(name),
        "topic": connector.topic,
        "config": _properties(connector.configs.get(CONNECTOR + name)),
        "targetState": _target_state(connector.configs.get(_TARGET + name)),
        "tasks": [
            _task(connector, name, number) for number in range(_task_count(connector.configs.get(_COMMIT + name)))
        ],
        "status": _status(connector.status.get(_CONNECTOR_STATUS + name)),
    }


def _task(connector: Connector, name: bytes, number: int) -> Json:
    which = name + b"-%d" % number
    return {
        "task": number,
        "config": _properties(connector.configs.get(TASK + which)),
        "status": _status(connector.status.get(_TASK_STATUS + which)),
    }


def _task_count(last: tuple[Any, int] | None) -> int:
    count = _fields(last).get("tasks")
    return min(count, _MOST_TASKS) if isinstance(count, int) and count > 0 else 0


def _target_state(last: tuple[Any, int] | None) -> str:
    value = _fields(last)
    state = value.get("state.v2") or value.get("state")
    return state if isinstance(state, str) else _STARTED


def _properties(last: tuple[Any, int] | None) -> Json:
    """The settings without secrets; None if no record has them."""
    properties = _fields(last).get(PROPERTIES)
    if not isinstance(properties, dict):
        return None
    return without_secrets({name: _scalar(value) for name, value in properties.items()})


def _fields(last: tuple[Any, int] | None) -> Mapping[str, Any]:
    """The fields of a record's value; none without a record, or of a value that is no object."""
    return last[0] if last is not None and isinstance(last[0], dict) else {}


def _scalar(value: Any) -> Json:
    """The value, None of one that has parts: settings and states have none."""
    return value if value is None or isinstance(value, bool | int | float | str) else None


def _status(last: tuple[Any, int] | None) -> Json:
    """A state, who reported it and when; None without a report."""
    if last is None or not isinstance(last[0], dict):
        return None
    value, timestamp = last
    trace = _scalar(value.get("trace"))
    row: Row = {
        "state": _scalar(value.get("state")),
        "workerId": _scalar(value.get("worker_id")),
        "generation": _scalar(value.get("generation")),
        "trace": None if is_secret("trace", trace) else trace,
        "timestamp": known(timestamp),
    }
    return row | {REDACTED: True} if row["trace"] != trace else row
