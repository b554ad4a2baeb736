"""Reads in one request: the bytes and their version, signed as the AWS SDK signs; for all else pyarrow is asked."""

import os
import re
from pathlib import Path

import pytest
from botocore.auth import S3SigV4Auth  # type: ignore[import-untyped]
from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]
from botocore.credentials import Credentials  # type: ignore[import-untyped]

from kafkafs.disk.signed_reads import SignedReads
from tests.kafka.buckets import KEYS, bucket_of


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def _read(uri: str, *span: int, key: str = "a b/0.log") -> object:
    reads = SignedReads.of(uri, 2.0)
    return None if reads is None else reads.read(key, *span)


def test_a_read_tells_bytes_and_version_in_one_request(tmp_path):
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "0.log").write_bytes(bytes(range(200)))
    os.utime(tmp_path / "a b" / "0.log", (86400, 86400))
    with bucket_of(tmp_path) as store:
        reads = SignedReads.of(store.address(), 2.0)
        assert reads is not None
        for first in (0, 150):
            found = reads.read("a b/0.log", first, 50)
            assert found is not None
            assert (found.data, found.size) == (bytes(range(first, first + 50)), 200)
            assert (found.written, found.tag != b"") == ("1970-01-02T00:00:00Z", True)
        assert [each.split()[0] for each in store.asked] == ["GET", "GET"]


@pytest.mark.parametrize("token", ["", "a-token"])
def test_it_is_signed_as_by_the_sdk(token, monkeypatch):
    """Differential: botocore signs the same request at the same moment."""
    monkeypatch.setenv("AWS_SESSION_TOKEN", token)
    reads = SignedReads.of("s3://disks/p q?region=eu-west-1&endpoint_override=host:9000&scheme=http", 2.0)
    assert reads is not None
    path = "/disks/p%20q/orders-0/0.log"
    ours = reads._headers(path)
    request = AWSRequest("GET", f"http://host:9000{path}", headers={"x-amz-content-sha256": "UNSIGNED-PAYLOAD"})
    request.context |= {"timestamp": ours["x-amz-date"], "payload_signing_enabled": False}
    signer = S3SigV4Auth(Credentials("key", "secret", token or None), "s3", "eu-west-1")
    monkeypatch.setattr(S3SigV4Auth, "payload", lambda *_: "UNSIGNED-PAYLOAD")
    request.headers["X-Amz-Date"] = ours["x-amz-date"]
    if token:
        request.headers["X-Amz-Security-Token"] = token
    canonical = signer.canonical_request(request)
    signature = signer.signature(signer.string_to_sign(request, canonical), request)
    assert ours["Authorization"].endswith(f"Signature={signature}")
    signed = re.search("SignedHeaders=([^,]*)", ours["Authorization"])
    assert signed is not None
    assert signed[1] == signer.signed_headers(signer.headers_to_sign(request))


@pytest.mark.parametrize(
    "uri", ["gs://b/p", "s3://key:secret@b/p?region=x", "s3://b/p", "s3://b/p?region=x&endpoint_override=http://h:1"]
)
def test_pyarrow_is_asked_where_keys_or_place_are_not_known(uri):
    assert SignedReads.of(uri, 1.0) is None


def test_pyarrow_is_asked_without_keys_in_the_environment(monkeypatch):
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    assert SignedReads.of("s3://b/p?region=x", 1.0) is None


@pytest.mark.parametrize("fault", ["500", "short"])
def test_pyarrow_is_asked_after_an_error(tmp_path, fault):
    (tmp_path / "0.log").write_bytes(b"0123456789")
    with bucket_of(tmp_path) as store:
        reads = SignedReads.of(store.address(), 2.0)
        assert reads is not None
        assert reads.read("0.log", 0, 10) is not None
        assert reads.read("none", 0, 10) is None
        store.fault = lambda _method, _key: fault
        assert reads.read("0.log", 0, 10) is None
        store.fault = lambda _method, _key: ""
        assert reads.read("0.log", 8, 10) is None, "behind its end"
        assert reads.read("0.log", 8, 2) is not None, "what failed once is asked again"


def test_a_place_that_fails_at_first_is_not_asked_again(tmp_path):
    with bucket_of(tmp_path) as store:
        reads = SignedReads.of(store.address(), 2.0)
        assert reads is not None
        for _ in range(3):
            assert reads.read("none", 0, 10) is None
        assert len(store.asked) == 1


def test_silence_is_an_error(tmp_path: Path):
    (tmp_path / "0.log").write_bytes(b"0123456789")
    with bucket_of(tmp_path) as store:
        store.fault = lambda _method, _key: "slow"
        reads = SignedReads.of(store.address(), 0.1)
        assert reads is not None
        with pytest.raises(OSError, match="the store sent nothing for 0 seconds"):
            reads.read("0.log", 0, 10)
