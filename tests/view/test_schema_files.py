"""`.cluster/schemas.jsonl` and `.cluster/schemas/`: the registry itself, recovered."""

import json
from pathlib import Path

import pytest

from kafkafs.errors import NotFound
from tests.cluster.writing import Data
from tests.kafka import registered
from tests.view.trees import cat, node, tree


@pytest.fixture(scope="module")
def data() -> Path:
    return registered.data()


def test_each_version_has_a_line(data: Path) -> None:
    """With the registry gone, this is what a new one is filled from."""
    lines = [json.loads(line) for line in cat(tree(data), ".cluster/schemas.jsonl").splitlines()]
    assert [list(line) for line in lines] == [
        ["subject", "version", "id", "type", "deleted", "references", "schema"]
    ] * len(lines)
    reported = {(line["subject"], line["version"]): line for line in lines}
    written = [(json.loads(key), json.loads(value or b"null")) for key, value in registered.REGISTRY[1:-1]]
    for key, value in written:
        if key["keytype"] == "SCHEMA" and value is not None:
            line = reported.pop((key["subject"], key["version"]))
            assert (line["id"], line["schema"]) == (value["id"], value["schema"])
            assert line["type"] == value.get("schemaType", "AVRO")
            assert line["references"] == value.get("references", [])
            assert line["deleted"] == (key["subject"] in ("gone-value", "removed-value"))
    assert not reported
    assert lines == sorted(lines, key=lambda line: (line["subject"], line["version"]))


def test_each_id_is_a_file(data: Path) -> None:
    root = tree(data)
    directory = node(root, ".cluster/schemas")
    names = {entry.name for entry in directory.entries()}  # type: ignore[union-attr]
    assert names == {*(f"{n}.avsc" for n in (1, 2, 3, 4, 5, 6, 7, 11, 12, 20, 21)), "8.json", "9.proto", "10.proto"}
    assert cat(root, ".cluster/schemas/9.proto").decode() == registered.MONEY_PROTO
    assert json.loads(cat(root, ".cluster/schemas/1.avsc")) == registered.EVERY_TYPE
    for name in ("9.avsc", "99.avsc", "1"):
        with pytest.raises(NotFound):
            node(root, f".cluster/schemas/{name}")


def test_without_the_topic_there_are_none(data: Path, tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_bytes((data / "meta.properties").read_bytes())
    root = tree(tmp_path)
    assert not {"schemas", "schemas.jsonl"} & {entry.name for entry in node(root, ".cluster").entries()}  # type: ignore[union-attr]
    with pytest.raises(NotFound):
        node(root, ".cluster/schemas.jsonl")


def test_what_is_wrong_with_the_topic_is_told_by_the_state(tmp_path: Path) -> None:
    """Regression: damage took schemas out of both, and nothing said so."""
    data = Data(tmp_path)
    for number in (1, 2, 3):
        about = {"subject": f"s-{number}", "version": 1}
        key, value = {"keytype": "SCHEMA", **about}, {**about, "id": number, "schema": '"int"'}
        data.write("_schemas-0", [(json.dumps(key).encode(), json.dumps(value).encode())])
    before = json.loads(cat(tree(tmp_path), ".cluster/state.json"))["problems"]
    log = tmp_path / "_schemas-0" / f"{0:020}.log"
    log.write_bytes(log.read_bytes().replace(b"s-2", b"s-9"))
    root = tree(tmp_path)
    assert sorted(entry.name for entry in node(root, ".cluster/schemas").entries()) == ["1.avsc", "3.avsc"]  # type: ignore[union-attr]
    [damage] = set(json.loads(cat(root, ".cluster/state.json"))["problems"]) - set(before)
    assert "_schemas-0" in damage
