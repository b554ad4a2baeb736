"""`kafkafs du`: what fills the disk, and what a broker will delete of it."""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from kafkafs.cli.exit_codes import EXIT_FAILED, say
from kafkafs.cli.progress import FileProgress
from kafkafs.cli.tables import aligned, human, json_line
from kafkafs.cli.window import moment
from kafkafs.cluster.cluster import Cluster
from kafkafs.cluster.image import Image
from kafkafs.cluster.metadata import read_once
from kafkafs.disk.data_paths import data_path
from kafkafs.disk.whereabouts import each_once
from kafkafs.errors import KafkafsError, UsageError, printable
from kafkafs.format.java_properties import parse_properties
from kafkafs.format.names import METADATA_LOG
from kafkafs.log.data_directory import DataDirectory, open_data_directory
from kafkafs.log.meta_properties import check_one_cluster, cluster_ids
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.replicas import furthest, replicas
from kafkafs.overview.configs import parse_set
from kafkafs.overview.deep import read_all
from kafkafs.overview.report import Question, Read, Row, UsageReport, rows_of
from kafkafs.overview.scanning import LEFT, DirectoryCount, Tell, count

HEAD = ("TOPIC", "SIZE", "SEGMENTS", "POLICY", "RETENTION", "DELETABLE", "NEXT DELETION", "KEPT BY")
PARTS = ("TOPIC", "SIZE", "KEYS", "VALUES", "HEADERS", "FRAMING", "RATIO", "SUPERSEDED", "TOMBSTONES")
_NUMBERS, _PART_NUMBERS = (1, 2, 5), range(1, len(PARTS))
_NONE = "-"
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1))


def run(arguments: argparse.Namespace) -> int:
    """Prints the rows: 1 if something could not be read, and is missing in them."""
    at_ms, file = moment("--at", arguments.at), _properties_of(arguments.server_properties)
    at_ms = time.time_ns() // 1_000_000 if at_ms is None else at_ms
    directories = opened(arguments.data_dirs)
    problems = cluster_ids(directories)[1]
    image = image_of(directories, problems.append)
    here = {name.topic: None for directory in directories for name in directory.names().values() if not name.mark}
    topics = {**here, **(image.ids if image is not None else {})}
    question = Question(at_ms, parse_set(arguments.set, topics), file, arguments.partitions)
    counts = [(directory, count(directory, problems.append)) for directory in directories]
    for directory, counted in counts:
        problems += [
            *(f"{directory.path}: {each}" for each in counted.checkpoints),
            *counted.times_denied(directory.path),
        ]
    read = _read(directories, counts, problems) if arguments.deep else None
    found = rows_of(counts, image, question, read)
    for problem in problems:
        say(problem)
    if found.defaults:
        say(_name_defaults(found.defaults))
    if arguments.json:
        for row in found.rows:
            print(json_line(row))
    else:
        table = _table(found, _parts, PARTS) if arguments.deep else _table(found, partial(_columns, at_ms=at_ms), HEAD)
        print(*aligned(table, _PART_NUMBERS if arguments.deep else _NUMBERS), sep="\n")
    return EXIT_FAILED if problems else 0


def opened(words: Sequence[str]) -> list[DataDirectory]:
    """The data directories of one cluster, whose damaged checkpoints the command names itself; UsageError for anything
    else."""
    words = each_once(words)  # as du(1) does
    directories = [open_data_directory(data_path(word), tell=lambda _: None) for word in words]
    for word, directory in zip(words, directories, strict=True):
        if directory.is_tier:
            raise UsageError(f"{word!r} is a remote tier; name the data directory of a broker, one of log.dirs")
    check_one_cluster(directories)
    return directories


def image_of(directories: Sequence[DataDirectory], tell: Tell) -> Image | None:
    """The metadata, in whichever directory they are; None if none has them."""
    chosen = furthest(replicas(directories, METADATA_LOG))
    if chosen is None:
        return None
    try:
        metadata = read_once(chosen, ReadOptions())
    except KafkafsError as error:
        tell(f"{METADATA_LOG} cannot be read: {error}")
        return None
    for problem in metadata.problems:
        tell(problem)
    return metadata.image


def _read(
    directories: Sequence[DataDirectory], counts: Sequence[tuple[DataDirectory, DirectoryCount]], problems: list[str]
) -> Read:
    """The contents of all logs; what is damaged is added to `problems`."""
    cluster, progress = Cluster(directories, ReadOptions()), FileProgress()
    cluster.look()
    names = {number: each.transactional_id for each, _ in cluster.transactions.all() for number in each.producer_ids}
    names |= {each.producer_id: each.transactional_id for each, _ in cluster.transactions.all()}
    with progress:
        read = read_all(counts, names, partial(progress.show, "du"))
    problems += [problem for each in read.values() for problem in each.problems]
    return read


def _properties_of(path: str | None) -> Mapping[str, str]:
    if path is None:
        return {}
    try:
        return parse_properties(Path(path).read_bytes().decode("utf-8", "replace"))
    except OSError as error:
        raise UsageError(f"--server-properties {path!r} cannot be read: {error.strerror}") from error


def _name_defaults(defaults: Mapping[str, int]) -> str:
    names = ", ".join(
        f"{name} ({number} topic{'s' if number > 1 else ''})" for name, number in sorted(defaults.items())
    )
    return (
        f"these settings are not on the disks, so Kafka's default is used: {names}; --server-properties FILE names the"
        " broker's own file"
    )


def _table(found: UsageReport, columns: Callable[[Row], Sequence[str]], head: Sequence[str]) -> list[Sequence[str]]:
    """The rows for people: leftover files of a kind together, the total last."""

    def leftover(name: str, size: int) -> Sequence[str]:
        return printable(name), human(size), *[_NONE] * (len(head) - 3), "leftover"

    table, files = [head], dict[str, list[int]]()
    *rows, total = found.rows
    for row in rows:
        if (kind := _kind_of(row)) is not None:
            files.setdefault(kind, []).append(row["bytes"])
        else:
            table.append(columns(row) if row["path"] is None else leftover(row["path"], row["bytes"]))
    table += [leftover(f"{len(sizes)} x {kind}", sum(sizes)) for kind, sizes in files.items()]
    return [*table, columns(total)]


def _kind_of(row: Row) -> str | None:
    """The end of a leftover's name that a broker gave it; None for all other rows."""
    path = row["path"]
    return None if path is None else next((kind for kind in LEFT if path.endswith(kind)), None)


def _name(row: Row) -> str:
    if row["topic"] is None:
        return "TOTAL"
    return str(row["topic"]) if row["partition"] is None else f"{row['topic']}-{row['partition']}"


def _parts(row: Row) -> Sequence[str]:
    """The parts of a log that was read."""
    ratio = row["compressionRatio"]
    sizes = [human(row[f"{part}Bytes"]) for part in ("key", "value", "header", "framing")]
    shown = _NONE if ratio is None else f"{ratio:.2f}"
    return _name(row), human(row["bytes"]), *sizes, shown, human(row["supersededBytes"]), str(row["tombstones"])


def _columns(row: Row, at_ms: int) -> Sequence[str]:
    kept = ", ".join(f"{reason} {human(size)}" for reason, size in sorted(row["kept"].items(), key=_largest))
    next_ms = row["nextDeletion"]
    when = _NONE if next_ms is None else "now" if next_ms <= at_ms else day_and_time(next_ms)
    policy = _NONE if row["policy"] is None else row["policy"] or '""'
    return (
        _name(row), human(row["bytes"]), str(row["segments"]), policy, _retention(row), human(row["deletable"]), when,
        kept or _NONE,
    )  # fmt: skip


def _largest(item: tuple[str, int]) -> int:
    return -item[1]


def _retention(row: Row) -> str:
    """The limits, such as `7d` or `7d, 1.0G`."""
    limits: list[str] = []
    if (row["retentionMs"] or -1) >= 0:
        limits.append(length(row["retentionMs"]))
    if (row["retentionBytes"] or -1) >= 0:
        limits.append(human(row["retentionBytes"]))
    return ", ".join(limits) or _NONE


def length(duration_ms: int) -> str:
    """A length of time in its two largest units, rounded down."""
    parts, left = list[str](), duration_ms
    for unit, size in _UNITS:
        if left >= size and len(parts) < 2:
            parts.append(f"{left // size}{unit}")
            left %= size
    return "".join(parts) or "0s"


def day_and_time(timestamp_ms: int) -> str:
    """A moment in UTC, to the second."""
    try:
        return datetime.fromtimestamp(timestamp_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return f"{timestamp_ms} ms"
