"""The paths of data directories, and the addresses of copies in buckets."""

import pickle
from pathlib import Path

import pytest

from kafkafs.disk.bucket import BucketObjects
from kafkafs.disk.data_paths import BucketPath, bucket_of, data_path, is_in_copy, local_place, named_now
from kafkafs.errors import UsageError
from kafkafs.log.tier.folder import split


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


@pytest.mark.parametrize(("word", "reported"), [
    ("s3://b/x//y", "has '//' or '/./'"), ("s3://b/./y", "has '//' or '/./'"), ("s3://b/y/.", "has '//' or '/./'"),
    ("s3://b/x//", "has '//' or '/./'"), ("s3://b/q?x", r"has \?x, which is no option"),
    ("s3://b/q?x=1&region=y", r"has \?x,"),
    ("s3://b/a\tb", "a character that cannot be printed"), ("gs://b/a\nb", "a character that cannot be printed"),
])  # fmt: skip
def test_an_address_that_would_lead_elsewhere_is_refused(word, reported):
    """Regression: they were read as s3://b/x/y, s3://b/y, s3://b/q and s3://b/ab, other folders of the bucket."""
    with pytest.raises(UsageError, match=f"the address .* {reported}"):
        data_path(word)


@pytest.mark.parametrize("word", [
    "s3://[x]/y", "s3://a]b/c", "s3://a\u2100b/x", "gs://[/x", "s3://?region=r", "s3:///?region=r",
])  # fmt: skip
def test_an_address_without_a_bucket_is_refused(word):
    """Regression: brackets in place of a bucket were a bug of kafkafs, and no bucket at all was asked for."""
    for asked in (data_path, BucketObjects, split):
        with pytest.raises(UsageError, match=r"names no bucket; write (s3|gs)://BUCKET|is no address of a bucket"):
            asked(word)


@pytest.mark.parametrize("word", [
    "s3://b", "s3://b/", "s3:/b/x/", "s3://b/..", "s3://b/a b/ü+%20#'*[x]", "gs://b/p?retry_limit_seconds=3",
    "s3://b/x?endpoint_override=http://h:1&scheme=http&region=",
])  # fmt: skip
def test_an_address_of_any_other_characters_is_one(word):
    assert isinstance(data_path(word), BucketPath)


def test_an_address_named_for_a_query_is_equal_and_says_when():
    plain, named, beside = data_path("s3://b/p"), named_now(data_path("s3://b/p")), named_now(data_path("s3://b/q"))
    assert isinstance(named, BucketPath)
    assert isinstance(beside, BucketPath)
    assert (plain, hash(plain)) == (named, hash(named))
    again = pickle.loads(pickle.dumps(named))
    assert (str(again), again.named_ns) == ("s3://b/p", named.named_ns)
    assert named.named_ns
    assert beside.named_ns == named.named_ns, "of one command"
    assert named_now(Path("/a")) == Path("/a")


def test_what_is_in_a_copy():
    path = data_path("s3://b/p?region=x")
    assert [is_in_copy(f"s3://{each}", path) for each in ("b/p", "k:s@b/p/q?y", "b/pq", "b", "c/p")] == [
        True, True, False, False, False
    ]  # fmt: skip
    assert not is_in_copy("file:///b/p", Path("/b"))
    assert [is_in_copy(f"s3://b/{each}", data_path("s3://b/p#1")) for each in ("p#1/q", "p#2", "p")] == [
        True, False, False
    ]  # fmt: skip


@pytest.mark.parametrize("word", ["s3://b/p", "s3:/b/p", "gs://b/p"])
def test_what_is_written_is_on_this_machine(word):
    with pytest.raises(UsageError, match=r"the output cannot be in a bucket: name a path of this machine"):
        local_place(Path(word), "the output")
    assert local_place(Path("/a/b"), "the output") == Path("/a/b")
