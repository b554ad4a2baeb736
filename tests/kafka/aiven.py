"""A tier as Aiven's plug-in lays it out, made of one of LocalTieredStorage's by an independent writer.

The plug-in itself is on no Maven repository that was tried. What stands here follows the facts about its objects (its
source at 8fb15816): keys, manifests, chunks of zstd frames, AES-GCM, OAEP with SHA3-512.
"""

import base64
import hashlib
import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import zstandard
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

CHUNK = 5000


@dataclass(frozen=True)
class KeyPair:
    """A key that segments are encrypted for."""

    key_id: str
    private: rsa.RSAPrivateKey

    @property
    def pem(self) -> bytes:
        """The private key as PKCS#8."""
        return self.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def key_pair(key_id: str) -> KeyPair:
    """A new one."""
    return KeyPair(key_id, rsa.generate_private_key(65537, 2048))


def write(tier: Path, target: Path, *, prefix: str = "", compress: bool = False, key: KeyPair | None = None) -> Path:
    """All segments of a tier of LocalTieredStorage's, in Aiven's layout below `target`."""
    for folder in sorted(tier.iterdir()):
        plain, topic_id = folder.name[:-23], folder.name[-22:]
        topic, _, partition = plain.rpartition("-")
        for log in sorted(folder.glob("*.log")):
            for name, data in _objects(log, topic, int(partition), topic_id, compress, key):
                place = target / f"{prefix}{topic}-{topic_id}" / partition / name
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)
    return target


def _objects(
    log: Path, topic: str, partition: int, topic_id: str, compress: bool, key: KeyPair | None
) -> Iterator[tuple[str, bytes]]:
    data, base, segment_id = log.read_bytes(), int(log.name[:20]), log.name[21:43]
    stem = log.name.removesuffix(".log")
    aes, aad = os.urandom(32), os.urandom(32)

    def seal(piece: bytes) -> bytes:
        """The piece, encrypted where it is to be."""
        iv = os.urandom(12)
        return piece if key is None else iv + AESGCM(aes).encrypt(iv, piece, aad)

    pieces = [data[at : at + CHUNK] for at in range(0, len(data), CHUNK)]
    chunks = [seal(zstandard.ZstdCompressor().compress(piece) if compress else piece) for piece in pieces]
    indexes, places = b"", dict[str, object]()
    for name, kind in (("offset", "index"), ("timestamp", "timeindex"), ("producerSnapshot", "snapshot"),
                       ("leaderEpoch", "leader_epoch_checkpoint"), ("transaction", "txnindex")):  # fmt: skip
        file = log.with_name(f"{stem}.{kind}")
        if not file.exists():
            places[name] = None
            continue
        sealed = seal(file.read_bytes()) if file.stat().st_size else b""
        places[name] = {"position": len(indexes), "size": len(sealed)}
        indexes += sealed
    lines = log.with_name(f"{stem}.leader_epoch_checkpoint").read_text().split("\n")[2:-1]
    known = [(int(epoch), int(start)) for epoch, start in map(str.split, lines)]
    behind = [start for _, start in known[1:]] + [1 << 62]
    epochs = {str(epoch): max(base, start) for (epoch, start), stop in zip(known, behind, strict=True) if stop > base}
    end, largest = _end(data)
    sizes = [len(chunk) for chunk in chunks]
    index: dict[str, object] = {"originalChunkSize": CHUNK, "originalFileSize": len(data)}
    if compress:
        index |= {"type": "variable", "transformedChunks": base64.b64encode(packed(sizes)).decode()}
    else:
        index |= {"type": "fixed", "transformedChunkSize": CHUNK + (28 if key else 0),
                  "finalTransformedChunkSize": sizes[-1]}  # fmt: skip
    manifest = {
        "version": "1", "chunkIndex": index, "segmentIndexes": places, "compression": compress,
        "remoteLogSegmentMetadata": {
            "remoteLogSegmentId": {
                "topicIdPartition": {
                    "topicId": topic_id, "topicPartition": {"topic": topic, "partition": partition}
                },
                "id": segment_id,
            },
            "startOffset": base, "endOffset": end, "maxTimestampMs": largest, "brokerId": 1,
            "eventTimestampMs": 1, "segmentLeaderEpochs": epochs, "txnIdxEmpty": False,
        },
    }  # fmt: skip
    if key is not None:
        manifest["encryption"] = {
            "dataKey": f"{key.key_id}:{base64.b64encode(wrapped(key, aes)).decode()}",
            "aad": base64.b64encode(aad).decode(),
        }
    yield f"{stem}.log", b"".join(chunks)
    yield f"{stem}.indexes", indexes
    yield f"{stem}.rsm-manifest", json.dumps(manifest).encode()


def _end(data: bytes) -> tuple[int, int]:
    """The last offset and the largest timestamp of a segment of v2 batches."""
    at, end, largest = 0, -1, -1
    while at < len(data):
        base, size = struct.unpack_from(">qi", data, at)
        (delta,) = struct.unpack_from(">i", data, at + 23)
        (newest,) = struct.unpack_from(">q", data, at + 35)
        end, largest = base + delta, max(largest, newest)
        at += 12 + size
    return end, largest


def packed(sizes: list[int]) -> bytes:
    data = struct.pack(">i", len(sizes))
    if len(sizes) == 1:
        data += struct.pack(">i", sizes[0])
    elif sizes:
        base = min(sizes[:-1])
        width = max(1, -(-int(max(sizes[:-1]) - base).bit_length() // 8))
        data += struct.pack(">ib", base, width)
        data += b"".join(int(size - base).to_bytes(width) for size in sizes[:-1]) + struct.pack(">i", sizes[-1])
    return zstandard.ZstdCompressor().compress(data)


def wrapped(key: KeyPair, secret: bytes) -> bytes:
    """OAEP with SHA3-512 for both, by RFC 8017 (7.1.1)."""
    numbers = key.private.public_key().public_numbers()
    size = (numbers.n.bit_length() + 7) // 8
    hashed = hashlib.sha3_512
    block = hashed(b"").digest() + b"\0" * (size - len(secret) - 2 * 64 - 2) + b"\1" + secret
    seed = os.urandom(64)
    masked = _xor(block, _mgf1(seed, len(block)))
    whole = b"\0" + _xor(seed, _mgf1(masked, 64)) + masked
    return pow(int.from_bytes(whole), numbers.e, numbers.n).to_bytes(size)


def _mgf1(seed: bytes, size: int) -> bytes:
    made = b""
    while len(made) < size:
        made += hashlib.sha3_512(seed + struct.pack(">I", len(made) // 64)).digest()
    return made[:size]


def _xor(one: bytes, other: bytes) -> bytes:
    return (np.frombuffer(one, np.uint8) ^ np.frombuffer(other, np.uint8)).tobytes()
