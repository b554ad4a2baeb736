"""`scripts/growth`: the plans of a large cluster's disks, by simulation. Processor time, memory of the driver, and logs
opened.

Segments are sparse: of a partition the first and the last one have a batch, and the others only a size. Each plan is
made in a process of its own.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from kafkafs.spark.export import export_plan
from kafkafs.spark.export.export_plan import Request
from kafkafs.spark.export.output import output
from kafkafs.spark.export.settling import settle
from kafkafs.spark.frame import Frame
from kafkafs.spark.segment_units import live_segments
from kafkafs.spark.source import BatchReader
from kafkafs.spark.source_options import batch_options
from kafkafs.tables.choice import Choice
from kafkafs.tables.offsets import EARLIEST, LATEST, AllAt
from tests.counting import logs_opened
from tests.log.making import made

OFFSETS = 1000
"""Offsets of a segment."""


_LINKS = 60_000
"""Names that a file system gives one file, at most."""


def make(place: Path, partitions: int, segments: int, size: int) -> None:
    """The data directory. What is alike is linked, because that is quicker."""
    ends = {base: made(base * OFFSETS, [1000]).data for base in (0, segments - 1)}
    place.mkdir()
    (place / "meta.properties").write_text("version=1\n")
    group = max(_LINKS // (2 * segments), 1)
    for number in range(partitions):
        log, empty = (place.with_name(f"{name}-{number // group}") for name in ("log", "empty"))
        if number % group == 0:
            empty.touch()
            log.touch()
            os.truncate(log, size)
        directory = f"{place}/many-{number}"
        os.mkdir(directory)
        for base in range(segments):
            stem = f"{directory}/{base * OFFSETS:020}"
            if base in ends:
                with open(f"{stem}.log", "wb") as file:
                    file.write(ends[base])
                    file.truncate(size if base < segments - 1 else None)
            else:
                os.link(log, f"{stem}.log")
            os.link(empty, f"{stem}.index")
            os.link(empty, f"{stem}.timeindex")


def source(place: Path, _: Path) -> str:
    """A read of `spark.read.format("kafkafs")`."""
    tasks = BatchReader(batch_options({"path": str(place), "subscribe": "many"}), Frame()).partitions()
    return f"{len(tasks):,} tasks"


def export(place: Path, out: Path) -> str:
    """A first export, up to its plan on the disk."""
    request = Request((place,), Choice(topics=("many",)), AllAt(EARLIEST), AllAt(LATEST))
    plan = settle(output(str(out)), request)
    export_plan.save(output(str(out)), request, plan)
    return f"{len(plan.units):,} files"


def units(place: Path, _: Path) -> str:
    """The units of `audit` and `profile`."""
    return f"{len(live_segments((place,), 'furthest')):,} segments"


PLANS: Mapping[str, Callable[[Path, Path], str]] = {"data source": source, "export": export, "audit, profile": units}


def measure(name: str, place: Path, out: Path) -> str:
    """A line of the table."""
    reported: list[str] = []
    started = time.process_time()
    opened = logs_opened(lambda: reported.append(PLANS[name](place, out)))
    took = time.process_time() - started
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    memory = int(status["VmHWM"].split()[0]) / 1024
    return f"| {name} | {reported[0]} | {took:,.0f} s | {memory:,.0f} MB | {opened:,} |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/growth", description="Measure plans of a large cluster's disks.")
    parser.add_argument("--partitions", type=int, default=100_000, metavar="N")
    parser.add_argument("--segments", type=int, default=10, metavar="N", help="of each partition")
    parser.add_argument("--segment-mb", type=int, default=16, metavar="N")
    parser.add_argument("--measure", nargs=3, metavar=("PLAN", "DATA_DIR", "OUT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        name, place, out = arguments.measure
        print(measure(name, Path(place), Path(out)))
        return 0
    with tempfile.TemporaryDirectory(prefix="kafkafs-growth-") as home:
        started = time.monotonic()
        place = Path(home, "data")
        make(place, arguments.partitions, arguments.segments, arguments.segment_mb << 20)
        print(f"made in {time.monotonic() - started:,.0f} s", file=sys.stderr)
        print(
            "| plan | result | processor time | memory of the driver | logs opened |\n| --- | --- | --- | --- | --- |"
        )
        for name in PLANS:
            words = ["--measure", name, str(place), str(Path(home, "out"))]
            subprocess.run([sys.executable, "-m", "tests.bench.growth", *words], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
