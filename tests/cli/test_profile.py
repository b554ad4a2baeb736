"""`kafkafs profile` before Spark starts. What the page shows is in tests/spark/test_page.py."""

import json
import subprocess
import sys

import pytest

from kafkafs.cli.main import main
from kafkafs.installation import install_command
from kafkafs.sample import unpack


def test_a_page_that_could_not_be_written_is_refused_before_the_job(tmp_path, capsys):
    """An hour of reading, and then no page."""
    data = unpack(tmp_path)
    assert main(["profile", str(data), "--html", str(data / "page.html")]) == 2
    assert capsys.readouterr().err.endswith("is inside a data directory, where nothing is written\n")


LACKING = "import sys\nfor name in ('pyspark', 'py4j', 'pyarrow', 'jinja2', 'markupsafe'): sys.modules[name] = None\n"


def lacking(*words: str) -> "subprocess.CompletedProcess[str]":
    """The command with the base install alone."""
    program = f"{LACKING}from kafkafs.cli.main import main; sys.exit(main({['profile', *words]!r}))\n"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


def test_without_the_extra_a_page_says_what_to_install(tmp_path):
    done = lacking(str(unpack(tmp_path)), "--html", str(tmp_path / "page.html"))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.endswith(f"{install_command('tables')}\n")
    assert not (tmp_path / "page.html").exists()


def test_without_the_extra_the_numbers_are_written(tmp_path):
    done = lacking(str(unpack(tmp_path)), "--json", str(tmp_path / "numbers.json"))
    assert done.stderr.endswith(f" partitions in {tmp_path}/numbers.json\n")
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert f"{numbers['total']['records']:,} records of {numbers['total']['partitions']} partitions" in done.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "neither a page nor data is asked for: name a page with --html FILE, or data with --json FILE"),
        (["--html", "OUT/x", "--json", "OUT/x"], "name two files"),
        (["--json", "OUT/kafka-logs/x"], "is inside a data directory, where nothing is written"),
        (["--json", "OUT/x", "--engine", "local", "--master", "local[1]"], "leave one of them out"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_sentence(words, sentence, tmp_path, capsys):
    data = unpack(tmp_path)
    assert main(["profile", str(data), *(word.replace("OUT", str(tmp_path)) for word in words)]) == 2
    reported = capsys.readouterr().err
    assert reported.endswith(f"{sentence}\n")
    assert not (tmp_path / "x").exists()


def test_damage_that_the_numbers_lack_ends_in_a_sentence_and_a_code(tmp_path, capsys):
    """Regression: of a topic with a segment that its tier had lost, the rest was counted, with exit code 0."""
    data = unpack(tmp_path)
    assert main(["profile", str(data), "--json", str(tmp_path / "whole.json")]) == 0
    log = max(data.glob("*/*.log"), key=lambda each: each.stat().st_size)
    content = bytearray(log.read_bytes())
    content[len(content) // 3] ^= 1
    log.write_bytes(content)
    assert main(["profile", str(data), "--json", str(tmp_path / "numbers.json")]) == 1
    assert capsys.readouterr().err.endswith("1 damaged place is not in the numbers; kafkafs audit names the damage\n")
    assert json.loads((tmp_path / "numbers.json").read_text())["total"]["damaged"] == 1


def test_a_data_directory_may_have_a_name_that_is_no_utf_8(tmp_path):
    """Regression: "this is a bug, please report it", with the whole page behind it."""
    data = unpack(tmp_path).rename(tmp_path / "logs\udcff")
    numbers, html = tmp_path / "numbers.json", tmp_path / "page.html"
    assert main(["profile", str(data), "--json", str(numbers), "--html", str(html)]) == 0
    shown = f"{tmp_path}/logs\\udcff"
    assert json.loads(numbers.read_text())["dataDirectories"] == [shown]
    assert shown in html.read_text()
