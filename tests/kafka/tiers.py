"""One tier in each layout that there is: as LocalTieredStorage wrote it, as Aiven's plug-in would have, in buckets."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyarrow import fs

from kafkafs.log.options import TierSource
from tests.kafka import aiven
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


def sources(place: Path, server: str) -> dict[str, TierSource]:
    """The tier in each layout, made below `place` and in buckets of that server."""
    tiered, key = Tiered(), aiven.key_pair("k1")
    (place / "k1.pem").write_bytes(key.pem)
    keys = (("k1", place / "k1.pem"),)
    zstd = aiven.write(tiered, place / "zstd", prefix="some/prod-", compress=True)
    return {
        "local": TierSource(str(tiered.tier)),
        "aiven": TierSource(str(aiven.write(tiered, place / "aiven"))),
        "aiven zstd": TierSource(str(zstd)),
        "aiven encrypted": TierSource(str(aiven.write(tiered, place / "encrypted", key=key)), keys),
        "aiven zstd encrypted": TierSource(str(aiven.write(tiered, place / "both", compress=True, key=key)), keys),
        "bucket local": TierSource(uploaded(tiered.tier, "local", server)),
        "bucket zstd": TierSource(uploaded(zstd, "zstd", server)),
    }


def uploaded(directory: Path, bucket: str, server: str) -> str:
    """The address of a new bucket with the files of a directory."""
    uri = f"s3://key:secret@{bucket}"
    system, _ = fs.FileSystem.from_uri(f"{uri}?{server}&allow_bucket_creation=true")
    system.create_dir(bucket)
    fs.copy_files(str(directory), bucket, destination_filesystem=system)
    return f"{uri}?{server}"
