"""A bucket's limits of time, and its words: `test_objects` has what it answers."""

import socket
import time
from math import inf

import pytest

from kafkafs.disk import bucket
from kafkafs.disk.blocking import patience, patience_left
from kafkafs.disk.bucket import BucketObjects
from kafkafs.errors import DiskError, NotFound
from tests.kafka import tiers


def test_a_store_that_never_answers_is_given_up_and_then_sooner(monkeypatch):
    monkeypatch.setattr(bucket, "LIMIT_S", 1.0)
    monkeypatch.setattr(bucket, "SUSPECT_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
        far = BucketObjects(f"s3://key:secret@b?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1")
        took = []
        for _ in range(2):
            began = time.monotonic()
            with pytest.raises(DiskError, match="the store did not answer in time"):
                far.folders()
            took.append(time.monotonic() - began)
    assert took[0] >= 1.0 > took[1]


def test_who_has_less_patience_is_told_sooner_and_nobody_else():
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
        far = BucketObjects(f"s3://key:secret@b?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1")
        with patience(0.05):
            with pytest.raises(DiskError, match="the store did not answer in time"):
                far.folders()
            with pytest.raises(DiskError, match="the tier s3://b did not answer in time"):
                far.folders()
        assert patience_left() == inf
        assert not far._is_suspect


def test_an_object_is_asked_for_its_size_once(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one/a.log").write_bytes(b"0123456789")
    with tiers.s3_server() as server:
        objects = BucketObjects(tiers.uploaded(tmp_path, "asked", server))
        with tiers.requests() as asked:
            assert [objects.read("one/a.log", at, 2) for at in (0, 4)] == [b"01", b"45"]
        assert [request.split()[0] for request in asked] == ["HEAD", "GET", "GET"]
        with pytest.raises(NotFound):
            objects.read("one/none.log", 0, 1)


def test_what_a_store_repeats_of_secrets_is_not_told(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-environment")
    far = BucketObjects("s3://an-id:a%2Fsecret@b/x")
    told = far._without_secrets("no s3://an-id:a%2Fsecret@b/x, a/secret, a%2Fsecret, of-the-environment")
    assert told == "no s3://b/x, ..., ..., ..."
