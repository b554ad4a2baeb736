"""Advice to install an extra names what is there; tests/packaging/test_install.py follows it for a real wheel."""

import json
import shlex
import sys
from importlib.metadata import Distribution
from pathlib import Path

import pytest

from kafkafs.installation import install_command


def left_by_pip(directory: Path, url_file: object) -> Distribution:
    """A distribution with that `direct_url.json`, or with none."""
    directory.mkdir()
    if url_file is not None:
        (directory / "direct_url.json").write_text(url_file if isinstance(url_file, str) else json.dumps(url_file))
    return Distribution.at(directory)


@pytest.mark.parametrize(
    ("url_file", "words"),
    [
        ({"url": "file://{there}", "dir_info": {"editable": True}}, ["-e", "{there}[spark]"]),
        ({"url": "file://{there}", "dir_info": {}}, ["{there}[spark]"]),
        ({"url": "file://{there}/a%20b.whl", "archive_info": {}}, ["{there}/a b.whl[spark]"]),
        ({"url": "file://{there}/gone.whl", "archive_info": {}}, ["kafkafs[spark]"]),
        ({"url": "https://host/a.whl", "archive_info": {}}, ["kafkafs[spark]"]),
        (None, ["kafkafs[spark]"]),
        ("[]", ["kafkafs[spark]"]),
        ("{", ["kafkafs[spark]"]),
        ({"url": 5}, ["kafkafs[spark]"]),
    ],
)
def test_the_source_is_named_where_it_is_still_there(tmp_path, url_file, words):
    """A checkout, a wheel, or what pip knows; whatever the file says, there is advice."""
    there = tmp_path / "there"
    there.mkdir()
    (there / "a b.whl").touch()
    if isinstance(url_file, dict) and isinstance(url_file["url"], str):
        url_file = url_file | {"url": url_file["url"].format(there=there)}
    command = install_command("spark", left_by_pip(tmp_path / "kafkafs.dist-info", url_file))
    _, _, rest = command.partition(" install ")
    assert shlex.split(rest) == [word.format(there=there) for word in words]


def test_the_pip_is_that_of_this_environment(monkeypatch, tmp_path):
    """What another Python's pip installs, this one does not see."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert install_command("spark").startswith((f"{sys.prefix}/bin/pip install ", f"{sys.executable} -m pip install "))
    monkeypatch.setenv("PATH", f"{sys.prefix}/bin")
    assert install_command("spark").startswith(("pip install ", f"{sys.executable} -m pip install "))
