"""What `kafkafs grep` may be given: what grep(1) has means what it means there."""

import pytest

from tests.cli.arguments.parsing import parsed, refusal


def test_without_flags_the_pattern_is_an_expression_looked_for_everywhere():
    arguments = parsed("grep", "a.b", "one", "two")
    assert (arguments.pattern, arguments.data_dirs) == ("a.b", ["one", "two"])
    assert (arguments.fixed_strings, arguments.ignore_case, arguments.invert_match) == (False, False, False)
    assert (arguments.key, arguments.value, arguments.header) == (False, False, [])
    assert (arguments.topics, arguments.topic_pattern, arguments.max_count) == ([], None, None)
    assert (arguments.count, arguments.files_with_matches, arguments.decoded) == (False, False, False)


def test_short_flags_may_be_joined_and_fields_and_topics_be_several():
    arguments = parsed("grep", "-Fic", "-m3", "x", "data", "--header", "a", "--header", "b", "--topics", "s,t")
    assert (arguments.fixed_strings, arguments.ignore_case, arguments.count) == (True, True, True)
    assert arguments.max_count == 3
    assert (arguments.header, arguments.topics) == (["a", "b"], ["s,t"])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["x"], "the following arguments are required: DATA_DIR"),
        (["-F", "-E", "x", "data"], "argument -E/--extended-regexp: not allowed with argument -F/--fixed-strings"),
        (["-m", "few", "x", "data"], "argument -m/--max-count: 'few' is no whole number"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_refused(words, sentence, capsys):
    assert refusal(capsys, "grep", *words) == f"kafkafs grep: error: {sentence}"
