"""Decoded views name schemas and fields: nobody reads those who may not read the registry's topic on disk."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from kafkafs.errors import Denied, DiskError, KafkafsError, Vanished
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.partition import Partition
from kafkafs.view.node import Attributes
from kafkafs.view.topic_access import TopicAccess
from tests.kafka import registered
from tests.log.making import made, write_partition
from tests.mounting import wait_until
from tests.view.trees import node, tree

DECODED = ["by-offset/0.decoded.jsonl", "by-offset/0...decoded.jsonl", "by-offset/0...decoded.follow.jsonl",
           "by-time/0.decoded.jsonl", "by-time/0..now.decoded.jsonl"]  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A registry, a topic that uses it, and the cluster's metadata."""
    made = registered.data()
    shutil.copy(made / "meta.properties", tmp_path)
    for name in ("_schemas-0", "orders-0", "__cluster_metadata-0"):
        shutil.copytree(made / name, tmp_path / name)
    for path in tmp_path.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return tmp_path


def modes(data: Path, names: list[str], topic: str = "orders") -> set[int]:
    root = tree(data)
    return {node(root, f"{topic}-0/{name}").attributes().mode for name in names}


def test_a_registry_that_all_may_read_changes_nothing(data: Path) -> None:
    assert modes(data, DECODED) == modes(data, ["by-offset/0.jsonl"]) == {0o444}


@pytest.mark.parametrize(("directory", "file", "mode"), [(0o755, 0o640, 0o440), (0o700, 0o644, 0o400)])
def test_a_registry_that_few_may_read_is_hidden_from_the_others(
    data: Path, directory: int, file: int, mode: int
) -> None:
    """Regression: whoever could read a topic read the names of all fields, and the schemas' subjects."""
    (data / "_schemas-0").chmod(directory)
    for log in (data / "_schemas-0").glob("*.log"):
        log.chmod(file)
    assert modes(data, DECODED) == {mode}
    assert modes(data, ["by-offset/0.jsonl", "by-offset/0...jsonl", "by-offset/0.value"]) == {0o444}
    assert modes(data, DECODED[1:2], "__cluster_metadata") == {0o444}, "which has no schema of the registry"


def test_it_counts_beside_a_running_mount(data: Path) -> None:
    root = tree(data)
    assert node(root, f"orders-0/{DECODED[0]}").attributes().mode == 0o444
    for log in (data / "_schemas-0").glob("*.log"):
        log.chmod(0o600)
    wait_until(lambda: node(root, f"orders-0/{DECODED[0]}").attributes().mode == 0o400)


def test_without_a_registry_its_own_files_count(data: Path) -> None:
    shutil.rmtree(data / "_schemas-0")
    assert modes(data, DECODED) == {0o444}


@pytest.mark.parametrize("problem", [DiskError, Denied, Vanished])
def test_what_was_hidden_stays_so_while_the_topic_cannot_be_looked_at(
    tmp_path: Path, problem: type[KafkafsError]
) -> None:
    """What the topic told is still remembered then."""
    for log in write_partition(tmp_path, {0: [made(0, [1])]}).glob("*.log"):
        log.chmod(0o400)
    own, partition = Attributes("file", 0o444, 0, 0, 0, 0, 0.0), open_data_directory(tmp_path).partition("t-0")

    def refuse() -> NoReturn:
        raise problem("the disk does not answer")

    finds: list[Callable[[], Partition | None]] = [lambda: partition, refuse, lambda: None]
    now = [0]
    topic = TopicAccess(lambda: finds[now[0]](), lambda: now[0])
    for mode in (0o400, 0o400, 0o444):
        assert topic.restricted(own).mode == mode
        now[0] += 1
