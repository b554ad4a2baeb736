"""What a partition's views share: one state of the log at a time, and attributes from the files behind a view."""

from typing import cast

import pytest

from kafkafs.errors import Vanished, WouldBlock
from kafkafs.log import data_directory, data_file
from kafkafs.log.patience import impatient
from kafkafs.view import scene as scenes
from kafkafs.view.scene import KEEP_S, Scene
from kafkafs.view.tree import PartitionDirectory
from tests.log.making import made, write_partition
from tests.mounting import wait_until
from tests.view.trees import node, tree


@pytest.fixture
def scene(tmp_path) -> Scene:
    write_partition(tmp_path, {0: [made(0, [1])], 1: [made(1, [2])]})
    return cast(PartitionDirectory, node(tree(tmp_path), "t-0")).scene


def test_a_state_of_the_log_is_one_object(scene, tmp_path):
    """What was found in it can be remembered by it."""
    before = scene.sight()
    assert scene.sight() is before
    with open(tmp_path / "t-0" / f"{1:020}.log", "ab") as file:
        file.write(made(2, [3]).data)
    wait_until(lambda: scene.sight() is not before)
    assert scene.sight().log.end_offset == 3


def test_a_question_is_asked_again_where_files_vanish(scene):
    """Retention removes a segment between a look and a read; the reader gets the state after, not an error."""
    asked = []

    def question(sight):
        asked.append(sight)
        if len(asked) < 3:
            raise Vanished("gone")
        return "answer"

    assert scene.ask(question) == "answer"

    def hopeless(_):
        raise Vanished("gone")

    with pytest.raises(Vanished):
        scene.ask(hopeless)


def test_a_view_over_several_files_grants_what_all_of_them_do(scene, tmp_path):
    first, second = (tmp_path / "t-0" / f"{base:020}.log" for base in (0, 1))
    first.chmod(0o640)
    second.chmod(0o604)
    files = [segment.log() for segment in scene.sight().log.segments]
    assert scene.file(files[:1], 5, 7, 0.5).mode == 0o440
    both = scene.file(files, 513, 7, 0.5)
    assert (both.mode, both.size, both.blocks, both.mtime_ns, both.timeout_s) == (0o400, 513, 2, 7_000_000, 0.5)
    assert scene.file(files, 0, -1, 0.0).mtime_ns == second.stat().st_mtime_ns
    assert scene.file(files, 0, 2**63 - 1, 0.0).mtime_ns == second.stat().st_mtime_ns


def test_a_directory_whose_attributes_were_not_changed_is_told_of_at_once(scene, tmp_path, monkeypatch):
    """The kernel asks for it several times a second; its mode and its access list are read where they were changed."""
    monkeypatch.setattr(scenes, "KEEP_S", 0.0)
    monkeypatch.setattr(data_directory, "FRESH_S", 0.0)
    wait_until(lambda: scene.directory() and scene._directory.as_of)
    known = scene.directory()
    with impatient():
        assert scene.directory() == known
    (tmp_path / "t-0").chmod(0o500)
    with impatient(), pytest.raises(WouldBlock):
        scene.directory()
    assert scene.directory().mode == 0o500
    monkeypatch.setattr(data_file, "SETTLED_AFTER_NS", 1 << 62)
    assert scene.directory().mode == 0o500
    with impatient(), pytest.raises(WouldBlock):  # it may be changed again within the same tick of the clock
        scene.directory()


def test_an_empty_view_is_the_directorys(scene, tmp_path):
    (tmp_path / "t-0").chmod(0o750)
    wait_until(lambda: scene.directory().mode == 0o550, 2 * KEEP_S)
    assert scene.file([], 0, -1, 0.0).mode == 0o440
    assert (scene.link().kind, scene.link().mode) == ("symlink", 0o777)
