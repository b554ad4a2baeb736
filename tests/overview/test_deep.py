"""All logs are read by processes of their own: the sums are the same, however many there are."""

from kafkafs.log.data_directory import open_data_directory
from kafkafs.overview.deep import read_all
from kafkafs.overview.report import Question, rows_of
from kafkafs.overview.scanning import count
from tests.kafka.dataset import Dataset


def test_parts_sum_to_the_log_and_processes_agree():
    directory = open_data_directory(Dataset("4.3.1", "stopped").path)
    counts, shown = [(directory, count(directory, print))], []
    found = [
        rows_of(counts, None, Question(0), read_all(counts, {}, lambda *done: shown.append(done), number)).rows
        for number in (1, 3)
    ]
    assert found[0] == found[1]
    assert shown[-1][0] == shown[-1][1] > 0
    for row in found[0]:
        parts = row["keyBytes"] + row["valueBytes"] + row["headerBytes"] + row["framingBytes"]
        if row["compressionRatio"] in (1, None):
            assert parts == row["logBytes"], row["topic"]
    total = found[0][-1]
    for name in ("keyBytes", "framingBytes", "supersededBytes", "tombstones", "producers", "transactionalIds"):
        assert total[name] == sum(row[name] for row in found[0][:-1])


def test_producers_of_one_transactional_id_count_once():
    directory = open_data_directory(Dataset("4.3.1", "stopped").path)
    counts = [(directory, count(directory, print))]
    counts[0][1].partitions = [each for each in counts[0][1].partitions if each.name.topic == "transactions"]
    ids = next(iter(read_all(counts, {}, lambda *_: None, 1).values())).transactional
    assert len(ids) == 3
    named = read_all(counts, dict.fromkeys(map(int, ids), "one"), lambda *_: None, 1)
    assert next(iter(named.values())).transactional == {"one"}
