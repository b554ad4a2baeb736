"""From what was typed to the module that does it: it alone is imported, and Ctrl-C meets no traceback."""

import errno
import inspect
import subprocess
import sys
from importlib import import_module

import pytest

from kafkafs.cli import parser
from kafkafs.cli.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE
from kafkafs.cli.main import main
from kafkafs.cli.parser import COMMANDS
from kafkafs.installation import install_command
from tests.cli.asking import in_process


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_a_module_that_runs_it(command):
    """It is found by its name alone, so nothing else would notice."""
    run = import_module(f"kafkafs.cli.{command}").run
    assert list(inspect.signature(run).parameters) == ["arguments"]
    assert inspect.signature(run).return_annotation is int


def test_what_was_chosen_is_imported_and_no_other_command():
    """`umount` must not wait for Spark, nor fail where pyarrow is missing."""
    program = (
        "import sys; from kafkafs.cli.main import main; assert main(['umount', '/']) == 2;"
        f"print(*(each for each in {COMMANDS!r} if 'kafkafs.cli.' + each in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["umount"]


def test_ctrl_c_before_a_command_is_known_ends_as_any_other(monkeypatch, capsys):
    """Regression: a traceback, later no word at all, where it met the imports of a command."""

    def interrupted(named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(parser, "build", interrupted)
    assert main(["export", "x"]) == EXIT_INTERRUPTED
    assert capsys.readouterr().err == "kafkafs: interrupted\n"


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (["export", "x", "--to", "y"], "kafkafs: interrupted; the same command goes on from here\n"),
        (["audit", "x"], "kafkafs: interrupted\n"),
        (["cat", "x", "y"], ""),
    ],
)
def test_ctrl_c_while_a_command_is_imported_is_reported_as_in_its_midst(words, reported, monkeypatch, capsys):
    """Libraries of Spark take a while."""
    during_import(monkeypatch, KeyboardInterrupt())
    assert main(words) == EXIT_INTERRUPTED
    assert capsys.readouterr().err == reported


def test_a_library_that_a_command_lacks_is_named(monkeypatch, capsys):
    during_import(monkeypatch, ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow"))
    assert main(["export", "x", "--to", "y"]) == EXIT_FAILED
    reported = capsys.readouterr().err
    assert reported.startswith("kafkafs: a library is missing or does not fit: No module named 'pyarrow'; ")
    assert reported.endswith(f"this command takes {install_command('tables')}\n")


@pytest.mark.parametrize("words", [["grep", "x", "data"], ["audit", "data"]])
@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.EMFILE, "Too many open files"), ImportError("x")])
def test_what_fails_is_no_answer(words, error, monkeypatch, capsys):
    """Regression: 1, by which a script learned of a pattern that is not there, or of damage, where memory was short."""
    during_import(monkeypatch, error)
    assert main(words) == EXIT_USAGE
    assert capsys.readouterr().err.startswith("kafkafs: ")


def during_import(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """The error comes while the module that runs the command is imported."""

    def fails(module: str) -> None:
        raise error

    monkeypatch.setattr("kafkafs.cli.main.import_module", fails)


READING = {
    "ls": [], "cat": ["t-0/info.json"], "stat": ["t-0"], "groups": [], "du": [], "triage": [], "audit": [],
    "diff": ["--against", "PLACE"], "reindex": ["--index-dir", "NEW"], "export": ["--to", "NEW"],
    "profile": ["--html", "NEW"], "revive": ["--to", "NEW"],
}  # fmt: skip


@pytest.mark.parametrize("command", [*READING, "grep", "revive --plan"])
def test_what_is_no_data_directory_is_refused_in_one_sentence(command, tmp_path):
    """Regression: `revive` of a mistyped path ended as a bug."""
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    for name, sentence in (("gone", "does not exist; name"), ("file", "is not a directory; "), ("empty", "is not a ")):
        place = str(tmp_path / name)
        after = {"grep": [], "revive --plan": ["--to", "NEW", "--plan"]}
        words = [place, *(READING | after)[command]]
        words = [{"NEW": str(tmp_path / "new"), "PLACE": place}.get(word, word) for word in words]
        done = in_process(command.split()[0], *["x"] * (command == "grep"), *words)
        assert (done.returncode, done.stdout) == (2, ""), (name, done)
        assert done.stderr.startswith(f"kafkafs: {place!r} {sentence}"), done.stderr
        assert done.stderr.count("\n") == 1
