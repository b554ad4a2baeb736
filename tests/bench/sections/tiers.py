"""Remote segments beside local ones: raw streams of a tier in a directory, and what ten thousand cost a mount."""

import base64
import os
import shutil
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import zstandard

from kafkafs.format.tiers.manifest import parse_manifest
from tests.bench import many, mounts
from tests.bench.data import SEGMENTED, Bench
from tests.bench.measure import Result, Spread, in_turns, seconds
from tests.bench.sections.stream import rate
from tests.kafka import aiven

_TOPIC_ID = "a3YuchuOROWw8Ga3Hmv0QQ"
_EPOCHS = "0\n1\n0 0\n"
_CHUNK = 4 << 20  # the plug-in's, unless it is told otherwise
_MANY = 10_000


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    yield from _streams(bench, rounds)
    data = many.make_segments(bench, _MANY)
    place = many.made_once(bench, f"tier-{_MANY}", partial(_move, data / "many-0"))
    took, grown = [], []
    for _ in range(rounds):
        with mounts.kafkafs(place / "left") as without:
            os.listdir(without.path / "many-0")
            before = without.resident()
        with mounts.kafkafs(place / "left", [f"tiered={place / 'tier'}"]) as ours:
            took.append(seconds(partial(os.stat, ours.path / f"many-0/by-offset/{_MANY // 2}")))
            grown.append((ours.resident() - before) / 1e6)
    yield Result("tiers", f"first point of {_MANY:,} remote segments", "s", Spread(tuple(took)), goal=2.0, at_most=True)
    yield Result("tiers", f"memory for {_MANY:,} remote segments", "MB", Spread(tuple(grown)), goal=50.0, at_most=True)


def _streams(bench: Bench, rounds: int) -> Iterator[Result]:
    name = f"{SEGMENTED[10]}-0"
    place = many.made_once(bench, "tier-stream", partial(_move, bench.path / name))
    query = f"{name}/by-offset/0.."
    with ExitStack() as opened:
        mounted = {
            kind: opened.enter_context(mounts.kafkafs(data, options)).path / query
            for kind, data, options in (
                ("local", bench.path, []),
                ("directory", place / "left", [f"tiered={place / 'tier'}"]),
                ("zstd", place / "left", [f"tiered={place / 'zstd'}"]),
            )
        }
        manifests = sorted((place / "zstd").rglob("*.rsm-manifest"))
        found = in_turns(
            {kind: rate(path) for kind, path in mounted.items()} | {"floor": partial(_unpacked, manifests)}, rounds
        )
    yield Result("tiers", "raw, LocalTieredStorage", "MB/s", found["directory"], "local", found["local"], 0.8)
    yield Result("tiers", "raw, chunks of zstd", "MB/s", found["zstd"], "zstd alone, no CRC", found["floor"], 0.5)


def _unpacked(manifests: Sequence[Path]) -> float:
    """Megabytes a second of the library over the same chunks, in one thread."""
    pieces = []
    for manifest in manifests:
        reported, data = parse_manifest(manifest.read_bytes()).chunks, manifest.with_suffix(".log").read_bytes()
        pieces += [data[at:behind] for at, behind in pairwise(reported.positions.tolist())]
    size = [0]
    took = seconds(lambda: size.extend(len(zstandard.ZstdDecompressor().decompress(piece)) for piece in pieces))
    return sum(size) / took / 1e6


def _move(partition: Path, place: Path) -> None:
    """All segments of a partition but the last one as LocalTieredStorage lays them out, and, where they are few, as
    Aiven's plug-in does in chunks of zstd; and the data directory that is left."""
    topic, _, number = partition.name.rpartition("-")
    left, tier = place / "left" / partition.name, place / "tier" / f"{partition.name}-{_TOPIC_ID}"
    left.mkdir(parents=True)
    tier.mkdir(parents=True)
    shutil.copy(partition.parent / "meta.properties", place / "left")
    (place / "left/log-start-offset-checkpoint").write_text(f"0\n1\n{topic} {number} 0\n")
    (left / "partition.metadata").write_text(f"version: 0\ntopic_id: {_TOPIC_ID}\n")
    (left / "leader-epoch-checkpoint").write_text(_EPOCHS)
    *moved, last = sorted(partition.glob("*.log"))
    for file in partition.glob(f"{last.stem}.*"):
        shutil.copy(file, left)
    for count, log in enumerate(moved):
        stem = f"{log.stem}-{base64.urlsafe_b64encode(struct.pack('>QQ', 0, count)).decode()[:22]}"
        for kind in ("log", "index", "timeindex"):
            source = log.with_suffix(f".{kind}")
            (tier / f"{stem}.{kind}").write_bytes(source.read_bytes() if source.exists() else b"")
        (tier / f"{stem}.leader_epoch_checkpoint").write_text(_EPOCHS)
        (tier / f"{stem}.snapshot").write_bytes(b"")
    if len(moved) < _MANY // 10:
        with patch.object(aiven, "CHUNK", _CHUNK):
            aiven.write(place / "tier", place / "zstd", compress=True)
