"""The way to a bucket: its address counts, then what AWS's own tools heed in the environment."""

import re
from pathlib import Path

import pytest
from pyarrow import fs

from kafkafs.disk.bucket import BucketObjects
from kafkafs.disk.s3_place import place_of
from kafkafs.errors import UsageError
from tests.kafka.buckets import BUCKET, bucket_of

pytestmark = pytest.mark.usefixtures("bucket_keys")


@pytest.mark.parametrize(
    ("uri", "environment", "expected"),
    [
        ("s3://b/p/", {}, {"scheme": "https"}),
        ("s3://b?region=r&scheme=http&endpoint_override=h:1", {"AWS_ENDPOINT_URL": "https://other"},
         {"scheme": "http", "endpoint_override": "h:1", "region": "r"}),
        ("s3://b", {"AWS_ENDPOINT_URL": "http://h:1/"}, {"scheme": "http", "endpoint_override": "h:1"}),
        ("s3://b", {"AWS_ENDPOINT_URL": "http://h:1", "AWS_ENDPOINT_URL_S3": "https://s"},
         {"scheme": "https", "endpoint_override": "s"}),
        ("gs://b", {"AWS_ENDPOINT_URL": "http://h:1", "HTTPS_PROXY": "http://p:1"}, {"scheme": "https"}),
        ("s3://b", {"HTTPS_PROXY": "http://u:w@p:1"}, {"scheme": "https", "proxy_options": "http://u:w@p:1"}),
        ("s3://b", {"https_proxy": "p:1"}, {"scheme": "https", "proxy_options": "http://p:1"}),
        ("s3://b", {"https_proxy": "p:1", "no_proxy": ".amazonaws.com"}, {"scheme": "https"}),
        ("s3://b?endpoint_override=h:1", {"https_proxy": "p:1", "no_proxy": "h"},
         {"scheme": "https", "endpoint_override": "h:1"}),
        ("s3://b", {"http_proxy": "p:1"}, {"scheme": "https"}),
        ("s3://b", {"AWS_CA_BUNDLE": "/c"}, {"scheme": "https", "tls_ca_file_path": "/c"}),
        ("s3://k:s%2F@b", {}, {"scheme": "https", "access_key": "k", "secret_key": "s/"}),
    ],
)  # fmt: skip
def test_the_arguments_of_pyarrow(uri, environment, expected, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    place = place_of(uri)
    assert place.arguments() == expected
    fs.S3FileSystem(**({"region": "x", "access_key": "k", "secret_key": "s"} | place.arguments()))


def test_a_folder_s_name_is_taken_as_it_is():
    assert [place_of(f"s3://b/{name}").folder for name in ("a#b", "a%20b", "a b", "é+=")] == [
        "a#b", "a%20b", "a b", "é+="
    ]  # fmt: skip


@pytest.mark.parametrize("way", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "http_proxy"])
def test_a_bucket_is_read_by_what_the_environment_says(way, tmp_path: Path, monkeypatch):
    """Regression: pyarrow heeds none of them, and asked Amazon."""
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "a").write_bytes(b"0123")
    with bucket_of(tmp_path) as store:
        monkeypatch.setenv(way, f"http://127.0.0.1:{store.port}")
        there = "&endpoint_override=nowhere.invalid&scheme=http" if way == "http_proxy" else ""
        far = BucketObjects(f"s3://{BUCKET}?region=us-east-1{there}", "")
        folders, _ = far.entries("")
        assert folders == ["x"]
        assert far.read_versioned("x/a", 1, 2)[0] == b"12"


@pytest.mark.parametrize(
    ("endpoint", "scheme", "host"),
    [("http://h:1", "http", "h:1"), ("http:/h:1/s3/", "http", "h:1/s3"), ("h:1", "https", "h:1"), ("h", "https", "h")],
)
def test_an_endpoint_may_have_a_scheme_and_a_path(endpoint, scheme, host):
    """Regression: an address that was a path has one slash, and the scheme became a host."""
    place = place_of(f"s3://b/p?endpoint_override={endpoint}")
    assert (place.scheme, place.endpoint) == (scheme, host)


@pytest.mark.parametrize("endpoint", ["https://", "http:///", "/", "http://:9000", "https://h:port", "[x", "[h]:1"])
def test_an_endpoint_without_a_host_is_refused(endpoint, monkeypatch):
    """Regression: `https://$HOST` without a HOST sent the requests to Amazon."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    with pytest.raises(UsageError, match=re.escape(f"the endpoint {endpoint!r} names no host")):
        place_of("s3://b/p")
