"""Brokers' disks that are made by hand, for exports by leader: each sees its own replicas and its own copy of the
metadata.

    cluster = Cluster(tmp_path, brokers=3, partitions=4)
    cluster.append(0, 5)            five records, into every replica of t-0
    cluster.elect(0, 2)             broker 2 leads t-0 now, as every broker hears
    export(cluster, 2, out)         the command on the machine of broker 2
    exported(out), cluster.truth()  what stands there, and what should
"""

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

from kafkafs.errors import KafkafsError
from kafkafs.spark.export.claims import Timing, claimed
from kafkafs.spark.export.export_plan import Request
from kafkafs.spark.export.led_job import LedExported, export_led
from kafkafs.spark.export.output import Output, output
from kafkafs.tables import locations
from kafkafs.tables.choice import Choice
from kafkafs.tables.led import led_by
from kafkafs.tables.local import LocalEngine
from kafkafs.tables.offsets import EARLIEST, LATEST, AllAt
from tests.cluster.test_topic_partitions import FEATURE, ORDERS, belongs
from tests.cluster.writing import Data, Pair, metadata

TOPIC = "t"
METADATA = "__cluster_metadata-0"
Place = tuple[int, int]
"""A partition of the topic and an offset."""

_QUICK = Timing(pause_s=0.11)


class Cluster:
    """One topic, of which every broker has every partition."""

    def __init__(self, path: Path, brokers: int = 3, partitions: int = 4, has_metadata: bool = True) -> None:
        self.brokers, self.partitions = range(1, brokers + 1), range(partitions)
        self.leaders = {number: 1 + number % brokers for number in self.partitions}
        self.values: dict[Place, bytes] = {}
        self.ends = dict.fromkeys(self.partitions, 0)
        self.disks = {broker: Data(path / f"broker{broker}") for broker in self.brokers}
        self.has_metadata = has_metadata
        for broker, disk in self.disks.items():
            text = f"version=1\nnode.id={broker}\ncluster.id=uBxTSvaETEx3i2U_wtBtcQ\n"
            (disk.path / "meta.properties").write_text(text)
            for number in self.partitions:
                belongs(disk, f"{TOPIC}-{number}", ORDERS)
                (disk.path / f"{TOPIC}-{number}" / f"{0:020}.log").touch()
        ids = list(self.brokers)
        self._tell(
            FEATURE,
            metadata("TopicRecord", name=TOPIC, topicId=ORDERS),
            *(
                metadata("PartitionRecord", partitionId=each, topicId=ORDERS, replicas=ids, isr=ids, leader=leader)
                for each, leader in self.leaders.items()
            ),
        )

    def append(self, number: int, count: int, brokers: Iterable[int] | None = None, epoch: int = 0) -> None:
        """Records at the end of a partition, on some brokers; on all unless some are given."""
        base = self.ends[number]
        self.ends[number] += count
        pairs: list[Pair] = []
        for offset in range(base, base + count):
            self.values[number, offset] = b"%d/%d" % (number, offset)
            pairs.append((None, self.values[number, offset]))
        for broker in brokers or self.brokers:
            self.disks[broker].write(f"{TOPIC}-{number}", pairs, at=base, epoch=epoch)

    def elect(self, number: int, broker: int, reported: Iterable[int] | None = None) -> None:
        """Another leader, as some brokers hear; all unless some are given."""
        self.leaders[number] = broker
        record = metadata("PartitionChangeRecord", partitionId=number, topicId=ORDERS, leader=broker)
        self._tell(record, reported=reported)

    def truth(self) -> Counter[tuple[Place, bytes]]:
        """Every record, once."""
        return Counter(self.values.items())

    def _tell(self, *records: Pair, reported: Iterable[int] | None = None) -> None:
        for broker in reported or self.brokers:
            if self.has_metadata:
                self.disks[broker].write(METADATA, records)


def request(cluster: Cluster, broker: int, **changes: object) -> Request:
    whole = Request((cluster.disks[broker].path,), Choice(topics=(TOPIC,)), AllAt(EARLIEST), AllAt(LATEST),
                    file_bytes=150, led_by=broker)  # fmt: skip
    return replace(whole, **changes)  # type: ignore[arg-type]


def export(cluster: Cluster, broker: int, place: Path, timing: Timing = _QUICK, **changes: object) -> LedExported:
    """One run, as the command makes it in a new process."""
    locations.open_directories.close()
    out, wanted = output(str(place)), request(cluster, broker, **changes)
    led = led_by(broker, wanted)
    with claimed(out, timing, in_parts=True) as claim:
        return export_led(LocalEngine(1), out, wanted, led, claim)


def exported(place: Path) -> Counter[tuple[Place, bytes]]:
    """Every record that stands there, and how often."""
    found: Counter[tuple[Place, bytes]] = Counter()
    for file in place.rglob("*.parquet"):
        rows = pq.ParquetFile(file).read(["partition", "offset", "value"]).to_pydict()
        found.update(
            ((number, offset), value)
            for number, offset, value in zip(rows["partition"], rows["offset"], rows["value"], strict=True)
        )
    return found


def beside(call: Callable[[], object], killed_at: int | str | None = None) -> int:
    """Starts the call in a process of its own, which SIGKILL ends before it writes the file with that number, or one
    whose name ends so. It ends with 0, or 2 for an error in a sentence: if one of its own processes was killed, too."""
    pid = os.fork()
    if pid:
        return pid
    try:
        if killed_at is not None:
            _kill_at(killed_at)
        call()
        os._exit(0)
    except KafkafsError:
        os._exit(2)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(3)
    raise AssertionError


def _kill_at(place: int | str) -> None:
    writing, left = Output.writing, [place if isinstance(place, int) else 1 << 30]

    def counted(self: Output, name: str):
        """The same, until it is time."""
        left[0] -= 1
        if left[0] <= 0 or (isinstance(place, str) and name.endswith(place)):
            os.kill(os.getpid(), signal.SIGKILL)
        return writing(self, name)

    Output.writing = counted  # type: ignore[method-assign]


def ended(*pids: int) -> list[int]:
    """The exit codes, -9 of what was killed."""
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
