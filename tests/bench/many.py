"""A data directory of many partitions, of real one-record batches with their base offsets rewritten, one a segment."""

import shutil
from pathlib import Path

from tests.bench.data import TINY, Bench

SEGMENTS = 10


def make(bench: Bench, partitions: int) -> Path:
    """`partitions` partitions of ten segments, made once."""
    place = bench.home.with_name(f"many-{partitions}")
    if not place.exists():
        unfinished = place.with_name(f"{place.name}.part")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        shutil.copy(bench.path / "meta.properties", unfinished)
        batches = _batches(bench.log(TINY).read_bytes())
        for number in range(partitions):
            _partition(unfinished / f"many-{number}", batches)
        unfinished.rename(place)
    return place


def _batches(log: bytes) -> list[bytes]:
    """The batch of each offset; the base offset stands outside the checksum."""
    size = 12 + int.from_bytes(log[8:12], "big")
    return [offset.to_bytes(8, "big") + log[8:size] for offset in range(SEGMENTS)]


def _partition(place: Path, batches: list[bytes]) -> None:
    place.mkdir()
    for offset, batch in enumerate(batches):
        place.joinpath(f"{offset:020d}.log").write_bytes(batch)
        place.joinpath(f"{offset:020d}.index").touch()
        place.joinpath(f"{offset:020d}.timeindex").touch()
