"""What the commands that run on Spark have in common: data directories and a master."""

import argparse
import glob
from collections.abc import Sequence
from pathlib import Path

from kafkafs.errors import UsageError


def add_common(parser: argparse.ArgumentParser) -> None:
    """The data directories, which may be globs, and `--master`."""
    parser.add_argument("data_dirs", nargs="+", metavar="DATA_DIR", help="a Kafka data directory, one of log.dirs")
    parser.add_argument(
        "--master", metavar="URL", help="where Spark runs, as in spark://host:7077 (default: local[*], in this process)"
    )


def data_directories(words: Sequence[str]) -> list[Path]:
    """The directories that are named, absolute, each once; UsageError for what is no data directory."""
    from kafkafs.log.data_directory import open_data_directory

    found: list[Path] = []
    for word in words:
        matches = sorted(glob.glob(word)) if glob.has_magic(word) and not Path(word).exists() else [word]
        if not matches:
            raise UsageError(f"no directory matches {word!r}; name Kafka data directories, the broker's log.dirs")
        found += [Path(match).absolute() for match in matches]
    for path in found:
        open_data_directory(path)
    return list(dict.fromkeys(found))
