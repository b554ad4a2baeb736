"""Aiven's encryption: AES-256-GCM of each chunk and index, its key wrapped by RSA.

A piece is an IV of 12 bytes, ciphertext, and a tag of 16. The AES key is wrapped by RSA with OAEP over SHA3-512 and
MGF1 with SHA3-512, which `cryptography` refuses to combine: OAEP is undone here (RFC 8017, 7.1.2). Sources:
RsaEncryptionProvider, AesEncryptionProvider of the plug-in.
"""

import functools
import hashlib

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from kafkafs.errors import CorruptData, DiskError, UsageError
from kafkafs.format.tiers.manifest import Encryption

IV_SIZE, TAG_SIZE = 12, 16
_HASH = hashlib.sha3_512
_HASH_SIZE = 64
_MANY_SEGMENTS = 1024


class Keys:
    """The private keys that a user gave, by id. They remember what they unwrapped of late: a segment's log and indexes
    have one key, each look opens them, and RSA takes milliseconds."""

    def __init__(self, pems: dict[str, bytes]) -> None:
        """UsageError if one is no private key of RSA in PEM."""
        self._keys = {key_id: _private_key(key_id, pem) for key_id, pem in pems.items()}
        self._unwrapped = functools.lru_cache(_MANY_SEGMENTS)(self._unwrap)

    def cipher(self, encryption: Encryption) -> "Cipher":
        """The cipher that decrypts that segment. DiskError for a key id that was not given, and for a key that does not
        fit."""
        if encryption.key_id not in self._keys:
            raise DiskError(encryption.sentence)
        return Cipher(self._unwrapped(encryption.key_id, encryption.wrapped), encryption.aad)

    def _unwrap(self, key_id: str, wrapped: bytes) -> bytes:
        return _unwrapped(self._keys[key_id], key_id, wrapped)


class Cipher:
    """Decrypts the chunks and indexes of one segment. `overhead` is by how many bytes a piece is longer than what is in
    it."""

    overhead = IV_SIZE + TAG_SIZE

    def __init__(self, key: bytes, aad: bytes) -> None:
        self._aead = AESGCM(key)
        self._aad = aad

    def decrypt(self, piece: bytes | memoryview) -> bytes:
        """The piece in clear; CorruptData if its tag does not hold."""
        if len(piece) < self.overhead:
            raise CorruptData(f"an encrypted piece has {len(piece)} bytes")
        try:
            return self._aead.decrypt(piece[:IV_SIZE], piece[IV_SIZE:], self._aad)
        except InvalidTag as error:
            raise CorruptData("an encrypted piece was altered, or is another segment's") from error


def _private_key(key_id: str, pem: bytes) -> RSAPrivateKey:
    try:
        key = load_pem_private_key(pem, None)
    except (ValueError, TypeError) as error:
        raise UsageError(f"the key {key_id!r} is not a private key in PEM without a password") from error
    if not isinstance(key, RSAPrivateKey):
        raise UsageError(f"the key {key_id!r} is not an RSA key")
    return key


def _unwrapped(key: RSAPrivateKey, key_id: str, given: bytes) -> bytes:
    """The AES key. DiskError if what RSA gives is no OAEP of an empty label: another key's."""
    modulus = key.public_key().public_numbers().n
    size = (modulus.bit_length() + 7) // 8
    wrapped = int.from_bytes(given)
    refused = DiskError(f"the private key given as {key_id!r} does not fit the segment's")
    if len(given) != size or wrapped >= modulus or size < 2 * _HASH_SIZE + 2:
        raise refused
    block = rsa_decrypted(key, wrapped).to_bytes(size)
    masked_seed, masked = block[1 : 1 + _HASH_SIZE], block[1 + _HASH_SIZE :]
    seed = _xor(masked_seed, _mask(masked, _HASH_SIZE))
    data = _xor(masked, _mask(seed, len(masked)))
    label, padded = data[:_HASH_SIZE], data[_HASH_SIZE:].lstrip(b"\0")
    if block[0] or label != _HASH(b"").digest() or padded[:1] != b"\1" or len(padded) != 1 + 32:
        raise refused
    return padded[1:]


def rsa_decrypted(key: RSAPrivateKey, wrapped: int) -> int:
    """c^d mod n, of its remainders by both primes: in a quarter of the time (RFC 8017, 5.1.2)."""
    numbers = key.private_numbers()
    by_q = pow(wrapped % numbers.q, numbers.dmq1, numbers.q)
    by_p = pow(wrapped % numbers.p, numbers.dmp1, numbers.p)
    return by_q + (by_p - by_q) * numbers.iqmp % numbers.p * numbers.q


def _mask(seed: bytes, size: int) -> bytes:
    """MGF1."""
    blocks = -(-size // _HASH_SIZE)
    return b"".join(_HASH(seed + number.to_bytes(4)).digest() for number in range(blocks))[:size]


def _xor(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one) ^ int.from_bytes(other)).to_bytes(len(one))
