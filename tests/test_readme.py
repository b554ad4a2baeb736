"""The README is the front door: every example in it is run here, on the bundled sample, and prints what it says."""

import re

from tests.pages import ROOT, Session, blocks, fits, steps

README = ROOT / "README.md"
QUESTIONS = re.findall(r"^\| [^|]+\? \| `(.*)` \|$", README.read_text(), re.M)


def test_an_example_prints_what_the_readme_says(session: Session) -> None:
    """A newcomer types it in and compares."""
    for command, output in steps(README):
        printed = session.run(command)
        assert printed.split() == output.split() if command == "ls" else fits(printed, output), (command, printed)


def test_each_question_has_an_answer(session: Session) -> None:
    """On the sample each of them finds something."""
    assert len(QUESTIONS) >= 8
    session.run("kafkafs mount /var/kafka-logs /mnt/kafka --background")
    session.run("cd /mnt/kafka")
    for command in QUESTIONS:
        asked = command.replace(r"\|", "|")
        printed, _, codes = session.run(f"{asked}; echo exit codes ${{PIPESTATUS[*]}}", 120).rpartition("exit codes ")
        assert {*codes.split()} == {"0"}, (asked, codes, printed)
        assert printed.strip(), asked


def test_its_first_commands_are_those_of_the_demo_and_of_the_build_server() -> None:
    """A newcomer needs two: one shows what it does, one shows that it works here. Each installs what it needs."""
    commands = [line.split("  #")[0].strip() for line in blocks(README, "sh")[0].splitlines()]
    assert commands == ["scripts/demo", "scripts/test"]
    for command in commands:
        assert (ROOT / command).stat().st_mode & 0o111
        assert re.search(r"^ *scripts/setup\b", (ROOT / command).read_text(), re.M), command
    assert re.search(r"\bscripts/test\b", (ROOT / ".ci/run").read_text().split("exec", 1)[1])


def test_what_it_installs_is_installed_elsewhere() -> None:
    """`tests/packaging/test_install.py` installs a checkout with these extras."""
    assert "`pip install '.[mount,spark]'`" in README.read_text()


def test_the_readme_stays_a_front_door() -> None:
    """More, and nobody reads it: it is read from the top, and ends before they are tired."""
    lines = README.read_text().splitlines()
    assert len(lines) <= 120
    assert lines.index("## On the worst day") < 10
    assert lines.index("## Begin") < 35


def test_its_pictures_are_there() -> None:
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", README.read_text())
    assert pictures
    for picture in pictures:
        data = (README.parent / picture).read_bytes()
        assert len(data) < 300_000
        assert b"https:" not in data.replace(b"https://www.textualize.io", b"")  # the maker's note; nothing is fetched
