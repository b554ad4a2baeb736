"""Paths of data directories, as words name them."""

from pathlib import Path

import pytest

from kafkafs.errors import UsageError
from kafkafs.tables.choice import named_paths


def test_an_empty_word_is_no_path():
    """It is that of a variable that was never set, and would be the current directory."""
    with pytest.raises(UsageError, match="is a variable empty"):
        named_paths([""])


def test_paths_are_absolute_and_each_is_there_once(tmp_path, monkeypatch):
    """A directory that is named twice would stand in its own way."""
    for name in ("disk-1", "disk-2", "a*b"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    both = (tmp_path / "disk-1", tmp_path / "disk-2")
    assert named_paths(["disk-*"]) == both
    assert named_paths(["disk-2", "disk-*", f"file://{tmp_path}/disk-1"]) == both[::-1]
    (tmp_path / "link").symlink_to("disk-1")
    twice = [str(tmp_path), f"{tmp_path}/", f"{tmp_path}/disk-1/..", "disk-1", "link", f"{tmp_path}/link/"]
    assert named_paths(twice) == (tmp_path, both[0])  # regression: `audit` called a link to the same disk a twin
    assert named_paths(["a*b"]) == (tmp_path / "a*b",)
    assert named_paths(["nowhere"]) == (tmp_path / "nowhere",)
    with pytest.raises(UsageError, match="no directory matches"):
        named_paths(["nowhere-*"])


@pytest.mark.parametrize("word", ["file:/", "file:///", "file://localhost/"])
def test_a_path_may_be_spelt_as_hadoop_does(word):
    """As a tier and what an export is written to may be. Regression: of `localhost` was made a directory."""
    assert named_paths([word]) == named_paths(["/"])
    assert named_paths([f"{word}var/kafka"]) == (Path("/var/kafka"),)
