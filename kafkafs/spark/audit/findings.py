"""A finding: what is wrong, and where exactly, and how bad that is."""

import json
from dataclasses import asdict, dataclass
from typing import Literal

from kafkafs.format.names import parse_partition_name

Severity = Literal["data loss", "rebuildable index", "note"]
"""Records that are lost, or are not what was written; files that `kafkafs reindex` or a broker's restart makes again;
facts that an operator should know."""

_LOSSES = frozenset({
    "crc", "not-a-batch", "cut-batch", "offset-order", "invalid-tail", "record-count", "records", "record-timestamp",
    "empty-log", "missing-log", "missing-offsets", "unreadable", "twin", "replica-divergence",
    "missing-partition",
})  # fmt: skip
_OF_INDEXES = ("offset-index-", "time-index-", "transaction-index-", "index-", "missing-index")


def severity_of(kind: str) -> Severity:
    """How bad a finding of this kind is, unless it says so itself."""
    if kind in _LOSSES:
        return "data loss"
    return "rebuildable index" if kind.startswith(_OF_INDEXES) else "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. `kind` is a word for programs; what does not apply is null."""

    data_directory: str
    file: str  # from the data directory
    kind: str
    message: str
    position: int | None = None  # byte in the file
    offset: int | None = None  # Kafka's
    slot: int | None = None  # entry of an index
    severity: Severity = "note"
    topic: str | None = None
    partition: int | None = None
    epochs: tuple[int | None, int | None] | None = None  # leader epochs: the chosen replica's, then this one's

    def to_json(self) -> str:
        """One JSON object in one line."""
        names = {"data_directory": "dataDirectory"}
        return json.dumps({names.get(name, name): value for name, value in asdict(self).items()})


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file that is being checked."""

    data_directory: str
    file: str

    def finding(
        self,
        kind: str,
        message: str,
        *,
        position: int | None = None,
        offset: int | None = None,
        slot: int | None = None,
        severity: Severity | None = None,
    ) -> Finding:
        """A finding in this file, and of the partition whose file it is, if of one."""
        severity = severity or severity_of(kind)
        name = parse_partition_name(self.file.partition("/")[0])
        of = (None, None) if name is None else (name.topic, name.partition)
        return Finding(self.data_directory, self.file, kind, message, position, offset, slot, severity, *of)
