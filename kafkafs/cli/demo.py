"""`kafkafs demo`: the bundled sample, written by a real broker, mounted and walked through with everyday commands.

Without FUSE, `kafkafs ls`, `cat` and `stat` take the place of `ls`, `cat` and `getfattr`.
"""

import argparse
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafkafs import sample
from kafkafs.cli import mount, umount
from kafkafs.cli.exit_codes import EXIT_FAILED, say
from kafkafs.cli.parser import build
from kafkafs.errors import KafkafsError
from kafkafs.fuse.life.mountpoint import mounted_at

COMMAND_S = 30  # for one command of the walk
OPTIONAL = ("jq", "getfattr")  # not on every machine
WALK = (
    ("A directory for each partition, as the broker named it.", "ls"),
    ("Two ways in, by offset and by time; the broker's own files beside them.", "ls -l test-0 test-0/by-time"),
    (
        "The raw batch that holds offset 23350, exactly as the broker wrote it.",
        "cat test-0/by-offset/23350 | od -A d -t x1z | head -n 6",
    ),
    ("Its segment, position and size, in extended attributes.", "getfattr -d test-0/by-offset/23350"),
    (
        "The first record at or after a time (in ms), decoded.",
        "cat test-0/by-time/1632390207806.jsonl | jq -c '{offset, timestamp, key, size: (.value | length)}'",
    ),
    (
        "How it was found: time index, offset index, log. No other byte was read.",
        "cat test-0/by-time/1632390207806.explain",
    ),
    (
        "Records of another topic: every codec, keys, headers; a range is half-open, and clamped to what is there.",
        "cat orders-0/by-offset/earliest..end.jsonl | jq -c '{offset, key, headers}' | head -n 5",
    ),
    (
        "One line a batch, without unpacking any.",
        "cat orders-0/by-offset/0...batches.jsonl | jq -r '[.baseOffset, .count, .codec, .isTransactional] | @tsv'",
    ),
    ("Avro, decoded with its schema from the same disk.", "cat readings-0/by-offset/1..4.decoded.jsonl | jq -c .value"),
    (
        "How far groups had read when the broker stopped, from its own topics.",
        "cat .cluster/groups/*/offsets.jsonl | jq -c '{group, topic, offset, lag}'",
    ),
    ("What is known of a partition.", "cat test-0/info.json | jq -c 'del(.segments)'"),
)


WITHOUT_MOUNT = {"ls": "kafkafs ls", "cat": "kafkafs cat", "getfattr -d": "kafkafs stat"}


def run(arguments: argparse.Namespace) -> int:
    """Walks through the sample: 0 if every command worked."""
    with unpacked_sample(keep=arguments.keep) as data:
        place = data.with_name("mount")
        is_mounted = _mount(data, place)
        place = place if is_mounted else data.parent
        print(f"$ cd {place}")
        failed = 0
        for text, command in WALK:
            asked = command if is_mounted else without_mount(command, data.name)
            if _available(asked):
                failed += not _show(place, text, asked)
    if failed:
        print(f"\n{failed} of these commands failed.")
        return EXIT_FAILED
    kafkafs = "kafkafs" if shutil.which("kafkafs") else shlex.quote(f"{sysconfig.get_path('scripts')}/kafkafs")
    if arguments.keep:
        ending = f"{kafkafs} umount {place} && " if is_mounted else ""
        print(f"\nIt stays {'mounted at' if is_mounted else 'in'} {place}. To end it: {ending}rm -r {data.parent}")
    elif is_mounted:
        print(f"\nThe mount is gone again. Yours: {kafkafs} mount DATA_DIR... MOUNTPOINT")
    else:
        print(f"\nThe sample is gone again. Yours: {kafkafs} ls DATA_DIR")
    return 0


@contextmanager
def unpacked_sample(*, keep: bool) -> Iterator[Path]:
    """The sample, unpacked in a new directory, beside it one to mount it on.

    Unless it is to be kept, all is gone at the end, a mount too; after an error or Ctrl-C, at whatever moment, it is
    gone in any case.
    """
    early: list[int] = []  # a Ctrl-C until there is something to undo: tempfile, too, leaves its trial file behind then
    before = signal.signal(signal.SIGINT, lambda number, _: early.append(number))
    scratch = Path(tempfile.mkdtemp(prefix="kafkafs-demo-"))
    place = scratch / "mount"
    try:
        signal.signal(signal.SIGINT, before)
        if early:
            raise KeyboardInterrupt
        place.mkdir()
        yield sample.unpack(scratch)
    except BaseException:
        keep = False
        raise
    finally:
        if not keep:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # an impatient Ctrl-C would leave a mount behind
            if mounted_at(place) is not None:
                umount.run(build(["umount"]).parse_args(["umount", str(place)]))
            shutil.rmtree(scratch)


def _mount(data: Path, place: Path) -> bool:
    """Mounts the sample as a user would, in this process; False, after a word why, where that cannot be."""
    print(f"$ kafkafs mount {data} {place} --background", flush=True)
    try:
        if mount.run(build(["mount"]).parse_args(["mount", str(data), str(place), "--background"])) == 0:
            return True
    except KafkafsError as error:
        say(str(error))
    print("# So the walk goes on without a mount: the same names, the same bytes.")
    return False


def without_mount(command: str, data: str) -> str:
    """The command that asks the data directory the same question, without a mount."""
    for word, ours in WITHOUT_MOUNT.items():
        if command.startswith(f"{word} "):
            return f"{ours} {data}{command.removeprefix(word)}"
    return f"{WITHOUT_MOUNT[command]} {data}"


def _available(command: str) -> bool:
    """True if the tools that it needs are installed. A walk without jq is still a walk."""
    return all(shutil.which(program) for program in OPTIONAL if program in command.split())


def _show(place: Path, text: str, command: str) -> bool:
    print(f"\n# {text}\n$ {command}", flush=True)
    ours = f'kafkafs() {{ "{sys.executable}" -m kafkafs "$@"; }}; {command}'  # `kafkafs` need not be on the PATH
    done = subprocess.run(["sh", "-c", ours], cwd=place, timeout=COMMAND_S, stderr=sys.stdout, check=False)
    return done.returncode == 0
