"""What `kafkafs export` may be given."""

import pytest

from tests.cli.arguments.parsing import parsed, refusal


def test_without_flags_all_of_the_log_becomes_parquet_as_it_is():
    arguments = parsed("export", "data", "--to", "out")
    assert (arguments.topics, arguments.topic_pattern) == ([], None)
    assert arguments.from_offsets is arguments.from_time is arguments.to_offsets is arguments.to_time is None
    assert (arguments.isolation, arguments.value, arguments.compression) == ("read_uncommitted", "bytes", "snappy")
    assert (arguments.file_mb, arguments.replicas) == (128, "furthest")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "the following arguments are required: --to"),
        (["--to", "out", "--topics", "t", "--topic-pattern", "t.*"], "not allowed with argument --topics/--topic"),
        (["--to", "out", "--from-time", "now", "--from-offsets", "{}"], "not allowed with argument --from-time"),
        (["--to", "out", "--isolation", "committed"], "no choice 'committed'; did you mean read_committed?"),
        (["--to", "out", "--value", "avro"], "there is no choice 'avro'; there are bytes, json, registry"),
        (["--to", "out", "--file-mb", "1.5"], "'1.5' is no whole number"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_refused_before_spark_is_started(words, sentence, capsys):
    assert refusal(capsys, "export", "data", *words).endswith(sentence)
