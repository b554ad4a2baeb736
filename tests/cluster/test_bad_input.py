"""Whatever stands in the internal topics: no exception, a sentence in `problems`, and the rest still answers."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkafs.cluster.cluster import Cluster as About
from kafkafs.cluster.files import LISTS
from kafkafs.cluster.group_records import Topics, read_commits, read_group
from kafkafs.cluster.image import Image
from kafkafs.cluster.kept_records import LastValue
from kafkafs.cluster.metadata import metadata_version
from kafkafs.cluster.row_lines import line
from kafkafs.cluster.rows import Ends, group_with_members, offset_row, transaction_row
from kafkafs.cluster.transactions import Owners, read_transaction
from kafkafs.format.messages.topic_records import InternalTopic, Message, Unreadable, parse_record
from kafkafs.format.names import METADATA_TOPIC
from kafkafs.log.read_options import ReadOptions
from kafkafs.view.tree import Root
from tests.cluster import drawing
from tests.cluster.reading import names, node, read, target
from tests.cluster.writing import Data, Pair, batch, commit, marker, metadata, snapshot, transaction
from tests.kafka.cache import EVERY
from tests.kafka.clusters import Cluster
from tests.mounting import wait_until

PLACES = {
    InternalTopic.OFFSETS: "__consumer_offsets-0",
    InternalTopic.TRANSACTIONS: "__transaction_state-0",
    InternalTopic.CLUSTER_METADATA: "__cluster_metadata-0",
}
SOUND_ID = "A" * 20 + "fw"
SOUND = {
    InternalTopic.OFFSETS: commit("sound", "sound", 0, 5),
    InternalTopic.TRANSACTIONS: transaction("sound", producerId=99, transactionStatus=1),
    InternalTopic.CLUSTER_METADATA: metadata("TopicRecord", name="sound", topicId=SOUND_ID),
}
PASSED_OVER = tuple(bytes((1, kind)) for kind in (10, 15, 20, 21, 26, 27, 29))
"""How records of the metadata begin that tell of nothing that is shown."""

MAX_BATCH = 1 << 20
quickly = settings(
    max_examples=100 if EVERY in os.environ else 30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(scope="module")
def memory() -> Iterator[Path]:
    """A directory in memory."""
    place = Path(tempfile.mkdtemp(prefix="kafkafs-", dir="/dev/shm"))
    yield place
    shutil.rmtree(place)


def refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is no JSON")


def new_root(data: Path) -> Root:
    return Root([data], ReadOptions(max_batch=MAX_BATCH))


def all_of_it(root: Root) -> dict[str, list[Any]]:
    """Every file's lines; everything below `.cluster` is looked at."""
    found = {}
    waiting = [""]
    while waiting:
        place = waiting.pop()
        for name in names(root, place):
            path = f"{place}/{name}".lstrip("/")
            kind = node(root, path).attributes().kind
            if kind == "directory":
                waiting.append(path)
            elif kind == "symlink":
                target(root, path)
            else:
                found[path] = [json.loads(line, parse_constant=refuse) for line in read(root, path).splitlines()]
    return found


def of_sound(reported: dict[str, list[Any]]) -> list[Any]:
    """What is told of the group, the transactional id and the topic that nothing is wrong with."""
    return [
        *(row["offset"] for row in reported["groups/sound/offsets.jsonl"]),
        *(row["producerId"] for row in reported["transactions.jsonl"] if row["transactionalId"] == "sound"),
        *(row["topicId"] for row in reported["topics.jsonl"] if row["topic"] == "sound"),
    ]


def write(data: Path, topic: InternalTopic, records: Sequence[tuple[Pair, int]]) -> None:
    """A log of the sound record and those, each with its producer in a batch of its own."""
    place = data / PLACES[topic]
    place.mkdir(exist_ok=True)
    made = [batch([SOUND[topic]], 0)]
    for number, (pair, producer) in enumerate(records):
        is_end = topic is InternalTopic.OFFSETS and pair == marker()
        made.append(batch([pair], 1 + number, producer_id=producer, is_control=is_end))
    (place / f"{0:020}.log").write_bytes(b"".join(made))


def drawn(topic: InternalTopic) -> st.SearchStrategy[list[tuple[Pair, int]]]:
    producer = drawing.producers() if topic is InternalTopic.OFFSETS else st.just(-1)
    one = drawing.pairs(topic) | drawing.broken(topic) | st.just(marker())
    return st.lists(st.tuples(one, producer), max_size=6)


@pytest.mark.parametrize("topic", PLACES, ids=lambda topic: topic.value)
@quickly
@given(st.data())
def test_what_records_say_ends_nothing_and_is_reported(memory: Path, topic: InternalTopic, draw: st.DataObject) -> None:
    """Records of every type and version, whole and broken, in any order; the last one is broken."""
    data = Data(memory / topic.value).path
    for each in PLACES:
        write(data, each, [])
    last = draw.draw(drawing.broken(topic))
    write(data, topic, [*draw.draw(drawn(topic)), (last, -1)])
    reported = all_of_it(new_root(data))
    assert of_sound(reported) == [5, 99, SOUND_ID]
    read_last = parse_record(topic, *last)
    if isinstance(read_last, Unreadable) and last[1] is not None and not last[1].startswith(PASSED_OVER):
        assert reported["state.json"][0]["problems"]


@pytest.mark.parametrize("topic", PLACES, ids=lambda topic: topic.value)
@settings(quickly, max_examples=10)
@given(st.data())
def test_who_follows_learns_what_a_beginner_is(memory: Path, topic: InternalTopic, draw: st.DataObject) -> None:
    """A log that grows while it is looked at; only the order of the problems may differ."""
    data = Data(memory / f"{topic.value}-followed").path
    for each in PLACES:
        write(data, each, [])
    records = draw.draw(drawn(topic))
    write(data, topic, records[: draw.draw(st.integers(0, len(records)))])
    follower = new_root(data)
    all_of_it(follower)
    write(data, topic, records)
    wanted = in_order(all_of_it(new_root(data)))
    wait_until(lambda: in_order(all_of_it(follower)) == wanted)


METADATA = InternalTopic.CLUSTER_METADATA


@settings(quickly, max_examples=30)
@given(drawing.histories(METADATA))
def test_no_history_of_metadata_ends_what_is_reported_it(pairs: list[Pair]) -> None:
    """Each record may contradict those before it."""
    image = Image()
    for _, value in pairs:
        message = parse_record(METADATA, None, value)
        if isinstance(message, Message):
            with suppress(LookupError):
                image.apply(message)
    about = SimpleNamespace(image=image, directories=())
    for each in (each for each in LISTS.values() if each.topics[:1] == (METADATA_TOPIC,)):
        for text in each.lines(cast(About, about)) or ():
            json.loads(text, parse_constant=refuse)


@settings(quickly, max_examples=30)
@given(drawing.histories(InternalTopic.OFFSETS), drawing.histories(InternalTopic.TRANSACTIONS))
def test_no_records_of_a_coordinator_end_what_is_reported_it(offsets: list[Pair], transactions: list[Pair]) -> None:
    """All of one group, whatever its records name, and each transactional id."""
    kept = [(key or b"", LastValue(number, value)) for number, (key, value) in enumerate(offsets) if value is not None]
    group = read_group(kept, Topics(lambda _: None, lambda _: 2), lambda _: None)
    rows = [group_with_members(b"g", 0, group, None)]
    rows += [offset_row(b"g", each, Ends()) for each in read_commits(kept, lambda _: None)]
    read = [read_transaction(key or b"", LastValue(0, value), lambda _: None) for key, value in transactions if value]
    rows += [transaction_row(each, 0) for each in read if each is not None]
    for row in rows:
        json.loads(line(row), parse_constant=refuse)
    Owners([each for each in read if each is not None], True).hangs("t", 0, 1)


ODD_QUOTA = [{"entityType": "user", "entityName": None}, {"entityType": "user", "entityName": "a"}]
OTHER_ID = "A" * 20 + "ew"


@pytest.mark.parametrize("entity", [ODD_QUOTA, ODD_QUOTA[::-1]], ids=["named last", "named first"])
def test_of_two_entities_of_a_type_the_last_one_counts(tmp_path: Path, entity: list[dict[str, str | None]]) -> None:
    """As in Kafka's own image, a map by type. The dump of another topic reads this log, too."""
    data = Data(tmp_path / "data")
    data.write(PLACES[METADATA], [SOUND[METADATA], metadata("ClientQuotaRecord", entity=entity, key="k", value=1.0)])
    reported = all_of_it(new_root(data.path))
    assert reported["quotas.jsonl"] == [{"entity": {"user": entity[-1]["entityName"]}, "key": "k", "value": 1.0}]
    assert metadata_version(data.path) is None


@pytest.mark.parametrize("is_removed", [False, True])
def test_an_id_that_gets_another_name_has_that_one_alone(tmp_path: Path, is_removed: bool) -> None:
    data = Data(tmp_path / "data")
    named = [metadata("TopicRecord", name=name, topicId=OTHER_ID) for name in ("first", "second")]
    removed = [metadata("RemoveTopicRecord", topicId=OTHER_ID)]
    data.write(PLACES[METADATA], [SOUND[METADATA], *named, *(removed if is_removed else [])])
    reported = all_of_it(new_root(data.path))
    assert [row["topic"] for row in reported["topics.jsonl"]] == ([] if is_removed else ["second"]) + ["sound"]


def in_order(reported: dict[str, list[Any]]) -> dict[str, list[Any]]:
    reported["state.json"][0]["problems"].sort()
    return reported


RECORDS = [
    SOUND[InternalTopic.CLUSTER_METADATA],
    metadata("PartitionRecord", 2, topicId=SOUND_ID, partitionId=0, replicas=[1], isr=[1], directories=["A" * 22]),
    metadata("ConfigRecord", resourceType=2, resourceName="sound", name="retention.ms", value="7"),
    metadata("RegisterBrokerRecord", 4, brokerId=1, endPoints=[{"name": "P", "host": "h", "port": 9, }], logDirs=[]),
    metadata("AccessControlEntryRecord", id=SOUND_ID, resourceName="sound", principal="User:a", host="*"),
    metadata("ClientQuotaRecord", entity=[{"entityType": "user", "entityName": None}], key="k", value=1e10),
    metadata("UserScramCredentialRecord", name="a", mechanism=1, salt=b"s", storedKey=b"k", serverKey=b"k"),
    metadata("FeatureLevelRecord", name="metadata.version", featureLevel=30),
]  # fmt: skip


@quickly
@given(drawing.damaged(snapshot(*RECORDS)), st.booleans())
def test_a_damaged_snapshot_is_reported_and_an_older_one_counts(memory: Path, damaged: bytes, is_older: bool) -> None:
    """All of it counts or none: a checksum holds each batch, and the footer says that nothing is missing."""
    place = Data(memory / "snapshot").path / PLACES[InternalTopic.CLUSTER_METADATA]
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    newest, older = (place / f"{offset:020}-{1:010}.checkpoint" for offset in (9, 5))
    newest.write_bytes(damaged)
    if is_older:
        older.write_bytes(snapshot(*RECORDS[:1]))
    reported = all_of_it(new_root(place.parent))
    state = reported["state.json"][0]
    if not any(f"{newest.name} is not whole and left out" in each for each in state["problems"]):
        assert state["metadata"]["asOfOffset"] == 8  # no checksum is over the offsets and epochs of batches
        assert len(reported["users.jsonl"]) == len(reported["brokers.jsonl"]) == len(reported["partitions.jsonl"]) == 1
    elif is_older:
        assert [row["topic"] for row in reported["topics.jsonl"]] == ["sound"]
        assert reported["users.jsonl"] == []
    else:
        assert state["metadata"] is None
        assert "topics.jsonl" not in reported


@pytest.fixture(scope="module")
def real() -> dict[str, bytes]:
    """The first segment of each internal partition that a real broker left."""
    path = Cluster("4.3.1", "killed").path
    found = [name for name in sorted(path.iterdir()) if name.name.startswith("__") and name.is_dir()]
    return {place.name: (place / f"{0:020}.log").read_bytes() for place in found}


@settings(quickly, max_examples=15)
@given(st.data())
def test_damaged_logs_of_a_real_broker_end_nothing(memory: Path, real: dict[str, bytes], draw: st.DataObject) -> None:
    """One internal partition is damaged: what the others tell is told as before."""
    data = Data(memory / "real").path
    name = draw.draw(st.sampled_from([each for each in sorted(real) if real[each]]))
    for each, whole in real.items():
        (data / each).mkdir(exist_ok=True)
        (data / each / f"{0:020}.log").write_bytes(draw.draw(drawing.damaged(whole)) if each == name else whole)
    reported = all_of_it(new_root(data))
    if not name.startswith("__cluster_metadata"):
        assert {row["topic"] for row in reported["topics.jsonl"]} == {"shop", "stock", "placed", *state_topics(real)}
    if not name.startswith("__consumer_offsets"):
        assert len(reported["groups.jsonl"]) >= 15
    if not name.startswith("__transaction_state"):
        assert [row["transactionalId"] for row in reported["transactions.jsonl"]] == ["done", "idle", "open", "undone"]


def state_topics(real: dict[str, bytes]) -> set[str]:
    return {name.rpartition("-")[0] for name in real} - {"__cluster_metadata"}
