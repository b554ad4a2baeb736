"""What the commands on Spark read and write: data directories, and a file at the end."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from kafkafs.errors import UsageError
from kafkafs.fuse.life.mountpoint import FILESYSTEM, mounted_at
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.meta_properties import check_one_cluster
from kafkafs.log.topics import TopicChoice, topic_choice
from kafkafs.spark.locations import data_directory
from kafkafs.spark.options import named_paths


def data_directories(words: Sequence[str]) -> tuple[Path, ...]:
    """The directories that are named, absolute, each once; UsageError for what is no data directory."""
    found = named_paths(words)
    for path in found:
        mount = mounted_at(path)
        if mount is not None and mount.filesystem == FILESYSTEM:
            raise UsageError(f"{str(path)!r} is a mount of kafkafs; name the data directory behind it: {mount.source}")
    check_one_cluster(open_data_directory(path) for path in found)
    return found


def chosen_topics(arguments: argparse.Namespace, paths: Sequence[Path]) -> TopicChoice:
    """The topics that `--topics` and `--topic-pattern` choose; UsageError for those that are not there."""
    topics = topic_choice(arguments.topics, arguments.topic_pattern)
    there = (name.topic for path in paths for name in data_directory(path).names().values() if not name.mark)
    topics.check(there, ", ".join(repr(str(path)) for path in paths))
    return topics


def file_to_write(path: Path, data_directories: Sequence[Path]) -> Path:
    """The file that a job writes at its end, absolute; UsageError before it begins where that will not be possible."""
    place = path.absolute()
    if any(place.resolve().is_relative_to(each.resolve()) for each in data_directories):
        raise UsageError(f"{str(place)!r} lies inside a data directory, where nothing is written")
    if not place.parent.is_dir():
        raise UsageError(f"{str(place)!r} cannot be written: there is no directory {str(place.parent)!r}")
    if place.is_dir() or not os.access(place if place.exists() else place.parent, os.W_OK):
        reason = "it is a directory" if place.is_dir() else "permission denied"
        raise UsageError(f"{str(place)!r} cannot be written: {reason}")
    return place
