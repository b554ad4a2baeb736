"""A finding: what is wrong, and where exactly."""

import json
from dataclasses import asdict, dataclass


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

    def to_json(self) -> str:
        """One JSON object in one line."""
        names = {"data_directory": "dataDirectory"}
        return json.dumps({names.get(name, name): value for name, value in asdict(self).items()})


@dataclass(frozen=True, slots=True)
class Where:
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
    ) -> Finding:
        """A finding in this file."""
        return Finding(self.data_directory, self.file, kind, message, position, offset, slot)
