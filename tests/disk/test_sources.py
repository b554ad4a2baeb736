"""What a user names as a tier is a path or a bucket, and one name means one place."""

import os

import pytest

from kafkafs.disk.sources import is_bucket, place_of


@pytest.mark.parametrize(
    ("source", "place"),
    [("file:///mnt/tier", "/mnt/tier"), ("file:/mnt/tier", "/mnt/tier"), ("s3a://b/p", "s3://b/p"),
     ("s3n://b", "s3://b"), ("gs://b/p", "gs://b/p"), ("tier", f"{os.getcwd()}/tier")],
)  # fmt: skip
def test_a_place_is_an_address_or_an_absolute_path(source, place):
    assert place_of(source) == place
    assert is_bucket(place) == ("://" in place)
