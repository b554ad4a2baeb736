"""Data directories of many partitions, and of many segments: real one-record batches with their base offsets rewritten,
one a segment."""

import shutil
import struct
from collections.abc import Callable
from pathlib import Path

from tests.bench.data import SEGMENTED, TINY, Bench

SEGMENTS = 10


def make(bench: Bench, partitions: int) -> Path:
    """`partitions` partitions of ten segments, made once."""

    def fill(place: Path) -> None:
        batches = _batches(bench, SEGMENTS)
        for number in range(partitions):
            _partition(place / f"many-{number}", batches, b"")

    return made_once(bench, f"many-{partitions}", fill)


def make_segments(bench: Bench, segments: int) -> Path:
    """One partition, `many-0`, of so many segments, with the indexes that a broker leaves of such; made once."""

    def fill(place: Path) -> None:
        batches = _batches(bench, segments)
        _partition(place / "many-0", batches, struct.pack(">qi", *struct.unpack_from(">q", batches[0], 35), 0))
        # no producer has a transaction open: what else would be read to know that is no cost of a segment
        (place / f"many-0/{segments - 1:020d}.snapshot").write_bytes(_no_producers(bench))

    return made_once(bench, f"segments-{segments}", fill)


def made_once(bench: Bench, name: str, fill: Callable[[Path], None]) -> Path:
    place = bench.home.with_name(name)
    if not place.exists():
        unfinished = place.with_name(f"{place.name}.part")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        shutil.copy(bench.path / "meta.properties", unfinished)
        fill(unfinished)
        unfinished.rename(place)
    return place


def _no_producers(bench: Bench) -> bytes:
    """The first snapshot of a topic in segments, which has no open transaction."""
    return min(bench.path.joinpath(f"{SEGMENTED[10]}-0").glob("*.snapshot")).read_bytes()


def _batches(bench: Bench, count: int) -> list[bytes]:
    """The batch of each offset; the base offset stands outside the checksum."""
    log = bench.log(TINY).read_bytes()
    size = 12 + int.from_bytes(log[8:12], "big")
    return [offset.to_bytes(8, "big") + log[8:size] for offset in range(count)]


def _partition(place: Path, batches: list[bytes], times: bytes) -> None:
    place.mkdir()
    for offset, batch in enumerate(batches):
        place.joinpath(f"{offset:020d}.log").write_bytes(batch)
        place.joinpath(f"{offset:020d}.index").touch()
        place.joinpath(f"{offset:020d}.timeindex").write_bytes(times)
