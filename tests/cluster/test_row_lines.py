"""Names of groups as names of files."""

import pytest

from kafkafs.cluster.row_lines import file_name, named_by, text_of


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


@pytest.mark.parametrize("name", [b"plain", b"a/b\0c%", b".", b"..", b"\xff\xc3\xa9", b"%41"])
def test_a_files_name_leads_back_to_the_name(name):
    path = file_name(name)
    assert path is not None
    assert named_by(path) == name


@pytest.mark.parametrize("path", ["a%2fb", "%41", "%", "a/b", "%2E%2", "x" * 256])
def test_what_no_name_is_called_leads_nowhere(path):
    """A group must not be found by two names."""
    assert named_by(path) is None
