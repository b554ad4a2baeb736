"""Disagreements between files, collected while the files are dumped and printed after the last one.

The wording is that of Kafka's tool, which prints it to standard error; `problems` are what made that tool stop with an
exception: sentences, printed at once through `report`.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import ClassVar, NamedTuple

from kafkafs.dump.dump_options import WHOLE, DumpOptions, OffsetWindow
from kafkafs.dump.dump_source import Source
from kafkafs.format.batch import INVALID, Batches

_Pair = tuple[int, int]


def _last_of_each(pairs: Iterable[_Pair]) -> list[_Pair]:
    """The pairs by their first numbers; of equal ones the pair that came last."""
    together = groupby(sorted(pairs, key=itemgetter(0)), itemgetter(0))
    return [deque(same, maxlen=1)[0] for _, same in together]


class Kind(NamedTuple):
    """A kind of disagreement between two numbers: the words before its file and before each number; the order."""

    title: str
    first: str
    second: str
    ordered: Callable[[Iterable[_Pair]], Iterable[_Pair]] = iter


INDEX_MISMATCH = Kind(
    "Mismatches in :", "  Index offset: ", ", log offset: ", lambda pairs: reversed(_last_of_each(pairs))
)
"""The batch at an offset index entry's position does not end with the entry's offset."""

TIME_MISMATCH = Kind("Found timestamp mismatch in :", "  Index timestamp: ", ", log timestamp: ")
"""The batch that a time index entry means has another largest timestamp."""

TIME_OUT_OF_ORDER = Kind("Found out of order timestamp in :", "  Index timestamp: ", ", Previously indexed timestamp: ")
"""A time index entry is not later than the one before it."""

OFFSET_NOT_FOUND = Kind("The following indexed offsets are not found in :", "Indexed offset: ", ", found log offset: ")
"""No batch ends with a time index entry's offset; the other offset is where the first one behind it ends."""

GAP = Kind("Non-consecutive offsets in ", "  ", " is followed by ", _last_of_each)
"""The offset of a record does not follow that of the record before it (-1 in front of the first)."""


def _ignore(_sentence: str) -> None:
    pass


@dataclass(slots=True)
class Findings:
    """All findings of one dump, by kind, by absolute path and in the order of the files."""

    report: Callable[[str], None] = _ignore
    problems: int = 0
    _pairs: defaultdict[tuple[Kind, str], list[_Pair]] = field(default_factory=lambda: defaultdict(list))
    _invalid_crcs: list[int] = field(default_factory=list)  # positions, in the file that is being dumped
    is_heard: ClassVar[bool] = True

    def problem(self, source: Source, sentence: str) -> None:
        """Something in the file cannot be shown as it should be; the dump goes on behind it."""
        self.problems += 1
        self.report(f"{source.path}: {sentence}")

    def check_crcs(self, rows: Batches) -> None:
        """Notes which of the entries that are shown have a wrong CRC, as their lines say."""
        self._invalid_crcs += rows["position"][rows["valid"] == INVALID].tolist()

    def report_invalid_crcs(self, source: Source) -> None:
        """Print the findings of a file at its end, because nobody finds one `isvalid: false` among a million lines."""
        if self._invalid_crcs:
            first, others = self._invalid_crcs[0], len(self._invalid_crcs) - 1
            batches = f"the batch at position {first} has" if not others else f"{others + 1} batches have"
            which = f", the first at position {first}" if others else ""
            self.report(f"{source.path}: {batches} a wrong CRC{which}.")
        self._invalid_crcs = []

    def unknown(self, source: Source) -> None:
        """A file of no kind that has a dump."""
        self.report(f"Ignoring unknown file {source.path}")

    def disagree(self, kind: Kind, source: Source, pairs: Iterable[_Pair]) -> None:
        """Numbers of the file, each with the number that contradicts it."""
        if found := list(pairs):
            self._pairs[kind, source.absolute_path] += found

    def lines(self) -> Iterator[str]:
        """The report, line by line."""
        for kind in (INDEX_MISMATCH, TIME_MISMATCH, TIME_OUT_OF_ORDER, OFFSET_NOT_FOUND, GAP):
            for (found_kind, path), pairs in self._pairs.items():
                if found_kind is kind:
                    yield kind.title + path
                    yield from (f"{kind.first}{one}{kind.second}{other}" for one, other in kind.ordered(pairs))


class Unreported(Findings):
    """Findings that nobody asks for: nothing is read to find them, and nothing is kept."""

    is_heard = False

    def check_crcs(self, rows: Batches) -> None:
        """Nobody hears of them."""

    def disagree(self, kind: Kind, source: Source, pairs: Iterable[_Pair]) -> None:
        """Nobody hears of them."""


@dataclass(frozen=True, slots=True)
class Dump:
    """One file to dump, which part of it and how, and who hears of what is wrong with it."""

    source: Source
    options: DumpOptions
    findings: Findings
    window: OffsetWindow = WHOLE

    def problem(self, sentence: str) -> None:
        """See `Findings`."""
        self.findings.problem(self.source, sentence)

    def disagree(self, kind: Kind, one: int, other: int) -> None:
        """See `Findings`."""
        self.findings.disagree(kind, self.source, [(one, other)])
