"""What is settled before anything becomes columns, by processes of this machine."""

import json
from pathlib import Path

from kafkafs.tables.local import mapped
from kafkafs.tables.locations import Location
from kafkafs.tables.offsets import TopicPartition
from kafkafs.tables.planning import PartitionRange
from kafkafs.tables.ranges import data_loss
from kafkafs.tables.typed.kinds import Pass, kinds
from kafkafs.tables.typed.typed_columns import FieldName
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.log.making import Made, write_partition


def passes(path: Path, field: FieldName) -> list[Pass]:
    return [
        Pass(PartitionRange(Location(path, TopicPartition(topic, number)), 0, 3), 1, field, "read_uncommitted",
             data_loss(fail=True))
        for topic, number in (("t", 0), ("t", 1), ("u", 0))
    ]  # fmt: skip


def test_a_topic_has_one_type_over_all_its_partitions(tmp_path: Path) -> None:
    reported: dict[str, list[object]] = {
        "t-0": [{"a": 1}, {"a": 2}, {"b": True}],
        "t-1": [{"a": 0.5}, {"a": 1}, [1]],
        "u-0": [{"a": "x"}] * 3,
    }
    for name, values in reported.items():
        records = [
            Record(number, 0, 0, b'{"k":%d}' % number, json.dumps(value).encode(), ())
            for number, value in enumerate(values)
        ]
        write_partition(tmp_path, {0: [Made(v2_batch(records), ())]}, name)
    found = kinds(mapped, passes(tmp_path, "value"), Pass.kind)
    assert found == {
        "t": ["object", {"a": "double", "b": "boolean"}], "u": ["object", {"a": "string"}],
    }  # fmt: skip
    assert kinds(mapped, passes(tmp_path, "key"), Pass.kind) == {topic: ["object", {"k": "long"}] for topic in "tu"}
