"""`kafkafs demo`: the bundled sample, written by a real broker, mounted and walked through with everyday commands."""

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafkafs import sample
from kafkafs.cli import mount, umount
from kafkafs.cli.endings import EXIT_FAILED
from kafkafs.cli.parser import build
from kafkafs.errors import DiskError
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
    ("Where it stands, in extended attributes.", "getfattr -d test-0/by-offset/23350"),
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
    (
        "Avro, by its schema, which lies on the same disk.",
        "jq -c '.value' readings-0/by-offset/1..4.decoded.jsonl",
    ),
    (
        "How far groups had read when the broker stopped, from its own topics.",
        "jq -c '{group, topic, offset, lag}' .cluster/groups/*/offsets.jsonl",
    ),
    ("What is known of a partition.", "jq -c 'del(.segments)' test-0/info.json"),
)


def run(arguments: argparse.Namespace) -> int:
    """Walks through the sample: 0 if every command worked."""
    with mounted_sample(keep=arguments.keep) as place:
        failed = [command for text, command in WALK if _available(command) and not _show(place, text, command)]
    if failed:
        print(f"\n{len(failed)} of these commands failed.")
        return EXIT_FAILED
    if arguments.keep:
        print(f"\nIt stays mounted at {place}. To end it: kafkafs umount {place} && rm -r {place.parent}")
    else:
        print("\nThe mount is gone again. Yours: kafkafs mount DATA_DIR... MOUNTPOINT")
    return 0


@contextmanager
def mounted_sample(*, keep: bool) -> Iterator[Path]:
    """The sample, unpacked and mounted in a new directory: the mount point. Unless it is to be kept, it is gone at the
    end; after an error or Ctrl-C, at whatever moment, it is gone in any case."""
    scratch = Path(tempfile.mkdtemp(prefix="kafkafs-demo-"))
    place = scratch / "mount"
    try:
        data = sample.unpack(scratch)
        place.mkdir()
        print(f"$ kafkafs mount {data} {place} --background", flush=True)
        # the commands a user would type, in this process
        if mount.run(build(["mount"]).parse_args(["mount", str(data), str(place), "--background"])) != 0:
            raise DiskError("the sample could not be mounted")
        print(f"$ cd {place}")
        yield place
    except BaseException:
        keep = False
        raise
    finally:
        if not keep:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # an impatient Ctrl-C would leave a mount behind
            if mounted_at(place) is not None:
                umount.run(build(["umount"]).parse_args(["umount", str(place)]))
            shutil.rmtree(scratch)


def _available(command: str) -> bool:
    """Whether what it needs is installed; a walk without jq is still a walk."""
    return all(shutil.which(program) for program in OPTIONAL if program in command.split())


def _show(place: Path, text: str, command: str) -> bool:
    print(f"\n# {text}\n$ {command}", flush=True)
    done = subprocess.run(["sh", "-c", command], cwd=place, timeout=COMMAND_S, stderr=sys.stdout, check=False)
    return done.returncode == 0
