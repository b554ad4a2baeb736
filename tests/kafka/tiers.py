"""One tier in each layout that there is: as LocalTieredStorage wrote it, as Aiven's plug-in would have, in buckets."""

import random
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pyarrow import fs

from kafkafs.log.read_options import TierSource
from tests.kafka import aiven
from tests.kafka.broker import wait_until
from tests.kafka.tiered import Tiered

KINDS = ("local", "aiven", "aiven zstd", "aiven encrypted", "aiven zstd encrypted", "bucket local", "bucket zstd")


@contextmanager
def s3_server() -> Iterator[str]:
    """The address of an S3 server on this machine, behind a bucket's name."""
    from moto.server import ThreadedMotoServer  # half a second, which each worker would wait when it collects

    running = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    try:
        yield f"endpoint_override={host}:{port}&scheme=http&region=us-east-1"
    finally:
        running.stop()


@contextmanager
def s3_process(port: int = 0) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The same in a process of its own, which can be stopped and ended: its address, and the process."""
    port = port or free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: _answers(port), "the S3 server")
            yield f"endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1", process
        finally:
            process.kill()


def free_port() -> int:
    """One that no connection gets meanwhile: the kernel gives them numbers from 32,768 on."""
    for port in random.sample(range(20_000, 32_000), 100):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise OSError("no port is free")


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1):
            return True
    except OSError:
        return False


def sources(place: Path, address_of: Callable[[Path], str]) -> dict[str, TierSource]:
    """The tier in each layout, made below `place`; `address_of` gives the address of a directory in a bucket."""
    tiered, key = Tiered(), aiven.key_pair("k1")
    (place / "k1.pem").write_bytes(key.pem)
    keys = (("k1", place / "k1.pem"),)
    zstd = aiven.write(tiered.tier, place / "zstd", prefix="some/prod-", compress=True)
    return {
        "local": TierSource(str(tiered.tier)),
        "aiven": TierSource(str(aiven.write(tiered.tier, place / "aiven"))),
        "aiven zstd": TierSource(str(zstd)),
        "aiven encrypted": TierSource(str(aiven.write(tiered.tier, place / "encrypted", key=key)), keys),
        "aiven zstd encrypted": TierSource(str(aiven.write(tiered.tier, place / "both", compress=True, key=key)), keys),
        "bucket local": TierSource(address_of(tiered.tier)),
        "bucket zstd": TierSource(address_of(zstd)),
    }


def rolled_elsewhere(place: Path, *directories: str) -> tuple[Path, Path]:
    """A data directory and a tier, LocalTieredStorage's, whose last uploads of these partitions are of a former leader
    that rolled later: each has all that the disk's only segment has, too."""
    data, tier = place / "data", place / "tier"
    shutil.copytree(Tiered().left, data, ignore=shutil.ignore_patterns("__remote_log_metadata-*"))
    shutil.copytree(Tiered().tier, tier)
    for name in directories:
        (log,) = (data / name).glob("*.log")
        upload = max(next(tier.glob(f"{name}-*")).glob("*.log"))
        for kind in (".log", ".txnindex"):
            if (more := log.with_suffix(kind)).exists():
                with upload.with_suffix(kind).open("ab") as file:
                    file.write(more.read_bytes())
    return data, tier


def uploaded(directory: Path, bucket: str, server: str) -> str:
    """The address of a new bucket with the files of a directory."""
    uri = f"s3://key:secret@{bucket}"
    system, _ = fs.FileSystem.from_uri(f"{uri}?{server}&allow_bucket_creation=true")
    system.create_dir(bucket)
    fs.copy_files(str(directory), bucket, destination_filesystem=system)
    return f"{uri}?{server}"
