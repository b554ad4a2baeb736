"""`kafkafs profile`: what is in data directories, as one page of pictures, and as data."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kafkafs.cli.exit_codes import EXIT_FAILED, say
from kafkafs.cli.spark_command import chosen_topics, engine, file_to_write, named_directories, progress_of, write_shown
from kafkafs.errors import UsageError, printable
from kafkafs.log.read_options import TierSource
from kafkafs.spark.profile.figures import Figures
from kafkafs.spark.profile.numbers import numbers_of
from kafkafs.spark.profile.profile_job import profile
from kafkafs.tables.locations import data_directories
from kafkafs.tables.missing import missing_topics, refuse_missing, unknown
from kafkafs.tables.offsets import TopicPartition
from kafkafs.view.ownership import mode_of_copies

_Numbers = Mapping[TopicPartition, Figures]


class _ToWrite(NamedTuple):
    """A file, and its text, made of the numbers and of the names of the data directories."""

    place: Path
    text: Callable[[_Numbers, Sequence[str]], str]


def run(arguments: argparse.Namespace) -> int:
    """Writes the page, the data or both, and says of how many records they are. Fails if some could not be read."""
    with progress_of(arguments, "profile") as progress:
        paths = named_directories(arguments.data_dirs)
        source = TierSource.parse(arguments.tiered, arguments.tiered_key)
        topics = chosen_topics(arguments, paths, source)
        missing = refuse_missing(missing_topics(paths, topics.takes, source), arguments.fail_on_data_loss)
        missing += unknown(paths, source)
        with engine(arguments, progress) as where:
            files = _files(arguments, paths)
            numbers = profile(where, paths, progress, arguments.replicas, topics, source)
    mode = mode_of_copies(data_directories(paths), topics.takes)
    for each in files:
        write_shown(each.place, each.text(numbers, [printable(str(path)) for path in paths]), mode)
    for sentence in missing:
        say(sentence)
    records = sum(each.records for each in numbers.values())
    places = " and ".join(str(each.place) for each in files)
    print(f"{records:,} records of {len(numbers):,} partitions in {places}", file=sys.stderr)
    damaged = sum(each.damaged for each in numbers.values())
    if not damaged:
        return 0
    subject = "1 damaged place is" if damaged == 1 else f"{damaged:,} damaged places are"
    say(f"{subject} not in the numbers; kafkafs audit names the damage")
    return EXIT_FAILED


def _files(arguments: argparse.Namespace, paths: Sequence[Path]) -> list[_ToWrite]:
    """The files that are asked for. UsageError if there are none, or one cannot be written."""
    found = list[_ToWrite]()
    if arguments.html is not None:
        place = file_to_write(arguments.html, paths)
        from kafkafs.spark.profile.page import page  # takes jinja2, which the data do without

        found.append(_ToWrite(place, page))
    if arguments.json is not None:
        found.append(_ToWrite(file_to_write(arguments.json, paths), _json))
    if not found:
        raise UsageError("neither a page nor data is asked for: name a page with --html FILE, or data with --json FILE")
    if len({each.place for each in found}) < len(found):
        raise UsageError(f"--html and --json both name {str(found[0].place)!r}: name two files")
    return found


def _json(numbers: _Numbers, places: Sequence[str]) -> str:
    return json.dumps(numbers_of(numbers, places), ensure_ascii=False, indent=1) + "\n"
