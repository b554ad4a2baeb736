"""`kafkafs export` before Spark starts: arguments to a request. What is written: tests/spark/test_export_job.py."""

import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from kafkafs.cli.export import limits_of, request_of
from kafkafs.cli.main import main
from kafkafs.errors import UsageError
from kafkafs.installation import install_command
from kafkafs.sample import unpack
from kafkafs.spark.export.export_plan import Request
from kafkafs.tables.choice import Choice
from kafkafs.tables.offsets import EARLIEST, LATEST, AllAt, Specific, Timestamps, TopicPartition
from tests.cli.parsing import parsed


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(tmp_path_factory.mktemp("data"))


def request(data: Path, *words: str) -> Request:
    return request_of(parsed("export", str(data), "--to", "out", *words))


def test_without_flags_all_topics_are_wanted_from_end_to_end(data):
    assert request(data) == Request((data,), Choice(pattern=".*"), AllAt(EARLIEST), AllAt(LATEST))


def test_each_flag_gets_into_the_request(data):
    asked = request(data, "--topics", " u, t,,t", "--isolation", "read_committed", "--value", "json", "--file-mb", "2",
                    "--compression", "zstd", "--replicas", "refuse", "--from-time", "5",
                    "--to-offsets", '{"t":{"0":7}}')  # fmt: skip
    assert asked == Request(
        (data,), Choice(topics=("t", "u")), Timestamps(5, "latest"), Specific({TopicPartition("t", 0): 7}),
        "read_committed", "refuse", value="json", compression="zstd", file_bytes=2 << 20, window=("5", '{"t":{"0":7}}'),
    )  # fmt: skip


def test_a_pattern_fits_whole_names(data):
    """Also where it has a choice in it: `a|b` is no `a` at the beginning, nor a `b` at the end."""
    assert request(data, "--topic-pattern", "a|b").choice == Choice(pattern=r"\A(?:a|b)\Z")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--file-mb", "0"], "--file-mb must be positive"),
        (["--topics", " ,"], "--topics names no topic"),
        (["--topic-pattern", "("], r"--topic-pattern '\(' is malformed: "),
        (["--from-time", "yesterday"], "--from-time 'yesterday' is not a time; write milliseconds"),
        (["--to-offsets", "{"], "expected"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_refused_with_a_sentence(words, sentence, data):
    with pytest.raises(UsageError, match=sentence):
        request(data, *words)


def test_no_file_is_written_into_a_data_directory(data, capsys):
    assert main(["export", str(data), "--to", str(data / "out")]) == 2
    assert capsys.readouterr().err.endswith(f"is inside {str(data)!r}, where nothing is written\n")
    assert not (data / "out").exists()


def test_without_a_data_directory_it_says_what_to_name(tmp_path, capsys):
    assert main(["export", "--to", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == "kafkafs: name a data directory to export, one of log.dirs\n"
    assert not (tmp_path / "out").exists()


def test_a_directory_that_is_not_there_is_a_sentence(tmp_path, capsys):
    assert main(["export", str(tmp_path / "nowhere"), "--to", str(tmp_path / "out")]) == 2
    reported = capsys.readouterr().err
    assert "nowhere' does not exist" in reported
    assert reported.count("\n") == 1


def test_without_arrow_it_says_what_to_install(data, tmp_path):
    """It comes with the extra, as Spark does."""
    words = ["export", str(data), "--to", str(tmp_path / "out")]
    program = f"import sys; sys.modules['pyarrow'] = None; from kafkafs.cli.main import main; sys.exit(main({words!r}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.endswith(f"{install_command('tables')}\n")


def test_a_window_is_the_time_and_what_is_around_it():
    """`--from-time T-5m --to-time +10m`, as in `by-time/`."""

    def limits(first: str | None, last: str | None) -> tuple[object, ...]:
        return limits_of(Namespace(from_offsets=None, to_offsets=None, from_time=first, to_time=last))

    assert limits("5000-1s", "+2s") == (Timestamps(4000, "latest"), Timestamps(7000, "latest"))
    assert limits("5000", "+2s") == (Timestamps(5000, "latest"), Timestamps(7000, "latest"))
    for first, last in ((None, "+2s"), ("5000-1s", None), ("5000-1s", "9000"), ("end-5m", "+2s"), ("5000", "+2")):
        with pytest.raises(UsageError, match=r"is not a time|counts from the time|counts back from"):
            limits(first, last)
