"""`kafkafs profile`: what is in data directories, as one page of pictures, on Spark."""

import argparse
import sys

from kafkafs.cli.exit_codes import say
from kafkafs.cli.spark_command import SparkProgress, chosen_topics, file_to_write, named_directories, write_shown
from kafkafs.log.read_options import tier_source
from kafkafs.spark.locations import data_directories
from kafkafs.spark.missing import missing_topics, refuse_missing
from kafkafs.spark.profile.profile_job import profile
from kafkafs.spark.session import session
from kafkafs.view.ownership import mode_of_copies


def run(arguments: argparse.Namespace) -> int:
    """Writes the page, and says of how many records it is."""
    with SparkProgress("profile") as progress:
        paths = named_directories(arguments.data_dirs)
        source = tier_source(arguments.tiered, arguments.tiered_key)
        topics = chosen_topics(arguments, paths, source)
        place = file_to_write(arguments.html, paths)
        missing = refuse_missing(missing_topics(paths, topics.takes, source), arguments.fail_on_data_loss)
        with session(arguments.master, "profile", progress.starting) as spark:
            from kafkafs.spark.profile.page import page  # takes jinja2: whoever has no Spark either is told of Spark

            numbers = profile(spark, paths, progress, arguments.replicas, topics, source)
    mode = mode_of_copies(data_directories(paths), topics.takes)
    write_shown(place, page(numbers, [str(path) for path in paths]), mode)
    for sentence in missing:
        say(sentence)
    records = sum(each.records for each in numbers.values())
    print(f"{records:,} records of {len(numbers):,} partitions in {place}", file=sys.stderr)
    return 0
