"""`kafkafs grep`: records with a pattern in whole data directories, as lines of JSON, on all processors."""

import argparse
import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

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
from kafkafs.log.read_options import TierSource
from kafkafs.log.replicas import read_from
from kafkafs.log.topic_choice import TopicChoice
from kafkafs.search.everywhere import search_files
from kafkafs.search.record_files import NamedDirectory, left_out, record_files, takes
from kafkafs.search.results import SearchTask
from kafkafs.search.search_units import OPTIONS, size_of
from kafkafs.search.selection import FieldMaker, Pattern, Selection
from kafkafs.search.side_by_side import search

_MakeLines = Callable[[PartitionName, str], LineMaker]
_MakeFields = Callable[[PartitionName, str], FieldMaker]
"""Makers of lines, each from the partition and the members that come first in a line."""


def run(arguments: argparse.Namespace) -> int:
    """Prints the records as they are found: 0, 1 or 2, as grep(1) has it."""
    if arguments.max_count is not None and arguments.max_count < 0:
        raise UsageError("-m must not be negative")
    asked = _Search(arguments)
    return asked.files() if arguments.everywhere else asked.logs()


_LEFT_OUT = (
    "{} file{} with records ({} bytes) not searched: deleted, stray or future partitions, or segments that are deleted,"
    " swapped or cleaned; --everywhere searches them, too"
)


class _Search:
    """The pattern, the data directories that may have it, and the output."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._selection, self._window = _selection(arguments), Between(*limits(arguments))
        self._tier = tier_of(arguments.options)
        self._by_path = _opened(arguments, self._tier)
        self._directories = list(self._by_path.values())
        self._topics = TopicChoice.parse(arguments.topics, arguments.topic_pattern)
        self._are_lines_wanted = not (arguments.count or arguments.files_with_matches)
        self._output = SearchOutput(arguments)

    def logs(self) -> int:
        """Search the logs as a consumer would see them."""
        partitions, output = self._partitions(), self._output
        task = SearchTask(self._selection, self._window, *self._makers(), output.limit)
        with output:
            for partition in partitions.left() if output.is_progress_shown else ():
                with suppress(KafkafsError):
                    output.expect(size_of(partition, self._window))
            for event in search(partitions, task, output.is_full):
                output.show(event)
            output.write_counts(partitions)
            self._report_missing()
        left = output.left.and_more(left_out(self._directories, self._topics))
        if left.files:
            say(_LEFT_OUT.format(left.files, "s" if left.files > 1 else "", left.size))
        return output.code()

    def files(self) -> int:
        """Search all files with records, one by one, until a look finds no new file."""
        if isinstance(self._window.from_time, FromEnd) or isinstance(self._window.to_time, FromEnd):
            raise UsageError(
                "--everywhere takes no time that counts back from the newest record (end-...): name a date"
            )
        self._check_topics(marked=True)
        tier, output = "" if self._tier is None else self._tier.shown_as, self._output
        given = [NamedDirectory(each, path, path if each.is_tier else tier) for path, each in self._by_path.items()]
        task = SearchTask(self._selection, self._window, *self._makers(), output.limit)
        paths: dict[str, None] = {}
        with output:
            searched = set[tuple[int, int, str]]()
            while files := [
                each for each in record_files(given, self._topics, output.keep_error) if each.key not in searched
            ]:
                output.expect(sum(each.size for each in files))
                gone = {event.partition for event in search_files(files, task) if not output.show(event)}
                found = [each for each in files if each.path not in gone]
                paths.update(dict.fromkeys(each.path for each in found))
                searched.update(each.key for each in found)
                if not found:
                    output.keep_error(f"{files[0].path} changes its name again and again; search again")
                    break
            output.write_counts(paths)
            self._report_missing()
        return output.code()

    def _partitions(self) -> "_Partitions":
        """The partitions to be searched, by directory name, of replicas the furthest. The output hears what is wrong
        with others. UsageError for topics that are not there."""
        directories = self._directories
        for problem in filter(None, map(_why_unknown, directories)):
            self._output.keep_error(problem)
        names = {name: parsed for each in directories for name, parsed in each.names().items() if not parsed.mark}
        self._check_topics()
        chosen = {}
        for name, parsed in sorted(names.items(), key=lambda each: (each[1].topic, each[1].partition)):
            if self._topics.takes(parsed.topic):
                try:
                    chosen[name] = read_from([each for each in directories if name in each.names()], name)
                except KafkafsError as error:
                    self._output.keep_error(str(error))
        return _Partitions(chosen)

    def _check_topics(self, *, marked: bool = False) -> None:
        """UsageError for topics that are not there; `marked`: a deleted, stray or future partition of them will do."""
        place = ", ".join(repr(str(each.path)) for each in self._directories)
        names = [name for each in self._directories for name in each.names().values()]
        there = {name.topic for name in names if marked or not name.mark}
        for wanted in sorted(self._topics.names - there):
            left = [name for name in names if name.mark and takes(TopicChoice(frozenset((wanted,))), name)]
            if left and not marked:
                raise UsageError(
                    f"{place} has no topic {wanted!r}, but a directory {left[0].directory!r}: --everywhere searches it"
                    " too"
                )
            there.update([wanted] if left else [])
        self._topics.check(there, place)

    def _makers(self) -> tuple[_MakeLines | None, _MakeFields | None]:
        """Return the makers of lines and of decoded fields. Each is None if it is not asked for."""
        if not self._selection.decoded:
            return _plain if self._are_lines_wanted else None, None
        from kafkafs.cluster.schema_lines import lines_with_schemas
        from kafkafs.cluster.schema_topic import SchemaTopic  # 13 ms with all that schemas take: most do without

        decoded = lines_with_schemas(SchemaTopic(self._directories, OPTIONS), OPTIONS.memory)
        return decoded if self._are_lines_wanted else None, decoded

    def _report_missing(self) -> None:
        """Name the partitions that the metadata know and no disk here has: their records were not searched."""
        if not any(METADATA_LOG in each.names() for each in self._directories):
            return
        from kafkafs.tables.missing import missing_sentence, missing_topics, unknown  # takes Kafka's schemas

        if untold := next(filter(None, map(_why_unknown, self._directories)), ""):
            raise Unanswered(untold)  # now, and not after as long a wait once more
        paths = [each.path for each in self._directories]
        for problem in unknown(paths, self._tier):
            self._output.keep_error(problem)
        if found := missing_topics(paths, self._topics.takes, self._tier):
            self._output.keep_error(f"{missing_sentence(found)}; name the other brokers' data directories too")


def _plain(name: PartitionName, first: str) -> JsonLines:
    return JsonLines(name.topic, name.partition, first)


def _selection(arguments: argparse.Namespace) -> Selection:
    anywhere = not (arguments.key or arguments.value or arguments.header)
    return Selection(
        Pattern(arguments.pattern, arguments.fixed_strings, arguments.ignore_case, arguments.word_regexp),
        arguments.key or anywhere, arguments.value or anywhere,
        tuple(name.encode("utf-8", "surrogateescape") for name in arguments.header),
        arguments.invert_match, arguments.decoded,
    )  # fmt: skip


def _opened(arguments: argparse.Namespace, tier: TierSource | None) -> dict[str, DataDirectory]:
    """The data directories, each once, by the path that names it first."""
    first, pattern = arguments.data_dirs[0], arguments.pattern
    if not os.path.exists(first) and os.path.isdir(pattern):
        from kafkafs.cli.unmounted import is_data_directory  # with all views, for who has mistyped a directory only

        if is_data_directory(pattern):
            raise UsageError(
                f"{first!r} is not a directory, but the pattern {pattern!r} is: the pattern comes first, as in"
                f" `kafkafs grep {shlex.join([first, pattern])}`"
            )
    options = replace(OPTIONS, tiered=tier)
    directories = {path: open_data_directory(data_path(path), options) for path in each_once(arguments.data_dirs)}
    check_one_cluster(directories.values())
    for directory in directories.values():
        directory.read_together_with([*directories.values()])
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
        """The partitions that are still there."""
        for name in self:
            with suppress(NotFound):
                yield self[name]


def _why_unknown(directory: DataDirectory) -> str:
    """Why it is not known which partitions only the tier has; empty if it is known."""
    try:
        directory.wait_for_tier_names()
    except KafkafsError as error:
        return str(error)
    return ""
