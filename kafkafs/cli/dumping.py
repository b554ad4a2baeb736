"""`kafkafs dump` at work: from paths to sources, from sources to standard output. The text is `kafkafs.view.dump`'s."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator

from kafkafs.cli.progress import Progress
from kafkafs.errors import KafkafsError, NotFound, UsageError
from kafkafs.log.files import Directory
from kafkafs.view.dump.decoders import as_string, decoder
from kafkafs.view.dump.files import dump, is_dumpable
from kafkafs.view.dump.findings import Findings
from kafkafs.view.dump.options import Options
from kafkafs.view.dump.source import Bytes, Source, java_path


def dump_all(arguments: argparse.Namespace) -> int:
    """Dumps all files, then tells what does not agree; 1 where something in one of them could not be shown."""
    options = _options(arguments)
    progress = Progress()

    def report(line: str) -> None:
        progress.clear()
        print("".join(c if c.isprintable() else ascii(c)[1:-1] for c in line), file=sys.stderr)

    findings = Findings(tell=report)
    for path in _paths(arguments.files):
        source = Source(path, os.path.abspath(path), _opener(os.path.dirname(path), progress))
        try:
            for text in dump(source, options, findings):
                sys.stdout.buffer.write(text)
        except KafkafsError as error:
            findings.problem(source, str(error))
    sys.stdout.buffer.flush()
    progress.clear()
    for line in findings.lines():
        report(line)
    return 1 if findings.problems else 0


def _options(arguments: argparse.Namespace) -> Options:
    key, value = arguments.key_decoder_class, arguments.value_decoder_class
    return Options(
        deep_iteration=arguments.deep_iteration,
        print_data_log=arguments.print_data_log or key is not None or value is not None,
        skip_record_metadata=arguments.skip_record_metadata,
        max_bytes=arguments.max_bytes,
        max_message_size=arguments.max_message_size,
        index_sanity_check=arguments.index_sanity_check,
        verify_index_only=arguments.verify_index_only,
        decode_key=as_string if key is None else decoder(key),
        decode_value=as_string if value is None else decoder(value),
    )


def _paths(lists: list[str]) -> Iterator[str]:
    """The files that `--files` names, as Java would print them; those of a directory in the order of their names."""
    for path in (java_path(path) for files in lists for path in files.split(",") if path):
        if not os.path.isdir(path):
            yield path
            continue
        found = list(_inside(path))
        if not found:
            raise UsageError(f"the directory {path!r} holds nothing that can be dumped")
        yield from found


def _inside(directory: str) -> Iterator[str]:
    """What can be dumped in a partition's directory, or in those of a data directory."""
    names = sorted(os.listdir(directory))
    yield from (os.path.join(directory, name) for name in names if is_dumpable(name))
    for below in (os.path.join(directory, name) for name in names):
        if os.path.isdir(below) and not os.path.islink(below):
            yield from (os.path.join(below, name) for name in sorted(os.listdir(below)) if is_dumpable(name))


def _opener(directory: str, progress: Progress) -> Callable[[str], Bytes]:
    """Opens files of one directory. A link that a user names is followed, as any program would."""

    def open_file(name: str) -> Bytes:
        folder, name = os.path.split(os.path.realpath(os.path.join(directory, name)))
        try:
            return progress.of(name, Directory(folder).open_now(name))
        except OSError as error:
            raise NotFound(f"the directory {folder!r} cannot be opened: {error.strerror}") from None

    return open_file
