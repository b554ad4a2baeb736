"""The meaning of the names in a mount, as text: the same for `.kafkafs/README`, `kafkafs mount --help` and the man
page.

The grammar itself is in `grammar` and `times`, the whole of it with its edges in docs/queries.md.
"""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import NamedTuple

WIDTH = 80


class Section(NamedTuple):
    """A heading, what to know, and rows of (what one writes or sees, what it means)."""

    title: str
    text: str
    rows: tuple[tuple[str, str], ...] = ()


FILES = Section(
    "files",
    "Each partition is a directory, named as on disk. Names in by-offset/ and by-time/ are queries: any name of the"
    " grammar can be opened, listed or not.",
    (
        ("by-offset/NAME", "records and batches by offset"),
        ("by-time/NAME", "the same by timestamp"),
        ("by-key/KEY.jsonl", "the last record of a key; KEY.history.jsonl has all that are there"),
        ("segments/", "the broker's own files; FILE.txt is what kafka-dump-log.sh prints of one"),
        ("earliest, latest", "links to the first and the last visible record: raw bytes"),
        ("info.json", "offsets, times, sizes, segments, problems"),
        ("/.kafkafs/", "status.json and metrics: the state of the mount"),
        ("/.topics/TOPIC/", "one topic: its partitions as links; by-time/RANGE.jsonl of all of them, merged by time"),
        (
            "/.replicas/N/",
            "every copy of partitions that several data directories have; N is the number of the directory",
        ),
        ("/.cluster/", "groups, lag, transactions, topics and configurations, from Kafka's own topics"),
    ),
)
POINTS = Section(
    "points",
    "",
    (
        ("23400", "by-offset/: that offset, or the next one that is there; leading zeros do not matter"),
        ("earliest, latest, -100", "by-offset/: the first, the last, the log end less 100"),
        ("1632390207806", "by-time/: the first record at or after it, in milliseconds since 1970"),
        ("@1632390207.806", "by-time/: in seconds, as date +%s prints them"),
        ("2021-09-23T09:43:27Z", "by-time/: ISO 8601, a day alone too; UTC unless it says otherwise"),
        ("now, -90s, -15m, -1h, -2d", "by-time/: from now back"),
        ("end-15m", "by-time/: from the partition's largest timestamp back, for a disk whose clock has stopped"),
        ("before-1632390207806", "by-time/: the last record in front of the one that the time leads to"),
        ("earliest, latest", "by-time/: the first and the last record, as in by-offset/"),
    ),
)
RANGES = Section(
    "ranges",
    "FROM..TO is half-open: FROM is in it, TO is not. FROM.. goes to the end and grows with the log. A range is cut"
    " down to what is there and may be empty; in by-offset/ the log end is called end. In by-time/ TO can be a length:"
    " T..+10m, T-5m..+10m count from the time T.",
)
SUFFIXES = Section(
    "suffixes",
    "",
    (
        ("(none)", "the bytes of the batch, or of all batches of a range, as on disk"),
        (".jsonl", "records, decoded, one JSON object a line"),
        (".decoded.jsonl", "the same with keys and values as JSON, by their schema where one is on these disks"),
        (".follow.jsonl, .decoded.follow.jsonl", "of an open range: at the end it waits for more, as tail -f does"),
        (".key, .value", "of a point: the key's or the value's bytes; null is \"No data available\""),
        (".batches.jsonl", "a line for each batch: header, position, size, whether its CRC is right"),
        (".explain", "of a point: how it was found, step by step"),
    ),
)
EXAMPLES = Section(
    "examples",
    "In the directory of a partition:",
    (
        ("cat by-offset/latest.jsonl", "the newest record, as text (`latest` alone is raw bytes)"),
        ("cat by-offset/-10...jsonl", "the last ten offsets (the range -10.. with the suffix .jsonl)"),
        ("jq -r .value by-offset/23400..23410.jsonl", "ten values"),
        ("cat by-time/2021-09-23T09:43:27Z.jsonl", "the first record at or after that second"),
        ("grep -c error by-time/-1h...jsonl", "lines of the last hour with error in them"),
        ("cat by-time/now...follow.jsonl", "what comes from now on"),
        ("cat by-time/end-15m...jsonl", "the last quarter of an hour that the log has, whatever the clock says"),
        ("cat by-time/before-2021-09-23T09:43:27Z.jsonl", "the last record before that second"),
        ("cat by-time/@$(date +%s -d '1 hour ago')...jsonl", "seconds, with @ before them"),
        ("cat by-time/1632390207806.explain", "how Kafka finds a time"),
        ("grep '\"valid\":false' by-offset/0...batches.jsonl", "damaged batches"),
        ("getfattr -d by-offset/23400", "its place: segment, position, size, codec"),
    ),
)
ERRORS = Section(
    "errors",
    "The errors that a reader gets, and their causes:",
    (
        ("No such file or directory", "no such name, or no such record (below the log start, past the end)"),
        ("No data available", "the key or the value is null"),
        ("Input/output error", "a batch is damaged, or the disk does not answer"),
        ("File too large", "a batch would unpack to more than -o max_batch="),
        ("Illegal seek", "a large decoded range is a stream: cat it into a file first, or -o exact=all"),
        ("Stale file handle", "the log became another one meanwhile: open it again"),
    ),
)
SECTIONS = (FILES, POINTS, RANGES, SUFFIXES, EXAMPLES, ERRORS)

EXIT_CODES = Section(
    "exit codes",
    "Of all commands of kafkafs:",
    (
        ("0", "done; grep: found; diff: equal; audit, triage: nothing is wrong"),
        (
            "1",
            "something could not be done: one sentence says what; grep: nothing found; diff: different; audit, triage:"
            " something is damaged or missing; dump: a file was not whole",
        ),
        ("2", "wrong usage; grep, diff, audit, triage: something could not be read; ls: a path could not be listed"),
        ("70", "a bug in kafkafs: please report it"),
        ("130", "ended by Ctrl-C"),
        ("141", "the reader of the output has left, as in `| head`"),
    ),
)


def plain(sections: Sequence[Section] = SECTIONS) -> str:
    """The sections as text of at most 80 columns."""
    return "\n".join(line for section in sections for line in (*_lines(section), ""))


def _lines(section: Section) -> Iterator[str]:
    yield section.title.upper()
    for line in _wrapped(section.text, WIDTH - 2):
        yield f"  {line}"
    column = max((len(term) for term, _ in section.rows if len(term) <= 28), default=0) + 4
    for term, meaning in section.rows:
        lines = _wrapped(meaning, WIDTH - column)
        if len(term) > column - 4:
            yield f"  {term}"
        else:
            yield f"  {term:{column - 2}}{lines.pop(0)}"
        for line in lines:
            yield " " * column + line


def _wrapped(text: str, width: int) -> list[str]:
    return wrap(text, width, break_on_hyphens=False)
