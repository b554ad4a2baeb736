"""Names of groups as names of files."""

import pytest

from kafkafs.cluster.names import file_name, text_of


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (b"plain", "plain"),
        (b"a/b\0c%", "a%2Fb%00c%25"),
        (b".", "%2E"),
        (b"..", "%2E%2E"),
        (b"\xff\xc3\xa9", "%FF\u00e9"),
        (b"x" * 255, "x" * 255),
        (b"x" * 256, None),
        (b"/" * 86, None),
        (b"", None),
    ],
)
def test_what_is_no_file_name_is_encoded(name, expected):
    assert file_name(name) == expected


def test_bytes_that_are_no_text_become_javas_sign():
    assert text_of(b"a\xff") == "a\ufffd"
