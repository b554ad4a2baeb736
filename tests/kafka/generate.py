"""One release's data and truth, from an empty directory to what tests read: `python -m tests.kafka.generate RELEASE`.

What is made, all under one directory:

    live/       the data directory as a running broker leaves it: padded indexes, open segments, no clean shutdown
    stopped/    the same after a clean stop
    truth/      what consumers and ListOffsets said while the broker ran (`truth`)
    dumps-live.json.gz, dumps-stopped.json.gz       what DumpLogSegments prints of either (`dumps`)
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from confluent_kafka.admin import OffsetSpec

from tests.kafka import broker as node
from tests.kafka import dataset, dumps, truth
from tests.kafka.broker import Broker, wait_until
from tests.kafka.topics import codecs, contents, deletions, formats, groups, restarts, segments, times, transactions
from tests.kafka.writer import create, delete_topic

SUBJECTS = (  # deletions first: see its `write`
    deletions,
    restarts,
    codecs,
    formats,
    times,
    contents,
    segments,
    groups,
    transactions,
)
COPY_ATTEMPTS = 3


def make(release: str, place: Path) -> None:
    """Fills the empty directory `place`; about a minute."""
    with tempfile.TemporaryDirectory(prefix="kafkafs-broker-") as home:
        with node.running(release, Path(home)) as broker:
            create(broker, {name: topic for subject in SUBJECTS for name, topic in subject.topics(release).items()})
            restarts.write_before(broker)
        with node.running(release, Path(home)) as broker:
            _write(broker, place)
            copy(broker.data, place / "live")
        copy(Path(home) / "data", place / "stopped")
        for state in dataset.STATES:
            scratch = Path(home) / f"scratch-{state}"
            copy(place / state, scratch)
            dumps.record(scratch, place / f"dumps-{state}.json.gz", release, padded=state == "live")


def copy(source: Path, target: Path) -> None:
    """Copies a data directory sparsely with all its times; again if the broker removed a file under our hands."""
    for attempt in range(COPY_ATTEMPTS):
        done = subprocess.run(["cp", "-a", "--sparse=always", source, target], capture_output=True)
        if done.returncode == 0:
            return
        shutil.rmtree(target, ignore_errors=True)
        if attempt == COPY_ATTEMPTS - 1:
            raise RuntimeError(f"cannot copy {source}: {done.stderr.decode()}")


def _write(broker: Broker, place: Path) -> None:
    for subject in SUBJECTS:
        subject.write(broker)
    left_open = transactions.leave_open(broker)
    deletions.finish(broker)
    (place / "truth").mkdir()
    truth.record(broker, place / "truth")
    delete_topic(broker, deletions.DOOMED)
    wait_until(lambda: _checkpointed(broker), "the checkpoints to be written")
    left_open.clear()


def _checkpointed(broker: Broker) -> bool:
    """Whether the disk tells the same high watermarks and log starts as the broker does."""
    starts = _checkpoint(broker.data / "log-start-offset-checkpoint")
    watermarks = _checkpoint(broker.data / "replication-offset-checkpoint")
    partitions = truth.all_partitions(broker)
    latest = truth.ask(broker.admin, dict.fromkeys(partitions, OffsetSpec.latest()))
    earliest = truth.ask(broker.admin, dict.fromkeys(partitions, OffsetSpec.earliest()))
    return all(
        (newest := latest[each]) is not None
        and (oldest := earliest[each]) is not None
        and watermarks.get(each) == newest[0]
        and starts.get(each, oldest[0] if _base(broker, each) == oldest[0] else None) == oldest[0]
        for each in partitions
    )


def _base(broker: Broker, partition: truth.Partition) -> int:
    return min(int(log.stem) for log in (broker.data / "{}-{}".format(*partition)).glob("*.log"))


def _checkpoint(path: Path) -> dict[truth.Partition, int]:
    entries = (line.split() for line in path.read_text().splitlines()[2:])
    return {(topic, int(partition)): int(offset) for topic, partition, offset in entries}


if __name__ == "__main__":
    dataset.ensure(sys.argv[1], make)
