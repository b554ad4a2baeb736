"""Batches that unpack to far more than they are. As a program: sixteen at once, and what they cost."""

import resource
import struct
import threading

import cramjam
import zstandard
from isal import isal_zlib

from kafkafs.errors import TooLarge
from kafkafs.format.batch import walk
from kafkafs.format.codecs import GZIP, LZ4, SNAPPY, ZSTD
from kafkafs.format.records import Refusal, decode
from tests.format.batch_maker import v2_around
from tests.format.packers import lz4_frame


def bombs() -> dict[str, tuple[int, bytes]]:
    """300 MiB of zeros in as little as each codec can make of it quickly."""
    window = zstandard.ZstdCompressionParameters.from_level(1, window_log=27, write_content_size=False)
    packer = zstandard.ZstdCompressor(compression_params=window).compressobj()
    zstd = b"".join(packer.compress(bytes(1 << 20)) for _ in range(300)) + packer.flush()
    deflate = isal_zlib.compressobj(1, isal_zlib.DEFLATED, 31)
    member = b"".join(deflate.compress(bytes(1 << 20)) for _ in range(300)) + deflate.flush()
    block = bytes(cramjam.lz4.compress_block(bytes(4 << 20), store_size=False))
    lz4 = lz4_frame(b"", code=7)[:7] + (struct.pack("<I", len(block)) + block) * 75 + bytes(4)
    claim = b"\xff\xff\xff\xff\x0f" + b"\x00x"  # bare snappy that states 4 GiB
    return {"zstd": (ZSTD, zstd), "gzip": (GZIP, member), "lz4": (LZ4, lz4), "snappy": (SNAPPY, claim)}


def main() -> None:
    """Prints how many were refused as too large, and by how many megabytes this process grew."""
    kinds = bombs()
    batches = [v2_around(packed, 1000, attributes=codec) for codec, packed in [*kinds.values(), *[kinds["zstd"]] * 12]]
    before, refused = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, []

    def work(data: bytes) -> None:
        for item in decode(data, 0, walk(data, 0).rows, 256 << 20):
            if isinstance(item, Refusal) and isinstance(item.error, TooLarge):
                refused.append(item)

    threads = [threading.Thread(target=work, args=(batch,)) for batch in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(len(refused), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before >> 10)


if __name__ == "__main__":
    main()
