"""The known facts about one remote segment. Names tell where it begins; where it ends and whose it is, who reads
more."""

from collections.abc import Mapping
from typing import NamedTuple

from kafkafs.disk.objects import Object

Epochs = tuple[tuple[int, int], ...]
"""Leader epochs with the first offset of each, ascending."""


class Upload(NamedTuple):
    """A remote segment. None is what has not been read yet."""

    base_offset: int
    segment_id: str
    files: Mapping[str, Object]  # in the tier, by kind
    size: int | None = None  # bytes of its log
    end_offset: int | None = None  # of its last record
    epochs: Epochs | None = None
    largest: int | None = None  # timestamp of its records [ms]
    is_measured: bool = False  # size and end are those that the broker noted: a shorter object would be noticed
    trouble: str = ""  # why nothing of it can be read, as far as that is known: it counts, and is an error

    @property
    def object(self) -> str:
        """The key of its log; what it is called in the metadata, where that is not in the tier. Empty where nothing is
        known of it."""
        found = self.files.get("log")
        if found is None and not self.segment_id:
            return ""
        name = f"{self.base_offset:020}-{self.segment_id}".rstrip("-")
        return f"{name}.log" if found is None else found.key

    def completed(self, other: "Upload") -> "Upload":
        """This one, with what is known of it elsewhere."""
        return self._replace(
            size=other.size, end_offset=other.end_offset, epochs=other.epochs, largest=other.largest,
            is_measured=other.is_measured,
        )  # fmt: skip
