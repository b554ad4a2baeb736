"""The recorded output of Kafka's own tools, 4.3.1 and 4.4.0, over real data of four releases: not a byte may differ."""

from collections import Counter

import pytest

from tests.dump.dumped import dumped, options_of
from tests.kafka.dataset import Dataset
from tests.mounting import KAFKAFS, run


@pytest.mark.parametrize("mode", ["plain", "deep", "print", "skip-metadata", "max-bytes", "verify", "sanity"])
def test_standard_output_is_the_tools_own(stopped: Dataset, mode: str) -> None:
    """Scripts that parse kafka-dump-log.sh are fed by kafkafs dump instead."""
    assert compare(stopped, mode) > 20


@pytest.mark.parametrize("mode", ["offsets", "transactions", "metadata"])
def test_records_of_kafkas_own_topics_are_decoded_as_the_tool_does(stopped: Dataset, mode: str) -> None:
    """A release without KRaft has no cluster metadata."""
    if mode in stopped.dump_modes():
        assert compare(stopped, mode) > 0


def test_the_disk_tells_the_command_which_tool_is_meant(stopped: Dataset) -> None:
    """A transaction's state has a name in the text of 4.4's tool, and a number in that of older ones."""
    name, expected = next(iter(stopped.dumps("transactions").items()))
    assert '"transactionStatus":' in expected
    done = run(KAFKAFS, "dump", "--transaction-log-decoder", "--files", name, cwd=stopped.path)
    assert done.stdout.decode() == expected


def test_standard_output_is_the_tools_own_beside_a_running_broker(live: Dataset) -> None:
    """There the newest indexes end in zeros, which the tool takes for an entry."""
    assert compare(live, "plain") > 20


def compare(data: Dataset, mode: str) -> int:
    """How many files' recorded output kafkafs gives too."""
    options = options_of(data.dump_modes()[mode], data.release)
    outputs = {name: text for name, text in data.dumps(mode).items() if (data.path / name).exists()}
    for name, expected in outputs.items():
        assert dumped(data.path, name, options).text == expected, name
    return len(outputs)


@pytest.mark.parametrize("mode", ["plain", "print", "verify"])
def test_findings_are_the_tools_own(stopped: Dataset, mode: str) -> None:
    """Mismatches are what people run the tool for; a false one costs somebody a night."""
    options = options_of(stopped.dump_modes()[mode])
    found: Counter[str] = Counter()
    for name in stopped.dumps(mode):
        answer = dumped(stopped.path, name, options)
        assert answer.problems == []
        found.update(line.replace(str(stopped.path), "") for line in answer.report)
    assert found == Counter(stopped.dump_reports(mode))


def test_where_the_tool_crashes_there_is_an_answer(live: Dataset) -> None:
    """The padded indexes of an empty segment end kafka-dump-log.sh with an exception."""
    crashes = live.dump_crashes("plain")
    assert crashes
    for name in crashes:
        answer = dumped(live.path, name, options_of([]))
        assert answer.text == f"Dumping {name}\n{name} is empty.\n"
        assert answer.problems == []
