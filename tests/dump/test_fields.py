"""Lines of named numbers, in both forms."""

import json
from pathlib import Path

from kafkafs.dump.dump_options import DumpOptions
from kafkafs.dump.dump_source import FieldLines
from tests.dump.dumped import source_of


def test_a_line_of_text_names_each_number(tmp_path: Path) -> None:
    """As Kafka's tool does."""
    fields = FieldLines(source_of(tmp_path, "0.index"), DumpOptions(), ("offset", "position"))
    assert fields.line(5, -1) == "offset: 5 position: -1\n"


def test_a_line_of_json_says_of_which_file_it_is(tmp_path: Path) -> None:
    """Whatever the file is called."""
    name = '100%s "quoted" \udcff.index'
    fields = FieldLines(source_of(tmp_path, name), DumpOptions(json=True), ("offset",))
    assert json.loads(fields.line(5)) == {"file": '100%s "quoted" \N{REPLACEMENT CHARACTER}.index', "offset": 5}
