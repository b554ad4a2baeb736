"""`kafkafs export --compact` as people type it; what it does is in tests/spark/test_compacting.py."""

import re

import pytest

from kafkafs.cli.main import main


def test_it_takes_nothing_else(tmp_path, capsys):
    words = ["export", str(tmp_path), "--compact", str(tmp_path / "out"), "--file-mb", "3"]
    assert main(words) == 2
    assert "--compact takes nothing else: leave out DATA_DIR, --file-mb" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["export", "--compact", str(tmp_path / "out"), "--to", str(tmp_path / "out")])
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_too_long_is_a_sentence(capsys):
    """Regression: "this is a bug, please report it"; a directory of root's was one, too, for an ordinary user."""
    assert main(["export", "--compact", f"/tmp/{'x' * 300}"]) == 2
    assert re.fullmatch(r"kafkafs: '/tmp/x+' cannot be read: .*File name too long\n", capsys.readouterr().err)
