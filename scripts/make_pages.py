"""Makes the man pages and the shell completions of the commands' own parsers, so that all of them say what --help says.

    python scripts/make_pages.py DIRECTORY      writes man1/, man8/, bash/ and zsh/ there

argparse-manpage and shtab both walk an `ArgumentParser` as it is; no build needs groff or a shell. The build hook runs
this when a wheel is packed.
"""

import argparse
import sys
from pathlib import Path

import shtab
from argparse_manpage.manpage import Manpage

from kafkafs import __version__
from kafkafs.cli import mount_helper, options, parser

DIRECTORIES = {"DATA_DIR", "MOUNTPOINT", "DIR", "OUT", "D"}
FILES = {"FILE", "FILE[,FILE...]", "F"}


def man_page(command: argparse.ArgumentParser, section: int, purpose: str) -> str:
    """The page in roff, with the options of -o as a section of their own."""
    facts = {
        "description": purpose,
        "project_name": "kafkafs",
        "version": __version__,
        "manual_title": "kafkafs",
        "manual_section": section,
    }
    lines = [str(Manpage(command, _data=facts)), ".SH MOUNT OPTIONS"]
    for word in options.WORDS:
        lines += [".TP", rf"\fB{_roff(word.form)}\fR", _roff(word.meaning)]
    lines += [".SH SEE ALSO", r"kafkafs(1), mount.kafkafs(8), mount(8), fusermount3(1)"]
    return "\n".join(lines) + "\n"


def completion(command: argparse.ArgumentParser, shell: str) -> str:
    """The script that completes commands, options, directories and files in that shell."""
    _mark_paths(command)
    return str(shtab.complete(command, shell=shell))


def _mark_paths(command: argparse.ArgumentParser) -> None:
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _mark_paths(below)
        elif action.metavar in DIRECTORIES | FILES:
            action.complete = shtab.DIRECTORY if action.metavar in DIRECTORIES else shtab.FILE


def _roff(text: str) -> str:
    return text.replace("\\", r"\e").replace("-", r"\-")


def main() -> None:
    out = Path(sys.argv[1])
    pages = {
        "man1/kafkafs.1": man_page(parser.build(), 1, "mount a Kafka data directory and read its log"),
        "man8/mount.kafkafs.8": man_page(mount_helper.build(), 8, "mount a Kafka data directory, for mount(8)"),
        "bash/kafkafs": completion(parser.build(), "bash"),
        "zsh/_kafkafs": completion(parser.build(), "zsh"),
    }
    for name, text in pages.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text)


if __name__ == "__main__":
    main()
