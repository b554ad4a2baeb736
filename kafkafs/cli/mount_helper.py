"""`mount.kafkafs`, which mount(8) runs for `mount -t kafkafs` and for a line in /etc/fstab, where it finds it in /sbin.

Source of its arguments and exit codes: mount(8), "EXTERNAL HELPERS" and "EXIT STATUS". The data directories stand where
a device would; several of them are joined by colons, as `findmnt` shows them.
"""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from kafkafs.cli import mount, mount_options
from kafkafs.cli.exit_codes import run_to_exit_code
from kafkafs.cli.parser import VersionAction, add_options
from kafkafs.disk.data_paths import data_path
from kafkafs.disk.objects import is_bucket
from kafkafs.errors import UsageError
from kafkafs.fuse.life import mountpoint

EXIT_INVOCATION = 1
EXIT_MOUNT_FAILED = 32
_COLONS = re.compile(":(?!//)")  # not that of s3://


def build() -> argparse.ArgumentParser:
    """The helper's arguments."""
    parser = argparse.ArgumentParser(prog="mount.kafkafs", description="Mount Kafka data directories; run by mount(8).")
    parser.add_argument("data_dirs", metavar="DATA_DIR[:DATA_DIR...]", help="a broker's log.dirs entry, or several")
    parser.add_argument("mountpoint", metavar="MOUNTPOINT", type=Path, help="an empty directory")
    add_options(parser, "mount options")
    parser.add_argument("-s", dest="sloppy", action="store_true", help="ignore unknown options")
    parser.add_argument("-f", dest="fake", action="store_true", help="check everything, mount nothing")
    parser.add_argument("-n", action="store_true", help="accepted, without effect: there is no mtab to write")
    parser.add_argument("-v", action="store_true", help="taken, without effect")
    parser.add_argument("-t", metavar="TYPE", help="taken, without effect")
    parser.add_argument("--version", action=VersionAction)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Mounts in the background: 0, or one of mount(8)'s exit codes."""
    try:
        parsed = build().parse_args(arguments)
    except SystemExit as ending:  # argparse has said what is wrong, or shown the help
        return EXIT_INVOCATION if ending.code else 0
    return EXIT_MOUNT_FAILED if run_to_exit_code(lambda: _mount(parsed)) else 0


def _mount(parsed: argparse.Namespace) -> int:
    words, read_write = words_of(parsed.options, parsed.sloppy)
    data_dirs = data_dirs_of(parsed.data_dirs)
    if parsed.fake:
        _check(words, data_dirs, parsed.mountpoint)
        return 0
    arguments = argparse.Namespace(
        data_dirs=data_dirs, mountpoint=parsed.mountpoint, options=words, background=True, log_file=None
    )
    code = mount.run(arguments)
    if code == 0 and read_write:
        print(f"mount.kafkafs: {parsed.data_dirs} is mounted read-only", file=sys.stderr)
    return code


def words_of(texts: Sequence[str], sloppy: bool) -> tuple[list[str], bool]:
    """The options for `kafkafs mount`, and whether `rw` was among them.

    mount(8) passes `rw` on where nothing was said; what cannot be written is then mounted read-only, as a DVD is.
    """
    words = mount_options.separated(texts)
    kept = [word for word in words if word != "rw" and (not sloppy or mount_options.is_known(word))]
    return kept, "rw" in words and "ro" not in words


def data_dirs_of(source: str) -> list[Path]:
    """The data directories that the first field of a line of fstab names, with colons between them."""
    parts = [source] if os.path.isdir(source) else _COLONS.split(source)
    return [data_path(part) if is_bucket(part) else Path(part) for part in parts if part]


def _check(words: Sequence[str], data_dirs: Sequence[Path], place: Path) -> None:
    from kafkafs.log.data_directory import open_data_directory  # 19 ms, which only -f takes

    mount_options.parse(words)
    if not data_dirs:
        raise UsageError("no data directory is named; write one of the broker's log.dirs in place of the device")
    mountpoint.check(place.absolute(), [data_path(path).absolute() for path in data_dirs])
    for path in data_dirs:
        open_data_directory(path)
