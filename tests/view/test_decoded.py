"""Decoded points and ranges: what their lines are made by, and for whom; and that many of them take no memory."""

import errno
import gc
import gzip
import json
import os
from types import SimpleNamespace
from typing import cast
from weakref import ref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.disk.access import Access, common
from kafkafs.disk.blocking import non_blocking
from kafkafs.errors import ERRNO, CorruptData, NoData, NotFound, WouldBlock
from kafkafs.format.batch import walk
from kafkafs.format.names import parse_partition_name
from kafkafs.format.records import Records, decode
from kafkafs.view.decoded import Lines, PlainLines, SchemaLines
from kafkafs.view.made import ANSWERS
from kafkafs.view.node import Attributes, FileNode
from kafkafs.view.partition_view import PartitionView
from kafkafs.view.tree import PartitionDirectory
from tests.counting import counted
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.log.making import Made, made, spread, write_partition
from tests.mounting import resident_bytes, wait_until
from tests.view.rendering import rendered
from tests.view.trees import assert_random_access, cat, node, opened, tree


class State:
    """Of a log."""


def test_many_points_take_no_memory(tmp_path):
    """Regression: each name that the kernel remembered held the bytes around its record, up to a megabyte each."""
    write_partition(tmp_path, spread([made(number, [number], size=300_000) for number in range(200)], 50))
    root = tree(tmp_path)
    node(root, "t-0/by-offset/0.value").attributes()
    before, nodes = resident_bytes(os.getpid()), []
    for number in range(200):
        for suffix in (".value", ".jsonl"):
            point = cast(FileNode, node(root, f"t-0/by-offset/{number}{suffix}"))
            assert point.attributes().size > 300_000
            nodes.append(point)
    assert resident_bytes(os.getpid()) - before < ANSWERS + (24 << 20)
    assert len(nodes) == 400


@pytest.mark.parametrize("how", [{}, {"codec": 1, "compress": gzip.compress}])
def test_an_open_finds_what_the_lookup_has_made(tmp_path, how):
    """`cat` looks up and opens: the record is read and unpacked once."""
    write_partition(tmp_path, {0: [made(0, [1, 2, 3], **how)]})
    point = cast(FileNode, node(tree(tmp_path), "t-0/by-offset/1.value"))
    attributes, read = counted(point.attributes)
    assert read > 0
    content, read = counted(point.open)
    assert (content.size, read) == (attributes.size, 0)


def test_null_empty_and_missing_are_distinguished(tmp_path):
    """A null is no empty value; who cannot tell loses tombstones."""
    records = [Record(0, 1, 0, None, b""), Record(1, 1, 0, b"", None)]
    write_partition(tmp_path, {0: [Made(v2_batch(records), tuple(records))]})
    root = tree(tmp_path)
    assert cat(root, "t-0/by-offset/0.value") == cat(root, "t-0/by-offset/1.key") == b""
    for name in ("0.key", "1.value"):
        assert node(root, f"t-0/by-offset/{name}").attributes().size == 0
        with pytest.raises(NoData) as caught:
            opened(root, f"t-0/by-offset/{name}")
        assert ERRNO[type(caught.value)] == errno.ENODATA
    with pytest.raises(NotFound):
        node(root, "t-0/by-offset/2.key").attributes()


def test_a_long_range_gives_the_same_bytes_however_it_is_read(tmp_path):
    """`grep`, `tail -c` and `dd` ask in their own ways; several megabytes go through marks and forgotten pieces."""
    batches = [made(number * 50, [number] * 50, size=number % 700) for number in range(400)]
    write_partition(tmp_path, spread(batches, 150))
    root = tree(tmp_path)
    whole = cat(root, "t-0/by-offset/0...jsonl")
    assert len(whole) > 6 << 20
    assert [json.loads(line)["offset"] for line in whole.splitlines()] == list(range(20_000))
    assert_random_access(opened(root, "t-0/by-offset/0...jsonl"), whole, reads=60)
    at = whole.index(b'{"topic":"t","partition":0,"offset":7777,')
    assert cat(root, "t-0/by-offset/7777...jsonl") == whole[at:]


def test_what_stands_before_damage_is_read_before_the_error(tmp_path):
    """And again by who goes back, and the error again by who goes on."""
    batches = [made(number, [number], size=5000) for number in range(60)]
    path = write_partition(tmp_path, {0: batches}) / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[sum(len(batch.data) for batch in batches[:50]) + 100] ^= 1
    path.write_bytes(data)
    root = tree(tmp_path)
    whole = cat(root, "t-0/by-offset/0..50.jsonl")
    content = opened(root, "t-0/by-offset/0...jsonl")
    for _ in range(2):
        got = b""
        while len(got) < len(whole):
            got += bytes(content.read(len(got), 70_001))
        assert got == whole
        with pytest.raises(CorruptData):
            content.read(len(got), 70_001)
        assert bytes(content.read(3, 9)) == whole[3:12]


@pytest.mark.parametrize("suffix", ["", ".jsonl", ".batches.jsonl", ".explain"])
def test_a_name_that_is_remembered_keeps_no_old_log(tmp_path, suffix):
    """A busy log is a new one ten times a second; each holds a list of all its segments."""
    path = write_partition(tmp_path, {0: [made(0, [1])]}) / f"{0:020}.log"
    root = tree(tmp_path)
    point = cast(FileNode, node(root, f"t-0/by-offset/0{suffix}"))
    view = cast(PartitionDirectory, node(root, "t-0")).view
    old = ref(view.partition.look().log)
    assert point.attributes().mode == 0o444
    with open(path, "ab") as file:
        file.write(made(1, [2]).data)
    wait_until(lambda: view.partition.look().log.end_offset == 2)
    gc.collect()
    assert old() is None


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

    def restricted(own: Attributes) -> Attributes:
        asked.append(own.access)
        return own.granting(common([own.access, registry]))

    resources = SimpleNamespace(schema_access=SimpleNamespace(restricted=restricted))
    return cast(PartitionView, SimpleNamespace(partition=SimpleNamespace(name=SimpleNamespace(topic=topic)),
                                               resources=resources))  # fmt: skip


@given(access, access, st.sampled_from(["t", "orders", "__consumer_offsets", "__cluster_metadata"]))
def test_decoded_lines_are_for_those_who_may_read_the_registry_too(own, registry, topic):
    """But for Kafka's own topics, whose schemas are known to all. Nothing else of the attributes changes."""
    about, asked = Attributes("file", own.mode, own.uid, own.gid, 7, 9, 0.8, blocks=8), list[Access]()
    view = view_of(topic, registry, asked)
    assert PlainLines.attributes(view, about) is about
    shown = SchemaLines.attributes(view, about)
    if topic.startswith("__"):
        assert (shown, asked) == (about, [])
    else:
        uid, gid, mode = common([own, registry])
        assert shown == about._replace(uid=uid, gid=gid, mode=mode)
