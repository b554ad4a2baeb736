"""A bucket by pyarrow: its limits of time. `test_bucket` and `test_objects` have its answers."""

from kafkafs.disk import arrow_store
from kafkafs.disk.store_session import StoreLimits


def test_a_store_of_google_gives_up_in_time():
    """Regression: a bucket that no name server knows took five minutes. Google's client tries for fifteen."""

    def limited(uri: str) -> str:
        return arrow_store.limited(uri, StoreLimits())

    assert limited("gs://b/p") == "gs://b/p?retry_limit_seconds=15"
    assert limited("gs://b/p?endpoint_override=h:1") == "gs://b/p?endpoint_override=h:1&retry_limit_seconds=15"
    for kept in ("gs://b/p?retry_limit_seconds=3", "abfs://c@a/x", "hdfs://h/x"):
        assert limited(kept) == kept
