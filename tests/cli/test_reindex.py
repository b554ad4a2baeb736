"""`kafkafs reindex` before Spark starts. What it makes is in tests/spark/test_reindex_job.py."""

import pytest

from kafkafs.cli.main import main
from kafkafs.sample import unpack
from tests.mounting import run


@pytest.mark.parametrize(
    ("target", "words", "sentence"),
    [
        ("kafka-logs/indexes", [], "is inside '{data}', where nothing is written"),
        ("indexes", ["--interval-bytes", "-1"], "--interval-bytes must not be negative"),
        ("file/indexes", [], "cannot be made: Not a directory"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_the_job(target, words, sentence, tmp_path, capsys):
    """And nothing is made."""
    data = unpack(tmp_path)
    (tmp_path / "file").touch()
    before = sorted(tmp_path.rglob("*"))
    assert main(["reindex", str(data), "--index-dir", str(tmp_path / target), *words]) == 2
    reported = capsys.readouterr().err
    assert reported.endswith(f"{sentence.format(data=data)}\n")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_bind_mount_of_the_data_is_the_data(tmp_path, capsys):
    """Indexes would be written into the broker's own directory, under another name for it."""
    data, bound = unpack(tmp_path), tmp_path / "bound"
    before = sorted(data.rglob("*"))
    bound.mkdir()
    run("mount", "--bind", data, bound)
    try:
        assert main(["reindex", str(data), "--index-dir", str(bound / "indexes"), "--engine", "local"]) == 2
    finally:
        run("umount", bound)
    assert f"is inside {str(data)!r}, where nothing is written" in capsys.readouterr().err
    assert sorted(data.rglob("*")) == before
