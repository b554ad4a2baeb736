"""`python -m kafkafs` is the command, for who has no script of it on the PATH: a Spark driver, `pip install --user`."""

import sys

from tests.mounting import KAFKAFS, run


def test_it_is_the_command_with_its_output_and_exit_code():
    """Of the help, of a version, and of what was mistyped."""
    for words in (["--help"], ["-v"], ["help", "cat"]):
        assert run(sys.executable, "-m", "kafkafs", *words).stdout == run(KAFKAFS, *words).stdout
    mistyped = run(sys.executable, "-m", "kafkafs", "mont", check=False)
    assert mistyped.returncode == 2
    assert mistyped.stderr.endswith(b"there is no command 'mont'; did you mean mount?\n")
