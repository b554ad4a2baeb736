"""`kafkafs grep`: records with a pattern in whole data directories, as lines of JSON, on all processors."""

import argparse
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kafkafs.cli.endings import EXIT_USAGE, say
from kafkafs.cli.parser import TIME_BACK, Commands, take_for_values
from kafkafs.errors import DiskError, KafkafsError, UsageError

if TYPE_CHECKING:
    from kafkafs.format.jsonl import LineMaker
    from kafkafs.log.data_directory import DataDirectory
    from kafkafs.log.partition import Partition
    from kafkafs.search.grep import Window
    from kafkafs.search.selection import FieldMaker, Selection

EXIT_NONE = 1
EXIT_TROUBLE = EXIT_USAGE

DESCRIPTION = """Prints the records that have PATTERN in their key or value as lines of JSON, those of a partition in
the order of their offsets. PATTERN is a regular expression as Python has them (., [a-z], (?i), ...), text where a field
is valid UTF-8, else bytes. Exit code 0: found; 1: not found; 2: something could not be read, which standard error names
at the end, or was asked wrongly."""


def add(commands: Commands) -> None:
    parser = commands.add_parser(
        "grep", help="search records", description=DESCRIPTION,
        examples=["kafkafs grep -F customer-17 /var/kafka-logs", "kafkafs grep -c --topics test . /var/kafka-logs"],
    )  # fmt: skip
    take_for_values(parser, TIME_BACK)
    parser.add_argument("pattern", metavar="PATTERN", help="what is looked for")
    parser.add_argument("data_dirs", nargs="+", metavar="DATA_DIR", help="a Kafka data directory, one of log.dirs")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("-F", "--fixed-strings", action="store_true", help="PATTERN is a string, no expression")
    kind.add_argument("-E", "--extended-regexp", action="store_true", help="PATTERN is an expression (the default)")
    parser.add_argument("-i", "--ignore-case", action="store_true", help="take letters of either case for each other")
    parser.add_argument("-v", "--invert-match", action="store_true", help="print records without PATTERN")
    parser.add_argument("-c", "--count", action="store_true", help="print TOPIC-PARTITION:COUNT, no records")
    parser.add_argument("-l", "--files-with-matches", action="store_true", help="print TOPIC-PARTITION, no records")
    parser.add_argument("-m", "--max-count", type=int, metavar="N", help="stop after N records of each partition")
    fields = parser.add_argument_group("where PATTERN is looked for (default: keys and values)")
    fields.add_argument("--key", action="store_true", help="in keys")
    fields.add_argument("--value", action="store_true", help="in values")
    fields.add_argument("--header", action="append", default=[], metavar="NAME", help="in the headers of that name")
    part = parser.add_argument_group("what is searched")
    part.add_argument("--topics", action="append", default=[], metavar="TOPIC[,TOPIC...]", help="these topics")
    part.add_argument("--topic-pattern", metavar="REGEX", help="topics whose name has this in it")
    part.add_argument("--from-offset", metavar="OFFSET", help="the first offset")
    part.add_argument("--to-offset", metavar="OFFSET", help="the first offset that is too large")
    part.add_argument("--from-time", metavar="TIME", help="from the first record at or after this; as in by-time/")
    part.add_argument("--to-time", metavar="TIME", help="up to the first record at or after this")
    parser.add_argument("--decoded", action="store_true", help="search and print values as .decoded.jsonl shows them")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    try:
        return _grep(arguments)
    except KafkafsError as error:
        say(str(error))
        return EXIT_TROUBLE


def _grep(arguments: argparse.Namespace) -> int:
    from kafkafs.search.side_by_side import Done, SearchTask, Trouble, search

    limit: int | None = arguments.max_count
    if limit is not None and limit < 0:
        raise UsageError("-m must not be negative")
    if arguments.files_with_matches:
        limit = 1 if limit is None else min(limit, 1)
    selection, window = _selection(arguments), _window(arguments)
    directories = _directories(arguments)
    partitions, problems = _chosen(directories, arguments)
    found: Counter[str] = Counter()
    printer = _Printer(partitions, window)
    lines_of, fields_of = _makers(directories, partitions, arguments)
    task = SearchTask(selection, window, lines_of, fields_of, limit)
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
    printer.end()
    if arguments.count and not arguments.files_with_matches:
        printer.write("".join(f"{name}:{found[name]}\n" for name in partitions).encode())
    for problem in dict.fromkeys(problems):
        say(problem)
    return EXIT_TROUBLE if problems else 0 if found.total() else EXIT_NONE


def _selection(arguments: argparse.Namespace) -> "Selection":
    from kafkafs.search.pattern import Pattern
    from kafkafs.search.selection import Selection

    anywhere = not (arguments.key or arguments.value or arguments.header)
    return Selection(
        Pattern(arguments.pattern, arguments.fixed_strings, arguments.ignore_case),
        arguments.key or anywhere, arguments.value or anywhere,
        tuple(name.encode("utf-8", "surrogateescape") for name in arguments.header),
        arguments.invert_match, arguments.decoded,
    )  # fmt: skip


class _Printer:
    """Standard output, flushed at once, and how far the search is on standard error."""

    def __init__(self, partitions: "Mapping[str, Partition]", window: "Window") -> None:
        from kafkafs.cli.progress import Progress
        from kafkafs.search.grep import extent

        if sys.stdout is None:
            raise UsageError("standard output is closed, so there is nowhere to print")
        self._out, self._size, self._done = sys.stdout.buffer, 0, 0
        self._progress = Progress()
        for partition in partitions.values() if self._progress.is_shown else ():
            with suppress(KafkafsError):
                self._size += extent(partition, window)

    def write(self, lines: bytes) -> None:
        """Some lines more."""
        try:
            if lines:
                self._out.write(lines)
                self._out.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._out.fileno())  # what is left cannot be written either
            raise DiskError(f"standard output cannot be written: {error.strerror}") from None

    def passed(self, name: str, size: int) -> None:
        """So much more was searched."""
        self._done += size
        if self._progress.is_shown:
            self._progress.show(name, self._done, self._size)

    def end(self) -> None:
        """No progress any more."""
        self._progress.clear()


def _directories(arguments: argparse.Namespace) -> "list[DataDirectory]":
    """The data directories, each once."""
    from kafkafs.log.data_directory import open_data_directory
    from kafkafs.search.grep import OPTIONS

    paths = {os.path.realpath(path): Path(path).absolute() for path in arguments.data_dirs}
    return [open_data_directory(path, OPTIONS) for path in paths.values()]


def _chosen(
    directories: "list[DataDirectory]", arguments: argparse.Namespace
) -> "tuple[dict[str, Partition], list[str]]":
    """The partitions to be searched, by directory name, of replicas the furthest; and what is wrong with others.

    UsageError for topics that are not there.
    """
    from kafkafs.log.replicas import read_from

    names = {name: parsed for each in directories for name, parsed in each.names().items() if not parsed.mark}
    wanted = {topic for topics in arguments.topics for topic in topics.split(",") if topic}
    missing = wanted - {parsed.topic for parsed in names.values()}
    if missing:
        places = ", ".join(repr(str(each.path)) for each in directories)
        raise UsageError(f"there is no topic {min(missing)!r} in {places}")
    try:
        pattern = re.compile(arguments.topic_pattern or "")
    except re.error as error:
        raise UsageError(f"--topic-pattern {arguments.topic_pattern!r} is no regular expression: {error}") from None
    chosen, problems = {}, []
    for name, parsed in sorted(names.items(), key=lambda each: (each[1].topic, each[1].partition)):
        if (not wanted or parsed.topic in wanted) and pattern.search(parsed.topic):
            try:
                chosen[name] = read_from([each for each in directories if name in each.names()], name).partition(name)
            except KafkafsError as error:
                problems.append(str(error))
    if arguments.topic_pattern and not (chosen or problems):
        raise UsageError(f"no topic has {arguments.topic_pattern!r} in its name")
    return chosen, problems


def _makers(
    directories: "list[DataDirectory]", partitions: "dict[str, Partition]", arguments: argparse.Namespace
) -> "tuple[Callable[[str], LineMaker] | None, Callable[[str], FieldMaker] | None]":
    """What makes the lines of a partition, and what decodes its fields; None for what is not asked for."""
    from kafkafs.format.jsonl import JsonLines

    is_shown = not (arguments.count or arguments.files_with_matches)
    if arguments.decoded:
        from kafkafs.cluster.schema_topic import SchemaTopic
        from kafkafs.format.decoded_lines import DecodedLines
        from kafkafs.search.grep import OPTIONS
        from kafkafs.view.decoded_lines import lines_with_schemas

        make = lines_with_schemas(SchemaTopic(directories, OPTIONS), OPTIONS.memory)

        def decoded(name: str) -> DecodedLines:
            return make(partitions[name].name)

        return decoded if is_shown else None, decoded

    def plain(name: str) -> JsonLines:
        return JsonLines(partitions[name].name.topic, partitions[name].name.partition)

    return plain if is_shown else None, None


def _window(arguments: argparse.Namespace) -> "Window":
    from kafkafs.search.grep import Window
    from kafkafs.view.times import parse_int64, parse_time_ms

    now_ms = time.time_ns() // 1_000_000

    def number(text: str | None, flag: str, what: str, parse: Callable[[str], int | None]) -> int | None:
        value = None if text is None else parse(text)
        if text is not None and value is None:
            raise UsageError(f"{flag} {text!r} is not {what}")
        return value

    def offset(text: str) -> int | None:
        return parse_int64(text) if text.isascii() and text.isdecimal() else None

    def moment(text: str) -> int | None:
        return parse_time_ms(text, now_ms)

    return Window(
        number(arguments.from_offset, "--from-offset", "an offset", offset),
        number(arguments.to_offset, "--to-offset", "an offset", offset),
        number(arguments.from_time, "--from-time", "a time", moment),
        number(arguments.to_time, "--to-time", "a time", moment),
    )
