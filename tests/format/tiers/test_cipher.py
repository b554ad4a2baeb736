"""Aiven's encryption, by bytes of another writer: the right key reads, and each wrong one has a sentence of its own."""

import os

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from kafkafs.errors import CorruptData, DiskError, UsageError
from kafkafs.format.tiers import cipher
from kafkafs.format.tiers.cipher import Keys
from kafkafs.format.tiers.manifest import Encryption
from tests.kafka import aiven


@pytest.fixture(scope="module")
def pair() -> aiven.KeyPair:
    return aiven.key_pair("k1")


def sealed(pair: aiven.KeyPair, data: bytes) -> tuple[Encryption, bytes]:
    secret, iv = os.urandom(32), os.urandom(12)
    return Encryption(pair.key_id, aiven.wrapped(pair, secret), b"aad"), iv + AESGCM(secret).encrypt(iv, data, b"aad")


def test_the_right_key_reads(pair):
    encryption, piece = sealed(pair, b"a chunk")
    assert Keys({"k0": aiven.key_pair("k0").pem, "k1": pair.pem}).cipher(encryption).decrypt(piece) == b"a chunk"


def test_an_unknown_id_and_a_key_that_does_not_fit_are_distinguished(pair):
    encryption, _ = sealed(pair, b"a chunk")
    with pytest.raises(DiskError, match="the key 'k1': name its private key by tiered_key, or --tiered-key, k1:FILE"):
        Keys({"k2": pair.pem}).cipher(encryption)
    with pytest.raises(DiskError, match="given as 'k1' does not fit"):
        Keys({"k1": aiven.key_pair("k1").pem}).cipher(encryption)
    with pytest.raises(DiskError, match="does not fit"):
        Keys({"k1": pair.pem}).cipher(encryption._replace(wrapped=b"\xff" * 256))


def test_a_segments_key_is_unwrapped_once(pair, calls):
    """Its log and each of its indexes have the same, and each look opens them: RSA takes Python milliseconds."""
    unwrapped = calls(cipher, "rsa_decrypted")
    keys, segments = Keys({"k1": pair.pem}), [sealed(pair, b"one"), sealed(pair, b"another")]
    for _ in range(3):
        assert [keys.cipher(encryption).decrypt(piece) for encryption, piece in segments] == [b"one", b"another"]
    assert len(unwrapped) == 2


def test_altered_pieces_are_refused(pair):
    encryption, piece = sealed(pair, b"a chunk")
    opened = Keys({"k1": pair.pem}).cipher(encryption)
    for at in (0, 12, len(piece) - 1):
        altered = bytearray(piece)
        altered[at] ^= 1
        with pytest.raises(CorruptData, match="altered"):
            opened.decrypt(bytes(altered))
    with pytest.raises(CorruptData, match="has 27 bytes"):
        opened.decrypt(piece[:27])


def test_what_is_no_private_key_of_rsa_is_refused(pair):
    elliptic = ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with pytest.raises(UsageError, match="is not an RSA key"):
        Keys({"k": elliptic})
    with pytest.raises(UsageError, match="is not a private key in PEM"):
        Keys({"k": b"-----BEGIN NOTHING-----"})
