"""`kafkafs grep`: records with a pattern in whole data directories, as lines of JSON, on all processors."""

import argparse
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from kafkafs.cli.exit_codes import say
from kafkafs.cli.mount_options import tier_of
from kafkafs.cli.search_output import SearchOutput
from kafkafs.cli.window import limits
from kafkafs.disk.data_paths import data_path
from kafkafs.disk.whereabouts import each_once
from kafkafs.errors import KafkafsError, NotFound, Unanswered, UsageError
from kafkafs.format.jsonl import JsonLines, LineMaker
from kafkafs.format.names import METADATA_LOG, PartitionName
from kafkafs.format.times import FromEnd
from kafkafs.log.data_directory import DataDirectory, open_data_directory
from kafkafs.log.meta_properties import check_one_cluster
from kafkafs.log.partition import Partition
from kafkafs.log.places import Between
from kafkafs.log.replicas import read_from
from kafkafs.log.topic_choice import TopicChoice
from kafkafs.search.everywhere import search_files
from kafkafs.search.record_files import NamedDirectory, left_out, record_files, takes
from kafkafs.search.results import SearchTask
from kafkafs.search.search_units import OPTIONS, size_of
from kafkafs.search.selection import FieldMaker, Pattern, Selection
from kafkafs.search.side_by_side import search

if TYPE_CHECKING:
    from kafkafs.cluster.schema_lines import LinesOf


def run(arguments: argparse.Namespace) -> int:
    """Prints the records as they are found: 0, 1 or 2, as grep(1) has it."""
    if arguments.max_count is not None and arguments.max_count < 0:
        raise UsageError("-m must not be negative")
    selection, window = _selection(arguments), Between(*limits(arguments))
    directories = _directories(arguments)
    if arguments.everywhere:
        return _everywhere(arguments, directories, selection, window)
    return _logs(arguments, list(directories.values()), selection, window)


def _logs(
    arguments: argparse.Namespace, directories: list[DataDirectory], selection: Selection, window: Between
) -> int:
    """Searches the logs as a consumer would see them."""
    partitions, problems = _chosen(directories, arguments)
    output = SearchOutput(arguments, problems)
    task = SearchTask(selection, window, *_makers(directories, arguments), output.limit)
    with output:
        for partition in partitions.left() if output.is_progress_shown else ():
            with suppress(KafkafsError):
                output.expect(size_of(partition, window))
        for event in search(partitions, task, output.is_full):
            output.show(event)
        output.write_counts(partitions)
        _report_missing(arguments, directories, output)
    left = output.left.and_more(left_out(directories, TopicChoice.parse(arguments.topics, arguments.topic_pattern)))
    if left.files:
        say(_LEFT_OUT.format(left.files, "s" if left.files > 1 else "", left.size))
    return output.code()


def _report_missing(arguments: argparse.Namespace, directories: Sequence[DataDirectory], output: SearchOutput) -> None:
    """Name the partitions that the metadata know and no disk here has: their records were not searched."""
    if not any(METADATA_LOG in each.names() for each in directories):
        return
    from kafkafs.tables.missing import missing_sentence, missing_topics, unknown  # takes Kafka's schemas

    if untold := next(filter(None, map(_why_unknown, directories)), ""):
        raise Unanswered(untold)  # now, and not after as long a wait once more
    topics = TopicChoice.parse(arguments.topics, arguments.topic_pattern)
    paths, source = [each.path for each in directories], tier_of(arguments.options)
    for problem in unknown(paths, source):
        output.keep_error(problem)
    if found := missing_topics(paths, topics.takes, source):
        output.keep_error(f"{missing_sentence(found)}; name the other brokers' data directories too")


_LEFT_OUT = (
    "{} file{} with records ({} bytes) not searched: deleted, stray or future partitions, or segments that are deleted,"
    " swapped or cleaned; --everywhere searches them, too"
)


def _everywhere(
    arguments: argparse.Namespace, directories: Mapping[str, DataDirectory], selection: Selection, window: Between
) -> int:
    """Searches all files with records, one by one, until a look finds no new file."""
    if isinstance(window.from_time, FromEnd) or isinstance(window.to_time, FromEnd):
        raise UsageError("--everywhere takes no time that counts back from the newest record (end-...): name a date")
    output, topics = SearchOutput(arguments, []), TopicChoice.parse(arguments.topics, arguments.topic_pattern)
    _check_topics(topics, list(directories.values()), marked=True)
    tier = tier_of(arguments.options)
    given = [
        NamedDirectory(each, path, path if each.is_tier else "" if tier is None else tier.shown_as)
        for path, each in directories.items()
    ]
    task = SearchTask(selection, window, *_makers(list(directories.values()), arguments), output.limit)
    paths: dict[str, None] = {}
    with output:
        searched = set[tuple[int, int, str]]()
        while files := [each for each in record_files(given, topics, output.keep_error) if each.key not in searched]:
            output.expect(sum(each.size for each in files))
            gone = {event.partition for event in search_files(files, task) if not output.show(event)}
            found = [each for each in files if each.path not in gone]
            paths.update(dict.fromkeys(each.path for each in found))
            searched.update(each.key for each in found)
            if not found:
                output.keep_error(f"{files[0].path} changes its name again and again; search again")
                break
        output.write_counts(paths)
        _report_missing(arguments, [*directories.values()], output)
    return output.code()


def _selection(arguments: argparse.Namespace) -> Selection:
    anywhere = not (arguments.key or arguments.value or arguments.header)
    return Selection(
        Pattern(arguments.pattern, arguments.fixed_strings, arguments.ignore_case, arguments.word_regexp),
        arguments.key or anywhere, arguments.value or anywhere,
        tuple(name.encode("utf-8", "surrogateescape") for name in arguments.header),
        arguments.invert_match, arguments.decoded,
    )  # fmt: skip


def _directories(arguments: argparse.Namespace) -> dict[str, DataDirectory]:
    """The data directories, each once, by the path that names it first."""
    if not os.path.exists(arguments.data_dirs[0]) and os.path.isdir(arguments.pattern):
        first, pattern = arguments.data_dirs[0], arguments.pattern
        raise UsageError(
            f"{first!r} is not a directory, but the pattern {pattern!r} is: the pattern comes first, as in"
            f" `kafkafs grep {shlex.join([first, pattern])}`"
        )
    options = replace(OPTIONS, tiered=tier_of(arguments.options))
    paths = each_once(arguments.data_dirs)
    directories = {path: open_data_directory(data_path(path), options) for path in paths}
    together = list(directories.values())
    check_one_cluster(together)
    for directory in together:
        directory.read_together_with(together)
    return directories


class _Partitions(Mapping[str, Partition]):
    """Partitions by directory name. Each is made when it is asked for: there can be 100,000, and what a search
    remembers of one is good for nobody afterwards."""

    def __init__(self, directories: Mapping[str, DataDirectory]) -> None:
        """`directories`: in which data directory each is."""
        self._directories = directories

    def __getitem__(self, name: str) -> Partition:
        return self._directories[name].partition(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._directories)

    def __len__(self) -> int:
        return len(self._directories)

    def left(self) -> Iterator[Partition]:
        """Those that are still there."""
        for name in self:
            with suppress(NotFound):
                yield self[name]


def _chosen(directories: list[DataDirectory], arguments: argparse.Namespace) -> tuple[_Partitions, list[str]]:
    """The partitions to be searched, by directory name, of replicas the furthest; and what is wrong with others.

    UsageError for topics that are not there.
    """
    problems = [*filter(None, map(_why_unknown, directories))]
    names = {name: parsed for each in directories for name, parsed in each.names().items() if not parsed.mark}
    topics = TopicChoice.parse(arguments.topics, arguments.topic_pattern)
    _check_topics(topics, directories)
    chosen = {}
    for name, parsed in sorted(names.items(), key=lambda each: (each[1].topic, each[1].partition)):
        if topics.takes(parsed.topic):
            try:
                chosen[name] = read_from([each for each in directories if name in each.names()], name)
            except KafkafsError as error:
                problems.append(str(error))
    return _Partitions(chosen), problems


def _check_topics(topics: TopicChoice, directories: list[DataDirectory], marked: bool = False) -> None:
    """UsageError for topics that are not there; `marked`: a deleted, stray or future partition of them will do."""
    place = ", ".join(repr(str(each.path)) for each in directories)
    names = [name for each in directories for name in each.names().values()]
    there = {name.topic for name in names if marked or not name.mark}
    for wanted in sorted(topics.names - there):
        left = [name for name in names if name.mark and takes(TopicChoice(frozenset((wanted,))), name)]
        if left and not marked:
            raise UsageError(
                f"{place} has no topic {wanted!r}, but a directory {left[0].directory!r}: --everywhere searches it too"
            )
        there.update([wanted] if left else [])
    topics.check(there, place)


def _why_unknown(directory: DataDirectory) -> str:
    """Why it is not known which partitions only the tier has; empty if it is known."""
    try:
        directory.wait_for_tier_names()
    except KafkafsError as error:
        return str(error)
    return ""


def _makers(
    directories: list[DataDirectory], arguments: argparse.Namespace
) -> tuple[Callable[[PartitionName, str], LineMaker] | None, Callable[[PartitionName, str], FieldMaker] | None]:
    """Return the maker of a partition's lines, and the decoder of its fields. Each is None if it is not asked for."""
    is_shown = not (arguments.count or arguments.files_with_matches)
    if arguments.decoded:
        decoder = _decoder(directories)
        return decoder if is_shown else None, decoder

    def plain(name: PartitionName, first: str) -> JsonLines:
        return JsonLines(name.topic, name.partition, first)

    return plain if is_shown else None, None


def _decoder(directories: list[DataDirectory]) -> "LinesOf":
    from kafkafs.cluster.schema_lines import lines_with_schemas
    from kafkafs.cluster.schema_topic import SchemaTopic  # 13 ms with all that schemas take: most searches do without

    return lines_with_schemas(SchemaTopic(directories, OPTIONS), OPTIONS.memory)
