"""`.cluster/` of 10,000 groups and 100,000 partitions: how soon its state is there, what it takes, and then answers.

The data are what such a cluster's coordinators and controller write, by the encoder of the tests: classic groups of two
members with ten committed offsets each, in 50 partitions, and 1,000 topics of 100 partitions on three brokers.
"""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from kafkafs.cluster.coordinators import partition_for
from tests.bench import mounts
from tests.bench.data import Bench
from tests.bench.measure import Result, Spread, in_turns, seconds
from tests.cluster.writing import Data, Pair, commit, message, metadata, pair

GROUPS, OFFSETS, COORDINATORS = 10_000, 10, 50
TOPICS, PARTITIONS = 1_000, 100
_VERSION_0 = b"\0\0"
_AT_ONCE = 1_000  # records a batch
_GOAL_S, _GOAL_MB, _GOAL_MS = 10.0, 300.0, 10.0


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    place = _made(bench)
    took, resident = [], []
    for _ in range(rounds):
        started = time.perf_counter()
        with mounts.kafkafs(place) as ours:
            state = ours.path / ".cluster/state.json"
            assert b'"problems":[]' in state.read_bytes().replace(b"\n", b"")
            took.append(time.perf_counter() - started)
            for name in ("groups.jsonl", "partitions.jsonl"):
                (state.parent / name).read_bytes()
            resident.append(ours.resident() / 1e6)
    of = f"of {GROUPS:,} groups, {TOPICS * PARTITIONS:,} partitions"
    yield Result("cluster", f"state {of}", "s", Spread(tuple(took)), goal=_GOAL_S, at_most=True)
    yield Result("cluster", f"memory {of}", "MB", Spread(tuple(resident)), goal=_GOAL_MB, at_most=True)
    with mounts.kafkafs(place) as ours:
        top = ours.path / ".cluster"
        answers = {
            name: lambda path=top / name: 1000 * seconds(path.read_bytes)
            for name in ("state.json", "groups/group-77/offsets.jsonl", "groups/group-77/group.json", "features.jsonl")
        }
        for name, spread in in_turns(answers, rounds).items():
            yield Result("cluster", f"then {name}", "ms", spread, goal=_GOAL_MS, at_most=True)


def _made(bench: Bench) -> Path:
    """The data, made once (about a minute)."""
    place = bench.home.with_name(f"cluster-{GROUPS}-{TOPICS * PARTITIONS}")
    if not place.exists():
        unfinished = place.with_name(f"{place.name}.part")
        shutil.rmtree(unfinished, ignore_errors=True)
        data = Data(unfinished)
        _write(data, "__cluster_metadata-0", _cluster())
        for number in range(COORDINATORS):
            _write(data, f"__transaction_state-{number}", [])
        by_partition: dict[int, list[Pair]] = {number: [] for number in range(COORDINATORS)}
        for number in range(GROUPS):
            name = f"group-{number}"
            by_partition[partition_for(name.encode(), COORDINATORS)] += _group(name, number)
        for number, pairs in by_partition.items():
            _write(data, f"__consumer_offsets-{number}", pairs)
        unfinished.rename(place)
    return place


def _write(data: Data, partition: str, pairs: list[Pair]) -> None:
    (data.path / partition).mkdir(exist_ok=True)
    for first in range(0, len(pairs), _AT_ONCE):
        data.write(partition, pairs[first : first + _AT_ONCE])
    if not pairs:
        (data.path / partition / f"{0:020}.log").touch()


def _cluster() -> list[Pair]:
    topics = {f"topic-{number}": PARTITIONS for number in range(TOPICS)}
    topics |= {"__consumer_offsets": COORDINATORS, "__transaction_state": COORDINATORS}
    made = [metadata("FeatureLevelRecord", name="metadata.version", featureLevel=30)]
    for number, (name, count) in enumerate(topics.items()):
        topic_id = _uuid(number + 1)
        made.append(metadata("TopicRecord", name=name, topicId=topic_id))
        for partition in range(count):
            replicas = [(number + partition + each) % 3 + 1 for each in range(3)]
            made.append(
                metadata(
                    "PartitionRecord", 1, topicId=topic_id, partitionId=partition, replicas=replicas, isr=replicas,
                    leader=replicas[0], directories=[_uuid(1000 + each) for each in replicas],
                )
            )  # fmt: skip
    return made


def _uuid(number: int) -> str:
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    text = ""
    for _ in range(6):
        text, number = digits[number % 64] + text, number // 64
    return f"{'A' * 15}{text}A"


def _group(name: str, number: int) -> list[Pair]:
    members = []
    for each in range(2):
        mine = [partition for partition in range(OFFSETS) if partition % 2 == each]
        assigned = {"topic": f"topic-{number % TOPICS}", "partitions": mine}
        subscription = message("clients", "ConsumerProtocolSubscription", 0, topics=[assigned["topic"]])
        assignment = message("clients", "ConsumerProtocolAssignment", 0, assignedPartitions=[assigned])
        members.append(
            {
                "memberId": f"consumer-{name}-{each}-5feb66d1-ae4e-4b62-8946-3886e979a08d",
                "clientId": f"consumer-{name}-{each}",
                "clientHost": "/10.0.0.1",
                "sessionTimeout": 45_000,
                "rebalanceTimeout": 300_000,
                "subscription": _VERSION_0 + subscription,
                "assignment": _VERSION_0 + assignment,
            }
        )
    value = {
        "protocolType": "consumer", "generation": 7, "protocol": "range", "leader": members[0]["memberId"],
        "currentStateTimestamp": 1_700_000_000_000, "members": members,
    }  # fmt: skip
    commits = [commit(name, f"topic-{number % TOPICS}", partition, number + partition) for partition in range(OFFSETS)]
    return [pair("GroupMetadata", {"group": name}, value, 3), *commits]
