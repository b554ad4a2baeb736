"""Files and counts of units that earlier runs wrote, remembered beside the files.

Without this memory a run opens the footer, or the mark, of each file that was ever written. An entry holds as long as
the unit's mark has the size that it had. The memory may be lost or damaged: then the files are asked again.
"""

import json
from contextlib import suppress

from kafkafs.errors import KafkafsError
from kafkafs.spark.export import parquet
from kafkafs.spark.export.dates import undated
from kafkafs.spark.export.export_plan import FileUnit
from kafkafs.spark.export.output import Output
from kafkafs.spark.export.parquet import Counts, CountsByFile

TALLIES = "_kafkafs_export.counts"


class Tallies:
    """The known numbers of the units of one output."""

    def __init__(self, out: Output, name: str = TALLIES) -> None:
        self._out = out
        self._name = name
        self._known = _load(out, name)
        self._has_news = False

    def files_of(self, unit: FileUnit, size: int) -> CountsByFile:
        """The files that a written unit has; `size` is that of its mark."""
        known = self._known.get(unit.mark)
        if known is not None and known[0] == size and all(undated(name) == unit.file for name in known[1]):
            return known[1]
        by_file = parquet.files_of(self._out, unit) if unit.by else {unit.file: parquet.counts(self._out, unit.file)}
        self._known[unit.mark] = size, by_file
        self._has_news = True
        return by_file

    def forget(self, unit: FileUnit) -> None:
        """The unit is written again."""
        self._known.pop(unit.mark, None)

    def save(self) -> None:
        """Writes the memory down. An error here costs the next run some time, and nothing else."""
        if self._has_news:
            saved = {mark: [size, by_file] for mark, (size, by_file) in self._known.items()}
            with suppress(KafkafsError), self._out.writing(self._name) as file:
                file.write(json.dumps(saved, separators=(",", ":")).encode())


def _load(out: Output, name: str) -> dict[str, tuple[int, CountsByFile]]:
    try:
        saved = json.loads(out.read(name) or b"{}")
        return {
            mark: (int(size), {name: Counts(*map(int, counts)) for name, counts in by_file.items()})
            for mark, (size, by_file) in saved.items()
        }
    except (ValueError, TypeError, AttributeError, RecursionError, KafkafsError):
        return {}
