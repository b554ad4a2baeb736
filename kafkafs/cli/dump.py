"""`kafkafs dump`: from paths to sources, from sources to standard output. The text is `kafkafs.dump`'s."""

import argparse
import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import groupby, repeat
from typing import TYPE_CHECKING, Any

from kafkafs.cli.dump_arguments import TOPICS
from kafkafs.cli.exit_codes import output_errors_named
from kafkafs.cli.progress import FileProgress
from kafkafs.cli.window import NO_LIMITS, Limits, limits
from kafkafs.disk.data_file import DiskOptions
from kafkafs.disk.directory import Directory
from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.disk.objects import is_bucket, parts_of, places_of, shown
from kafkafs.dump.dump_findings import Findings
from kafkafs.dump.dump_options import WHOLE, DumpOptions, OffsetWindow
from kafkafs.dump.dump_source import ReadableFile, Source, java_path
from kafkafs.dump.file_dump import dump, is_dumpable, is_log
from kafkafs.dump.kafka_decoders import RecordDecoder, as_string, decoder
from kafkafs.dump.rendering import Text
from kafkafs.errors import EMPTY_NAME, Denied, KafkafsError, NotFound, UsageError, printable
from kafkafs.format.names import TRANSACTIONS_TOPIC
from kafkafs.format.tiers.tier_names import parse_tier_file
from kafkafs.format.times import MAX_INT64, FromEnd

if TYPE_CHECKING:
    from pathlib import Path

    from kafkafs.log.tier.folder import Folder

OUTPUT_BUFFER = 1 << 18

_OF_4_4 = 31
"""The lowest `metadata.version` of 4.4, whose tool prints a transaction's state by name, older ones a number, on any
disk. A disk gets the text of its own release. Source: MetadataVersion; 4.3.1's and 4.4.0's tool on disks of both."""


def run(arguments: argparse.Namespace) -> int:
    """Dump all files, then report what does not agree. Return 1 if a part of a file could not be shown."""
    _check(arguments)
    with FileProgress() as progress:
        return _dump(arguments, progress)


def _dump(arguments: argparse.Namespace, progress: FileProgress) -> int:
    def report(line: str) -> None:
        """Prints what does not agree, with nothing in it that a terminal would obey."""
        with progress.aside():
            print(printable(line), file=sys.stderr)

    findings = Findings(report=report)
    with output_errors_named(), _standard_output(progress) as out:
        out.writelines(_texts(arguments, findings, progress))
    for line in findings.lines():
        report(line)
    return 1 if findings.problems else 0


def _check(arguments: argparse.Namespace) -> None:
    """UsageError for what cannot be meant together."""
    if not (arguments.files or arguments.paths):
        raise UsageError("name a file to dump, a partition's directory, or a data directory; see kafkafs dump --help")
    for flag in ("--max-bytes", "--max-message-size"):
        if getattr(arguments, flag[2:].replace("-", "_")) < 0:
            raise UsageError(f"{flag} must not be negative")
    decoders = [arguments.key_decoder_class, arguments.value_decoder_class, _topic(arguments)]
    if arguments.json and any(decoders):
        raise UsageError("--json shows keys and values as they are: leave out the decoders")
    if (arguments.from_offset and arguments.from_time) or (arguments.to_offset and arguments.to_time):
        raise UsageError("--from-offset and --from-time, or --to-offset and --to-time, exclude each other")


def _topic(arguments: argparse.Namespace) -> str | None:
    """The name of Kafka's own topic that a flag asks to decode."""
    return next(
        (topic for flag, topic in TOPICS.items() if getattr(arguments, f"{flag.replace('-', '_')}_decoder")), None
    )


class _OutputBesideBar(io.FileIO):
    """Standard output of a terminal that shows a bar, too, which is taken away for what is written."""

    def __init__(self, descriptor: int, progress: FileProgress) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._progress = progress

    def write(self, data: Any) -> int:
        """Writes what goes in at once."""
        with self._progress.aside():
            return super().write(data)


def _standard_output(progress: FileProgress) -> io.BufferedWriter:
    """Standard output with a large buffer, whatever Python has made of it."""
    descriptor = sys.stdout.fileno()
    is_shared = progress.is_between_lines
    raw = _OutputBesideBar(descriptor, progress) if is_shared else io.FileIO(descriptor, "w", closefd=False)
    return io.BufferedWriter(raw, OUTPUT_BUFFER)


def _texts(arguments: argparse.Namespace, findings: Findings, progress: FileProgress) -> Iterator[Text]:
    """All that goes to standard output. A file that cannot be read is a finding, and the next one's turn comes."""
    wanted, keys = limits(arguments), _keys(arguments.tiered_key)
    named = [*(path for files in arguments.files for path in places_of(files) if path), *arguments.paths]
    if not named:
        raise UsageError(EMPTY_NAME)
    for directory, paths in groupby(_paths(named, logs_only=wanted != NO_LIMITS), _folder):
        options, open_file = _options(arguments, directory), _opener(directory, progress, keys)
        places = list(paths)  # one may be named twice
        sources = [_source(path, open_file) for path in places]
        windows = repeat(WHOLE) if wanted == NO_LIMITS else _windows(sources, wanted, options)
        for path, source, window in zip(places, sources, windows, strict=False):
            try:
                yield from dump(source, options, findings, window)
                if not (is_dumpable(source.name) or _is_there(path)):
                    findings.problem(source, "there is no such file or folder.")
            except KafkafsError as error:
                findings.problem(source, str(error))


def _folder(path: str) -> str:
    if not is_bucket(path):
        return os.path.dirname(path)
    from kafkafs.log.tier.folder import split  # only dumps of a tier need it

    return split(path)[0]


def _source(path: str, open_file: Callable[[str], ReadableFile]) -> Source:
    if not is_bucket(path):
        return Source(path, os.path.join(os.getcwd(), path), open_file)
    return Source(shown(path), shown(path), open_file)


def _keys(texts: list[str]) -> "list[tuple[str, Path]]":
    if not texts:
        return []
    from kafkafs.log.read_options import TierSource  # 5 ms, for what hardly any dump takes

    return [TierSource.parse_key(text) for text in texts]


def _windows(sources: Sequence[Source], wanted: Limits, options: DumpOptions) -> Iterator[OffsetWindow]:
    """The window of each file of one directory. Times mean its logs in the order of their names."""
    from kafkafs.dump.seeking import offset_at, window_of  # 1.5 ms, and most dumps are whole

    start, stop, from_ms, to_ms = wanted
    if isinstance(from_ms, FromEnd) or isinstance(to_ms, FromEnd):
        raise UsageError("end-… counts back from a partition's newest record: `kafkafs grep` and by-time/ take it")
    logs = [source for source in sources if is_log(source.name)]
    if from_ms is not None:
        found = offset_at(logs, from_ms, options)
        start = MAX_INT64 if found is None else found
    if to_ms is not None:
        stop = offset_at(logs, to_ms, options)
    return (window_of(source, start, stop) for source in sources)


def _options(arguments: argparse.Namespace, directory: str) -> DumpOptions:
    key, value = arguments.key_decoder_class, arguments.value_decoder_class
    topic = _topic(arguments)
    return DumpOptions(
        deep_iteration=arguments.deep_iteration,
        print_data_log=arguments.print_data_log or any(one is not None for one in (key, value, topic)),
        skip_record_metadata=arguments.skip_record_metadata,
        max_bytes=arguments.max_bytes,
        max_message_size=arguments.max_message_size,
        json=arguments.json,
        index_sanity_check=arguments.index_sanity_check,
        verify_index_only=arguments.verify_index_only,
        decode_key=as_string if key is None else decoder(key),
        decode_value=as_string if value is None else decoder(value),
        decode_record=None if topic is None else _record_decoder(topic, directory),
    )


def _record_decoder(topic: str, directory: str) -> RecordDecoder:
    from kafkafs.dump.internal_records import record_decoder  # 10 ms with Kafka's schemas: most dumps do without

    return record_decoder(topic, names_states=topic == TRANSACTIONS_TOPIC and _is_of_4_4(directory))


def _is_of_4_4(partition: str) -> bool:
    """True if the disk with this partition's directory is of Kafka 4.4 or later, as far as its files show."""
    from kafkafs.cluster.metadata import metadata_version  # 40 ms, for dumps of the transaction topic only
    from kafkafs.disk.data_paths import data_path

    above = _folder(partition) if is_bucket(partition) else os.path.dirname(os.path.realpath(partition))
    level = metadata_version(data_path(above))
    return level is not None and level >= _OF_4_4


def _paths(named: list[str], *, logs_only: bool) -> Iterator[str]:
    """The files that are named, as Java would print them; those of a directory in the order of their names.

    With `logs_only`, other files of a directory are left out: a part of a log is wanted.
    """
    for path in (given if is_bucket(given) else java_path(given) for given in named):
        if is_bucket(path):
            yield from _objects(path, logs_only=logs_only)
            continue
        if not os.path.isdir(path):
            yield path
            continue
        found = [file for file in _inside(path) if is_log(file) or not logs_only]
        if not found:
            from pathlib import Path

            from kafkafs.log.data_directory import near  # for who has named the wrong one only

            raise UsageError(f"the directory {path!r} holds nothing that can be dumped{near(Path(path))}")
        yield from found


def _objects(address: str, *, logs_only: bool) -> list[str]:
    """The object of that address. A folder means the objects in it and in the folders below it, as a directory."""
    from kafkafs.log.tier.folder import objects_in  # only dumps of a tier need it

    parts_of(address)
    place, mark, query = address.partition("?")
    address = f"{place.rstrip('/')}{mark}{query}"
    with suppress(NotFound):
        there = _with_lost_logs(objects_in(address))
        found = [each for each in there if (is_log if logs_only else is_dumpable)(shown(each))]
        if not found:
            raise UsageError(f"the folder {shown(address)!r} holds nothing that can be dumped")
        return found
    return [address]


def _is_there(path: str) -> bool:
    """True if there is a file of that path, or an object of that address. Kafka's tool does not look."""
    if not is_bucket(path):
        return os.path.lexists(path)
    from kafkafs.log.tier.folder import Folder, split  # only dumps of a tier need it

    folder, name = split(path)
    with suppress(NotFound):
        return name in Folder(folder, []).listed()
    return False


def _inside(directory: str) -> Iterator[str]:
    """Return the files to dump in a partition's directory, or in those of a data directory."""
    yield from _dumpable(directory)
    for below in _listed(directory):
        if os.path.isdir(below) and not os.path.islink(below):
            yield from _dumpable(below)


def _dumpable(directory: str) -> Iterator[str]:
    there = _listed(directory)
    lost = {*_with_lost_logs(there)}.difference(there)
    return (path for path in sorted([*there, *lost]) if is_dumpable(path) and (path in lost or os.path.isfile(path)))


def _with_lost_logs(paths: list[str]) -> list[str]:
    """The paths, and those of logs of remote segments of which only the manifest is there: their dump says so."""
    there, mark = {*paths}, ".rsm-manifest"
    logs = (path.replace(mark, ".log") for path in paths if path.partition("?")[0].endswith(mark))
    return [*paths, *(log for log in logs if log not in there)]


def _listed(directory: str) -> list[str]:
    try:
        return sorted(os.path.join(directory, name) for name in os.listdir(directory))
    except OSError as error:
        raise Denied(f"the directory {directory!r} cannot be listed: {error.strerror}") from None


def _opener(
    directory: str, progress: FileProgress, keys: "Sequence[tuple[str, Path]]"
) -> Callable[[str], ReadableFile]:
    """Opens files of one directory, or objects of a folder of a bucket. A link that a user names is followed, as any
    program would. Those of a remote segment are what was on the broker's disk."""

    @cache
    def remote(folder: str) -> "Folder":
        from kafkafs.log.tier.folder import Folder  # only dumps of a tier need it

        return Folder(folder, keys)

    @cache
    def copy() -> "Directory":
        from kafkafs.disk.bucket_directory import BucketDirectory  # with pyarrow, which other dumps do without

        return BucketDirectory(directory, DiskOptions())

    def open_object(name: str) -> ReadableFile:
        is_remote = parse_tier_file(name) is not None
        return progress.of(name, remote(directory).open(name) if is_remote else copy().open_now(name))

    def open_file(name: str) -> ReadableFile:
        """The file that a path names, links followed; NotFound if its directory cannot be opened."""
        folder, name = os.path.split(os.path.realpath(os.path.join(directory, name)))
        try:
            is_remote = parse_tier_file(name) is not None
            return progress.of(name, remote(folder).open(name) if is_remote else LocalDirectory(folder).open_now(name))
        except OSError as error:
            raise NotFound(f"the directory {folder!r} cannot be opened: {error.strerror}") from None

    return open_object if is_bucket(directory) else open_file
