"""Disagreements between files, collected while the files are dumped and printed after the last one.

The wording is that of Kafka's tool, which prints it to standard error; `problems` are what made that tool stop with an
exception: sentences, printed at once through `report`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from kafkafs.dump.dump_source import Source
from kafkafs.format.batch import INVALID, Batches

Pairs = dict[str, list[tuple[int, int]]]


def _ignore(_sentence: str) -> None:
    pass


@dataclass(slots=True)
class Findings:
    """All findings of one dump, by absolute path and in the order of the files."""

    report: Callable[[str], None] = _ignore
    index_mismatches: dict[str, dict[int, int]] = field(default_factory=dict)
    time_mismatches: Pairs = field(default_factory=dict)
    out_of_order: Pairs = field(default_factory=dict)
    not_found: Pairs = field(default_factory=dict)
    non_consecutive: dict[str, dict[int, int]] = field(default_factory=dict)
    problems: int = 0
    invalid_crcs: list[int] = field(default_factory=list)  # positions, in the file that is being dumped
    is_heard: ClassVar[bool] = True

    def problem(self, source: Source, sentence: str) -> None:
        """Something in the file cannot be shown as it should be; the dump goes on behind it."""
        self.problems += 1
        self.report(f"{source.path}: {sentence}")

    def check_crcs(self, rows: Batches) -> None:
        """Notes which of the entries that are shown have a wrong CRC, as their lines say."""
        self.invalid_crcs += rows["position"][rows["valid"] == INVALID].tolist()

    def report_invalid_crcs(self, source: Source) -> None:
        """Print the findings of a file at its end, because nobody finds one `isvalid: false` among a million lines."""
        if self.invalid_crcs:
            first, others = self.invalid_crcs[0], len(self.invalid_crcs) - 1
            batches = f"the batch at position {first} has" if not others else f"{others + 1} batches have"
            which = f", the first at position {first}" if others else ""
            self.report(f"{source.path}: {batches} a wrong CRC{which}.")
        self.invalid_crcs = []

    def unknown(self, source: Source) -> None:
        """A file of no kind that has a dump."""
        self.report(f"Ignoring unknown file {source.path}")

    def index_mismatch(self, source: Source, index_offset: int, log_offset: int) -> None:
        """The batch at an offset index entry's position does not end with the entry's offset."""
        self.index_mismatches.setdefault(source.absolute_path, {})[index_offset] = log_offset

    def time_mismatch(self, source: Source, index_timestamp: int, log_timestamp: int) -> None:
        """The batch that a time index entry means has another largest timestamp."""
        self.time_mismatches.setdefault(source.absolute_path, []).append((index_timestamp, log_timestamp))

    def time_out_of_order(self, source: Source, timestamp: int, before: int) -> None:
        """A time index entry is not later than the one before it."""
        self.out_of_order.setdefault(source.absolute_path, []).append((timestamp, before))

    def offset_not_found(self, source: Source, index_offset: int, log_offset: int) -> None:
        """No batch ends with a time index entry's offset; `log_offset` is where the first one behind it ends."""
        self.not_found.setdefault(source.absolute_path, []).append((index_offset, log_offset))

    def gaps(self, source: Source, before: Sequence[int], behind: Sequence[int]) -> None:
        """Offsets of records that do not follow those of the records before them (-1 in front of the first)."""
        if behind:
            self.non_consecutive.setdefault(source.absolute_path, {}).update(zip(before, behind, strict=True))

    def lines(self) -> Iterator[str]:
        """The report, line by line."""
        for path, mismatches in self.index_mismatches.items():
            yield f"Mismatches in :{path}"
            for index_offset, log_offset in sorted(mismatches.items(), reverse=True):
                yield f"  Index offset: {index_offset}, log offset: {log_offset}"
        yield from _lists(
            self.time_mismatches, "Found timestamp mismatch in :", "  Index timestamp: ", "log timestamp: "
        )
        yield from _lists(
            self.out_of_order,
            "Found out of order timestamp in :",
            "  Index timestamp: ",
            "Previously indexed timestamp: ",
        )
        yield from _lists(
            self.not_found, "The following indexed offsets are not found in :", "Indexed offset: ", "found log offset: "
        )
        for path, gaps in self.non_consecutive.items():
            yield f"Non-consecutive offsets in {path}"
            for before, offset in sorted(gaps.items()):
                yield f"  {before} is followed by {offset}"


class Unreported(Findings):
    """Findings that nobody asks for: nothing is read to find them, and nothing is kept."""

    is_heard = False

    def check_crcs(self, rows: Batches) -> None:
        """Nobody hears of them."""

    def gaps(self, source: Source, before: Sequence[int], behind: Sequence[int]) -> None:
        """Nobody hears of them."""


def _lists(pairs: Pairs, title: str, first: str, second: str) -> Iterator[str]:
    for path, found in pairs.items():
        yield title + path
        for one, other in found:
            yield f"{first}{one}, {second}{other}"
