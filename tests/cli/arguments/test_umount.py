"""What `kafkafs umount` may be given."""

from pathlib import Path

import pytest

from kafkafs.cli.parser import ALIASES, build
from tests.cli.arguments.parsing import refusal


@pytest.mark.parametrize("word", ["umount", *(word for word, meant in ALIASES.items() if meant == "umount")])
def test_it_takes_a_mount_point_under_both_of_its_names(word):
    arguments = build(["umount"]).parse_args([word, "/mnt"])
    assert (arguments.mountpoint, arguments.module) == (Path("/mnt"), "kafkafs.cli.umount")


def test_one_mount_is_ended_at_a_time(capsys):
    assert refusal(capsys, "umount", "/mnt", "/mnt2").endswith("too many arguments: /mnt2")
