"""A page of a listing: what S3 and stores that are like it send, and what is no page."""

import pytest

from kafkafs.disk.objects import Object
from kafkafs.disk.s3_listing import Page, parse_page

_S3 = ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
_CONTENT = (
    "<Contents><Key>{}</Key><LastModified>2026-11-29T01:40:00.250Z</LastModified><ETag>&quot;x&quot;</ETag>"
    "<Size>{}</Size></Contents>"
)  # fmt: skip
_FOLDER = "<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>"
_NS = 1_795_916_400_250_000_000


def page(*parts: str, space: str = _S3) -> bytes:
    return (
        f'<?xml version="1.0"?><ListBucketResult{space}><Prefix>p/</Prefix>{"".join(parts)}</ListBucketResult>'.encode()
    )


@pytest.mark.parametrize("space", ["", _S3])
def test_names_sizes_and_times_are_those_of_the_folder(space):
    found = parse_page(
        page(_CONTENT.format("p/", 0), _CONTENT.format("p/a&amp;b", 7), _FOLDER.format("p/t-0/"), space=space), "p/"
    )
    assert found == Page(["t-0"], [Object("a&b", 7, _NS)], True, None)


def test_a_page_that_is_not_the_last_one_tells_where_to_go_on():
    more = "<IsTruncated>true</IsTruncated><NextContinuationToken>a+/=</NextContinuationToken>"
    found = parse_page(page(more, _FOLDER.format("p/a/")), "p/")
    assert found is not None
    assert found.token == "a+/="


def test_a_page_may_tell_of_another_one_and_not_how_to_go_on():
    found = parse_page(page("<IsTruncated>true</IsTruncated>"), "p/")
    assert found == Page([], [], False, "")


def test_an_empty_folder_is_there_by_its_own_object():
    own, nothing = parse_page(page(_CONTENT.format("p/", 0)), "p/"), parse_page(page(), "p/")
    assert (own, nothing) == (Page([], [], True, None), Page([], [], False, None))


NO_PAGES = (
    b"", b"<html>log in</html>", b"<Error><Code>SlowDown</Code></Error>", page()[:-30],
    page("<NextContinuationToken>a</NextContinuationToken>"),
    page(_CONTENT.format("other/a", 1)), page(_CONTENT.format("p/a", "many")), page("<Contents/>"),
    page(_CONTENT.format("p/a", 1).replace("2026-11-29T", "yesterday ")),
)  # fmt: skip


@pytest.mark.parametrize("data", NO_PAGES)
def test_what_is_no_whole_page_of_the_folder_is_none(data):
    assert parse_page(data, "p/") is None
