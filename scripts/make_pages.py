"""Makes the man pages and the shell completions of the commands' own parsers, so that all of them say what --help says.

    python scripts/make_pages.py DIRECTORY      writes man1/, man7/, man8/, bash/ and zsh/ there

argparse-manpage and shtab both walk an `ArgumentParser` as it is; no build needs groff or a shell. The build hook runs
this when a wheel is packed.
"""

import argparse
import sys
from pathlib import Path

import shtab
from argparse_manpage.manpage import Manpage

from kafkafs import __version__
from kafkafs.cli import mount_helper, mount_options, parser
from kafkafs.view import manual

COMPLETION = Path(__file__).with_name("completion")
COMPLETED = {  # what stands behind a flag or in a place, by how the help calls it, and the function that completes it
    "OPT[,OPT...]": "_kafkafs_options",
    "PATH": "_kafkafs_paths",
    "TOPIC[,TOPIC...]": "_kafkafs_topics",
    "GROUP": "_kafkafs_groups",
    "DATA_DIR... [GROUP]": "_kafkafs_dirs_or_groups",
}
DIRECTORIES = {"DATA_DIR", "DATA_DIR[,DATA_DIR...]", "MOUNTPOINT", "DIR", "OUT", "D"}
FILES = {"FILE", "FILE[,FILE...]", "F"}
SEE_ALSO = r"kafkafs(1), kafkafs\-queries(7), mount.kafkafs(8), mount(8), fusermount3(1)"


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
    for word in mount_options.WORDS:
        lines += [".TP", rf"\fB{_roff(word.form)}\fR", _roff(word.meaning)]
    if section == 1:
        lines += [line for part in (*manual.SECTIONS, manual.EXIT_CODES) for line in _section(part)]
    lines += [".SH SEE ALSO", SEE_ALSO]
    return "\n".join(lines) + "\n"


def queries_page() -> str:
    """The page about the names in a mount, in section 7."""
    lines = [
        f'.TH KAFKAFS-QUERIES 7 "" "kafkafs {__version__}" "kafkafs"',
        ".SH NAME",
        r"kafkafs\-queries \- names of files in a kafkafs mount, which are queries",
    ]
    for section in manual.SECTIONS:
        lines += _section(section)
    lines += [".SH SEE ALSO", SEE_ALSO]
    return "\n".join(lines) + "\n"


def _section(section: manual.Section) -> list[str]:
    lines = [f".SH {section.title.upper()}"]
    if section.text:
        lines.append(_roff(section.text))
    for term, meaning in section.rows:
        lines += [".TP", rf"\fB{_roff(term)}\fR", _roff(meaning)]
    return lines


def completion(command: argparse.ArgumentParser, shell: str) -> str:
    """The script that completes commands, options, directories, files, and names of a data directory in that shell."""
    _mark(command)
    words = mount_options.completions()
    if shell == "zsh":
        words = [f"'{word}'" for word in _zsh_values(words)]
    names, ours = _shell("names.sh"), _shell(f"kafkafs.{shell}").replace("@OPTIONS@", " ".join(words))
    made = str(shtab.complete(command, shell=shell, preamble={shell: names + ours}))
    return made + _shell("after.bash") if shell == "bash" else made


def _shell(name: str) -> str:
    return (COMPLETION / name).read_text()


def _zsh_values(words: list[str]) -> list[str]:
    """As `_values` takes them: each name once, with all of its values."""
    values: dict[str, list[str]] = {}
    for name, _, value in (word.partition("=") for word in words):
        values.setdefault(name, []).append(value)
    return [
        name if not any(found) and f"{name}=" not in words else f"{name}:value:({' '.join(found)})"
        for name, found in values.items()
    ]


def _mark(command: argparse.ArgumentParser) -> None:
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _mark(below)
        elif action.metavar in COMPLETED:
            action.complete = dict.fromkeys(("bash", "zsh"), COMPLETED[action.metavar])
        elif action.metavar in DIRECTORIES | FILES:
            action.complete = shtab.DIRECTORY if action.metavar in DIRECTORIES else shtab.FILE


def _roff(text: str) -> str:
    """Text that begins no request and means no character but its own."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped


def main() -> None:
    out = Path(sys.argv[1])
    pages = {
        "man1/kafkafs.1": man_page(parser.build(), 1, "mount a Kafka data directory and read its log"),
        "man7/kafkafs-queries.7": queries_page(),
        "man8/mount.kafkafs.8": man_page(mount_helper.build(), 8, "mount a Kafka data directory, for mount(8)"),
        "bash/kafkafs": completion(parser.build(), "bash"),
        "zsh/_kafkafs": completion(parser.build(), "zsh"),
    }
    for name, text in pages.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text)


if __name__ == "__main__":
    main()
