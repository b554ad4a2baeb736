"""`-o cache=keep`: pages that the kernel keeps are never of another generation of the log than what stands there."""

import time
from collections.abc import Sequence
from pathlib import Path

from kafkafs.format.names import segment_file
from kafkafs.view.raw import SETTLED_NS
from tests.format.batch_maker import v2_batch
from tests.log.making import Made, made, write_partition
from tests.mounting import KAFKAFS, mounting, wait_until

BASES = (0, 60, 90)
NAMES = ("by-offset/30", "by-offset/0..60", "by-offset/10..90", "segments/00000000000000000000.log")
GENERATIONS = 3


def generation(letter: bytes) -> dict[int, list[Made]]:
    """Batches of the same sizes, offsets and times in each; values differ."""
    batches = []
    for base in range(0, 100, 10):
        records = made(base, [1_000 + base] * 10, size=900).records
        other = tuple(each._replace(value=(each.value or b"").replace(b".", letter)) for each in records)
        batches.append(Made(v2_batch(other), other))
    return {0: batches[:6], 60: batches[6:9], 90: batches[9:]}


def cut_and_grow(directory: Path, segments: dict[int, list[Made]]) -> None:
    """As a follower does whose leader had another log: later segments go, the first is cut in place and grows again.
    Views that the kernel keeps show sizes and times of batches, and those are as they were."""
    for base in BASES[1:]:
        (directory / segment_file(base, "log")).unlink()
    with (directory / segment_file(0, "log")).open("r+b") as log:
        log.truncate(len(segments[0][0].data))
        log.seek(0)
        log.write(b"".join(batch.data for batch in segments[0]))
    for base in BASES[1:]:
        (directory / segment_file(base, "log")).write_bytes(b"".join(batch.data for batch in segments[base]))


def bytes_of(segments: dict[int, list[Made]], name: str) -> bytes:
    batches: Sequence[Made] = [batch for segment in segments.values() for batch in segment]
    chosen = {"by-offset/30": batches[3:4], "by-offset/0..60": batches[:6], "by-offset/10..90": batches[1:9]}
    return b"".join(batch.data for batch in chosen.get(name, batches[:6]))


def test_a_log_that_was_cut_and_grew_again_is_never_mixed_with_what_it_was(tmp_path: Path) -> None:
    """Regression: where sizes and times matched, the first read gave old pages, a batch that is none, and new bytes.
    Each name is read in a partition of its own, of which nothing else is asked."""
    data, place = tmp_path / "data", tmp_path / "mount"
    place.mkdir()
    directories = [write_partition(data, generation(b"."), f"t-{each}") for each in range(len(NAMES))]
    with mounting([KAFKAFS, "mount", data, place, "-o", "cache=keep"], place, tmp_path / "log") as mounted:
        for number in range(GENERATIONS):
            segments = generation(bytes([ord("a") + number]))
            for directory in directories:
                cut_and_grow(directory, segments)
            newest = max(path.stat().st_ctime_ns for directory in directories for path in directory.iterdir())
            wait_until(lambda: time.time_ns() > newest + SETTLED_NS)  # noqa: B023 (it is over before the next)
            for directory, name in zip(directories, NAMES, strict=True):
                path = mounted / directory.name / name
                path.stat()
                with path.open("rb") as file:
                    half = file.read(3_000)
                    if number % 2:
                        continue  # some pages are kept, and some are not
                    found = half + file.read()
                assert found == bytes_of(segments, name), (number, name)
