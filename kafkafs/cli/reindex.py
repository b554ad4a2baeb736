"""`kafkafs reindex`: rebuilt indexes beside the data, for `mount -o index_dir=`."""

import argparse
import sys

from kafkafs.cli.spark_command import chosen_topics, engine, named_directories, progress_of
from kafkafs.disk.data_paths import local_place
from kafkafs.errors import UsageError
from kafkafs.spark.reindex_job import check_target, reindex
from kafkafs.spark.reindex_keys import reindex_keys


def run(arguments: argparse.Namespace) -> int:
    """Writes the indexes, or those of keys, and says how many, and what in the logs is not valid."""
    with progress_of(arguments, "reindex") as progress:
        paths = named_directories(arguments.data_dirs)
        if arguments.interval_bytes is not None and arguments.interval_bytes < 0:
            raise UsageError("--interval-bytes must not be negative")
        topics = chosen_topics(arguments, paths)
        target = local_place(arguments.index_dir, "the index directory")
        check_target(target, paths)
        with engine(arguments, progress) as where:
            if arguments.keys:
                keys = reindex_keys(where, paths, target, progress, arguments.replicas, topics)
                new = [each.written for each in keys if each.written]
                print(f"{len(keys):,} key indexes, {len(new):,} of them new, in {target}", file=sys.stderr)
                return 0
            made = reindex(where, paths, target, arguments.interval_bytes, progress, arguments.replicas, topics)
    invalid = [each.invalid for each in made if each.invalid]
    print(
        f"{len(made):,} segments, {sum(each.entries for each in made):,} entries,"
        f" {sum(each.written for each in made):,} bytes in {target}", file=sys.stderr
    )  # fmt: skip
    if invalid:
        sentence = f"{len(invalid):,} segments have {sum(invalid):,} bytes that are not valid: see kafkafs audit"
        print(sentence, file=sys.stderr)
    return 0
