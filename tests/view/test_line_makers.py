"""What the lines of a suffix are made by, and for whom: those with schemas tell what stands in another topic."""

import json
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.disk.blocking import non_blocking
from kafkafs.errors import WouldBlock
from kafkafs.format.batch import walk
from kafkafs.format.names import parse_partition_name
from kafkafs.format.records import Records, decode
from kafkafs.view.decoded import Lines, PlainLines, SchemaLines
from kafkafs.view.node import Access, Attributes, common
from kafkafs.view.partition_view import PartitionView
from kafkafs.view.tree import PartitionDirectory
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.log.making import Made, write_partition
from tests.view.rendering import rendered
from tests.view.trees import node, tree

RECORDS = (Record(0, 5, 0, b"key", b'{"a": 1}'), Record(1, 6, 0, None, b"\xff"))
BATCH = v2_batch(RECORDS)


@pytest.fixture
def view(tmp_path) -> PartitionView:
    """A partition in a directory without a registry."""
    write_partition(tmp_path, {0: [Made(BATCH, RECORDS)]})
    return cast(PartitionDirectory, node(tree(tmp_path), "t-0")).view


def lines(kind: type[Lines], view: PartitionView) -> bytes:
    name = parse_partition_name("t-0")
    assert name is not None
    (records,) = decode(BATCH, 0, walk(BATCH, 0).rows, 1 << 20)
    assert isinstance(records, Records)
    return b"".join(kind(view).maker(name).pieces(records))


def test_plain_lines_are_those_of_the_records_alone(view):
    assert lines(PlainLines, view) == rendered(BATCH, "t", 0)


def test_decoded_lines_have_values_where_plain_ones_have_text(view):
    plain, decoded = ([json.loads(line) for line in lines(of, view).splitlines()] for of in (PlainLines, SchemaLines))
    assert [line["value"] for line in decoded[:1]] == [{"a": 1}]
    assert [line["value"] for line in plain[:1]] == ['{"a": 1}']
    assert decoded[1]["valueBase64"] == plain[1]["valueBase64"] == "/w=="


def test_schemas_are_looked_up_by_a_thread_that_may_wait(view):
    """They are read from a topic and compiled, while everybody's lookups would wait; those just read, compiled."""
    SchemaLines(view)
    with non_blocking():
        PlainLines(view)
        with pytest.raises(WouldBlock):
            SchemaLines(view)


modes, ids = st.integers(0, 0o444), st.integers(0, 3)
access = st.builds(Access, ids, ids, modes)


def view_of(topic: str, registry: Access, asked: list[Access]) -> PartitionView:
    """A view of that topic beside a registry that grants this much."""

    def restrict(own: Access) -> Access:
        asked.append(own)
        return common([own, registry])

    resources = SimpleNamespace(schema_access=SimpleNamespace(restrict=restrict))
    return cast(PartitionView, SimpleNamespace(partition=SimpleNamespace(name=SimpleNamespace(topic=topic)),
                                               resources=resources))  # fmt: skip


@given(access, access, st.sampled_from(["t", "orders", "__consumer_offsets", "__cluster_metadata"]))
def test_decoded_lines_are_for_those_who_may_read_the_registry_too(own, registry, topic):
    """But for Kafka's own topics, whose schemas are known to all. Nothing else of the attributes changes."""
    about, asked = Attributes("file", own.mode, own.uid, own.gid, 7, 8, 9, 1, 0.8), list[Access]()
    view = view_of(topic, registry, asked)
    assert PlainLines.attributes(view, about) is about
    shown = SchemaLines.attributes(view, about)
    if topic.startswith("__"):
        assert (shown, asked) == (about, [])
    else:
        uid, gid, mode = common([own, registry])
        assert shown == about._replace(uid=uid, gid=gid, mode=mode)
