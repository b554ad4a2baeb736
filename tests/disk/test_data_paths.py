"""The paths of data directories, and the addresses of copies in buckets."""

import pytest

from kafkafs.disk.data_paths import BucketPath, bucket_of, data_path
from kafkafs.errors import UsageError


@pytest.mark.parametrize("word", ["s3://b/x", "s3:/b/x", "s3a://b/x", "gs://b/x?region=q", "abfss://c@account/x"])
def test_an_address_stays_one_whatever_is_made_of_it(word):
    """Regression: a path has one slash where an address has two, and became one of this machine."""
    path = data_path(word)
    assert isinstance(path, BucketPath)
    assert "://" in str(path)
    assert bucket_of(path) == str(path) == str(path.absolute()) == str(path.resolve()) == str(data_path(str(path)))


def test_an_address_with_keys_is_refused_and_not_repeated():
    """Paths are shown, and written into reports and plans."""
    with pytest.raises(UsageError, match="'s3://b/x' must not hold keys") as refused:
        data_path("s3://an-id:a-secret@b/x")
    assert "secret" not in str(refused.value).replace("AWS_SECRET_ACCESS_KEY", "")
