"""What `kafkafs dump` may be given: the flags of Kafka's tool mean what they mean there."""

import pytest

from kafkafs.cli.dump_arguments import TOPICS, WINDOW
from kafkafs.dump.dump_options import DumpOptions
from tests.cli.parsing import parsed, refusal


def test_without_flags_all_is_as_the_options_have_it():
    arguments, options = parsed("dump", "x.log"), DumpOptions()
    for name in ("deep_iteration", "print_data_log", "skip_record_metadata", "index_sanity_check", "json",
                 "verify_index_only", "max_bytes", "max_message_size"):  # fmt: skip
        assert getattr(arguments, name) == getattr(options, name), name
    assert arguments.key_decoder_class is arguments.value_decoder_class is None
    assert not any(getattr(arguments, f"{flag.replace('-', '_')}_decoder") for flag in TOPICS)
    assert all(getattr(arguments, flag[2:].replace("-", "_")) is None for flag in WINDOW)


def test_files_stand_behind_a_flag_and_between_others():
    """Kafka's tool takes a list behind `--files`; every other tool takes names wherever they stand."""
    arguments = parsed("dump", "a.log", "--files", "b.log,c.log", "--json", "d.log", "--files", "e.log")
    assert (arguments.paths, arguments.files) == (["a.log", "d.log"], ["b.log,c.log", "e.log"])


def test_a_decoder_without_a_class_is_the_usual_one():
    assert parsed("dump", "x.log", "--key-decoder-class").key_decoder_class == "StringDecoder"


def test_a_path_may_begin_with_a_dash():
    """A topic may."""
    assert parsed("dump", "--files", "-t-0/0.log").files == ["-t-0/0.log"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--file", "x.log"], "there is no option --file; did you mean --files?"),
        (["x.log", "--max-bytes", "many"], "argument --max-bytes: 'many' is not a whole number"),
        (["--files"], "argument --files: expected one argument"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_refused(words, sentence, capsys):
    """`--file` is no short form: Kafka's tool knows none either."""
    assert refusal(capsys, "dump", *words) == f"kafkafs dump: error: {sentence}"
