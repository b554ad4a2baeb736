"""`kafkafs grep`: records with a pattern in whole data directories, as lines of JSON, on all processors."""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from kafkafs.cli.exit_codes import EXIT_USAGE, drop_output, say
from kafkafs.cli.mount_options import tier_of
from kafkafs.cli.progress import Progress
from kafkafs.cli.window import limits
from kafkafs.errors import DiskError, KafkafsError, UsageError
from kafkafs.format.jsonl import JsonLines, LineMaker
from kafkafs.format.names import PartitionName
from kafkafs.log.data_directory import DataDirectory, open_data_directory
from kafkafs.log.meta_properties import check_one_cluster
from kafkafs.log.partition import Partition
from kafkafs.log.places import Between
from kafkafs.log.replicas import read_from
from kafkafs.log.topic_choice import topic_choice
from kafkafs.search.search_units import OPTIONS, Searched
from kafkafs.search.selection import FieldMaker, Pattern, Selection
from kafkafs.search.side_by_side import Done, SearchTask, Trouble, search

EXIT_NONE = 1
EXIT_TROUBLE = EXIT_USAGE


def run(arguments: argparse.Namespace) -> int:
    """Prints the records as they are found: 0, 1 or 2, as grep(1) has it."""
    limit: int | None = arguments.max_count
    if limit is not None and limit < 0:
        raise UsageError("-m must not be negative")
    if arguments.files_with_matches:
        limit = 1 if limit is None else min(limit, 1)
    selection, window = _selection(arguments), Between(*limits(arguments))
    directories = _directories(arguments)
    partitions, problems = _chosen(directories, arguments)
    found: Counter[str] = Counter()
    lines_of, fields_of = _makers(directories, partitions, arguments)
    task = SearchTask(selection, window, lines_of, fields_of, limit)
    with _Printer(partitions, window) as printer:
        for event in search(partitions, task, lambda name: limit is not None and found[name] >= limit):
            if isinstance(event, Trouble):
                problems.append(event.sentence)
            elif isinstance(event, Done):
                printer.passed(event.partition, event.size)
            else:
                kept = event.records if limit is None else min(event.records, limit - found[event.partition])
                if arguments.files_with_matches and not found[event.partition]:
                    printer.write(f"{event.partition}\n".encode())
                found[event.partition] += kept
                printer.write(event.lines if kept == event.records else b"".join(event.lines.splitlines(True)[:kept]))
        if arguments.count and not arguments.files_with_matches:
            printer.write("".join(f"{name}:{found[name]}\n" for name in partitions).encode())
    for problem in dict.fromkeys(problems):
        say(problem)
    return EXIT_TROUBLE if problems else 0 if found.total() else EXIT_NONE


def _selection(arguments: argparse.Namespace) -> Selection:
    anywhere = not (arguments.key or arguments.value or arguments.header)
    return Selection(
        Pattern(arguments.pattern, arguments.fixed_strings, arguments.ignore_case),
        arguments.key or anywhere, arguments.value or anywhere,
        tuple(name.encode("utf-8", "surrogateescape") for name in arguments.header),
        arguments.invert_match, arguments.decoded,
    )  # fmt: skip


class _Printer:
    """Standard output, flushed at once, and how far the search is on standard error, until the end of `with`."""

    def __init__(self, partitions: Mapping[str, Partition], window: Between) -> None:
        self._out, self._size, self._done = sys.stdout.buffer, 0, 0
        self._progress = Progress()
        for partition in partitions.values() if self._progress.is_shown else ():
            with suppress(KafkafsError):
                self._size += Searched(partition, window).size()

    def write(self, lines: bytes) -> None:
        """Writes lines at once."""
        try:
            if lines:
                with self._progress.aside():
                    self._out.write(lines)
                    self._out.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            drop_output()  # what is left cannot be written either
            raise DiskError(f"standard output cannot be written: {error.strerror}") from None

    def passed(self, name: str, size: int) -> None:
        """Shows that so many bytes more of a partition were searched."""
        self._done += size
        if self._progress.is_shown:
            self._progress.show(name, self._done, self._size)

    def __enter__(self) -> "_Printer":
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.clear()


def _directories(arguments: argparse.Namespace) -> list[DataDirectory]:
    """The data directories, each once."""
    paths = {os.path.realpath(path): Path(path).absolute() for path in arguments.data_dirs}
    options = replace(OPTIONS, tiered=tier_of(arguments.options))
    directories = [open_data_directory(path, options) for path in paths.values()]
    check_one_cluster(directories)
    for directory in directories:
        directory.stand_beside(directories)
    return directories


def _chosen(directories: list[DataDirectory], arguments: argparse.Namespace) -> tuple[dict[str, Partition], list[str]]:
    """The partitions to be searched, by directory name, of replicas the furthest; and what is wrong with others.

    UsageError for topics that are not there.
    """
    problems = [*filter(None, map(_why_unknown, directories))]
    names = {name: parsed for each in directories for name, parsed in each.names().items() if not parsed.mark}
    topics = topic_choice(arguments.topics, arguments.topic_pattern)
    topics.check((parsed.topic for parsed in names.values()), ", ".join(repr(str(each.path)) for each in directories))
    chosen = {}
    for name, parsed in sorted(names.items(), key=lambda each: (each[1].topic, each[1].partition)):
        if topics.takes(parsed.topic):
            try:
                chosen[name] = read_from([each for each in directories if name in each.names()], name).partition(name)
            except KafkafsError as error:
                problems.append(str(error))
    return chosen, problems


def _why_unknown(directory: DataDirectory) -> str:
    """Why it is not known which partitions only the tier has; empty if it is known."""
    try:
        directory.wait_for_lost()
    except KafkafsError as error:
        return str(error)
    return ""


class _Decoder(LineMaker, FieldMaker, Protocol):
    """Makes the lines and fields of one partition, by its schemas."""


def _makers(
    directories: list[DataDirectory], partitions: Mapping[str, Partition], arguments: argparse.Namespace
) -> tuple[Callable[[str], LineMaker] | None, Callable[[str], FieldMaker] | None]:
    """What makes the lines of a partition, and what decodes its fields; None for what is not asked for."""
    is_shown = not (arguments.count or arguments.files_with_matches)
    if arguments.decoded:
        decoder = _decoder(directories)

        def decoded(name: str) -> _Decoder:
            """Lines and fields as `.decoded.jsonl` has them."""
            return decoder(partitions[name].name)

        return decoded if is_shown else None, decoded

    def plain(name: str) -> JsonLines:
        """Lines as `.jsonl` has them."""
        return JsonLines(partitions[name].name.topic, partitions[name].name.partition)

    return plain if is_shown else None, None


def _decoder(directories: list[DataDirectory]) -> Callable[[PartitionName], _Decoder]:
    from kafkafs.cluster.schema_lines import lines_with_schemas
    from kafkafs.cluster.schema_topic import SchemaTopic  # 13 ms with all that schemas take: most searches do without

    return lines_with_schemas(SchemaTopic(directories, OPTIONS), OPTIONS.memory)
