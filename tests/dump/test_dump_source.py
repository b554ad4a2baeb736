"""Names of files, as Java prints and reads them."""

from pathlib import Path

import pytest

from kafkafs.dump.dump_source import java_path
from kafkafs.errors import NotFound
from tests.dump.dumped import source_of


@pytest.mark.parametrize(
    ("given", "printed"),
    [("a/b.log", "a/b.log"), ("a//b.log", "a/b.log"), ("/a/b/", "/a/b"), ("./a", "./a"), ("//", "/"), ("", "")],
)
def test_a_path_is_printed_as_java_does(given: str, printed: str) -> None:
    """The first line of each dump."""
    assert java_path(given) == printed


@pytest.mark.parametrize(
    ("name", "offset"),
    [
        ("00000000000000023147.log", 23147),
        ("x/0100.index", 100),
        ("100.foo.log", 100),
        ("+7.log", 7),
        ("-7.log", -7),
        ("9223372036854775807.log", 2**63 - 1),
        ("9223372036854775808.log", None),
        ("server.log", None),
        (".log", None),
        ("+-7.log", None),
        ("٣.log", None),
        ("0x10.log", None),
        (f"{'9' * 5000}.log", None),
    ],
)
def test_the_offset_in_a_name_is_what_java_reads(name: str, offset: int | None, tmp_path: Path) -> None:
    """Where it reads none, Kafka's tool ends with an exception."""
    assert source_of(tmp_path, name).base_offset == offset


def test_a_missing_neighbour_is_none_and_a_missing_file_an_error(tmp_path: Path) -> None:
    """An index without its log is still an index."""
    source = source_of(tmp_path, "0.index")
    assert source.beside("0.log") is None
    with pytest.raises(NotFound):
        _ = source.data
