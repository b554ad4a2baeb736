"""`kafkafs diff`: the records that only one of two clusters has."""

import argparse
import sys
from collections.abc import Sequence

from kafkafs.cli.exit_codes import EXIT_USAGE, say
from kafkafs.cli.spark_command import engine, named_directories, progress_of
from kafkafs.format.strings import compact_json
from kafkafs.log.topic_choice import TopicChoice
from kafkafs.spark.diff.by_offset import Totals
from kafkafs.spark.diff.diff_job import by_content, by_offset
from kafkafs.spark.diff.sides import PartitionPair, paired

EXIT_DIFFERENT = 1
EXIT_TROUBLE = EXIT_USAGE


def run(arguments: argparse.Namespace) -> int:
    """Prints the differences as they are found: 0, 1 or 2, as diff(1) has it."""
    troubles: list[str] = []
    with progress_of(arguments, "diff") as progress:
        old, new = named_directories(arguments.data_dirs), named_directories(arguments.against)
        sides = paired(old, new, TopicChoice.parse(arguments.topics, arguments.topic_pattern))
        is_by_content = arguments.by == "content"
        is_different = _has_one_sided(sides.pairs, by_topic=is_by_content)
        compare = by_content if is_by_content else by_offset
        with engine(arguments, progress) as where:
            for found in compare(where, sides.pairs, progress, has_lines=not arguments.stat):
                troubles += [each for each in found.troubles if each not in troubles]
                if found.lines or (arguments.stat and found.totals is not None):
                    progress.clear()
                for lines in found.lines:
                    sys.stdout.buffer.write(lines)
                    sys.stdout.buffer.flush()
                if found.totals is not None:
                    is_different = is_different or not found.totals.is_equal
                    if arguments.stat:
                        print(_line(found.totals), flush=True)
    for sentence in (*sides.missing, *sides.troubles, *troubles):
        say(sentence)
    if sides.troubles or troubles:
        return EXIT_TROUBLE
    return EXIT_DIFFERENT if is_different else 0


def _has_one_sided(pairs: Sequence[PartitionPair], *, by_topic: bool) -> bool:
    """True if one side lacks a partition altogether. By content the partitions of a topic count as one, since a mirror
    may have more or fewer."""
    old = {pair.name.topic if by_topic else pair.name for pair in pairs if pair.old is not None}
    new = {pair.name.topic if by_topic else pair.name for pair in pairs if pair.new is not None}
    return old != new


def _line(totals: Totals) -> str:
    """One line of `--stat`."""
    row = {
        "topic": totals.topic, "partition": totals.partition, "equal": totals.equal, "onlyOld": totals.only_old,
        "onlyNew": totals.only_new, "cleaned": totals.cleaned, "belowStart": totals.below_start,
    }  # fmt: skip
    return compact_json(row)
