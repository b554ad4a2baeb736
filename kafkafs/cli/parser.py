"""The one tree of commands and arguments: what `--help`, the man page and shell completions are made from.

`add_<name>(commands)`, in one of four modules of arguments, hangs the parser of a command into the tree, and
`<name>.py` has `run(arguments) -> exit code`. The modules of arguments are enough for the tree. They import nothing
that may be missing. `main` imports `<name>.py`, with all that is heavy (pyfuse3, pyarrow, Spark; numpy comes with the
options), once it was chosen. `set_defaults(interrupted=...)` is the sentence after Ctrl-C; without it there is none.
`failed=...` is the exit code for an error, if the usual one is an answer of the command.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, NoReturn, TypeAlias

import kafkafs
from kafkafs.errors import EMPTY_NAME, did_you_mean

Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # this class is generic for type checkers only

COMMANDS = {
    "mount": "mount", "umount": "quick", "ls": "quick", "cat": "quick", "stat": "quick", "grep": "quick",
    "dump": "dump", "groups": "quick", "du": "quick", "triage": "quick", "audit": "job", "diff": "job",
    "reindex": "job", "export": "job", "profile": "job", "revive": "job", "demo": "quick", "help": "quick",
}  # fmt: skip
"""Each is a module beside this one, and has its arguments in one of those: `mount` in `mount_arguments.py`."""

ALIASES = {"unmount": "umount"}
"""Other words for a command, for the hand that types them."""

INSTEAD = {
    "head": "`kafkafs cat DATA_DIR TOPIC-0/by-offset/earliest...jsonl | head` for the first records",
    "tail": "`kafkafs cat DATA_DIR TOPIC-0/by-offset/-10...jsonl` for the last 10 offsets, or"
    " `kafkafs cat DATA_DIR TOPIC-0/by-offset/latest...follow.jsonl` to follow the log",
    "less": "`kafkafs cat DATA_DIR TOPIC-0/by-offset/0...jsonl | less`",
    "find": "`kafkafs ls -R DATA_DIR` for names, or `kafkafs grep PATTERN DATA_DIR` for records",
}
"""Words that people type as commands, and what to type for them."""

FLAGS = {"version": "--version"}
"""Flags that people type as commands."""

_EXAMPLES = (
    "kafkafs triage /var/kafka-logs",
    "kafkafs grep -F customer-17 /var/kafka-logs",
    "kafkafs cat /var/kafka-logs test-0/by-offset/latest.jsonl",
)
_PAGES = """pages:
  kafkafs COMMAND --help                        one command
  man kafkafs                                   all commands
  kafkafs cat DATA_DIR .kafkafs/README          names below a mount point
  docs/recipes.md, docs/queries.md              in the source: by question, by name"""

_MAY_BE_EMPTY = ("pattern", "header", "group", "options")
"""Arguments for which an empty word means something."""

TIME_BACK = "-[0-9]+[smhd]?"
"""A time back from now, as in `--from-time -1h`."""


class VersionAction(argparse._VersionAction):
    """Finds the version out only where it is asked for."""

    def __call__(self, *asked: Any, **more: Any) -> None:
        self.version = f"kafkafs {kafkafs.__version__}"
        super().__call__(*asked, **more)


class Formatter(argparse.HelpFormatter):
    """Fills paragraphs, and leaves alone what has indented lines, such as examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n  " in text else super()._fill_text(text, width, indent)


class Parser(argparse.ArgumentParser):
    """Answers what it does not know with what is nearest, and with the usage of the command that was meant."""

    def __init__(self, *, examples: Sequence[str] = (), formatter_class: Any = Formatter, **more: Any) -> None:
        """`examples` end the help, a command a line."""
        super().__init__(formatter_class=formatter_class, **more)
        self.spread: str | None = None  # the list of arguments whose words may be between options, too
        if examples:
            shown = "\n".join(["examples:", *(f"  {example}" for example in examples)])
            self.epilog = "\n\n".join(filter(None, [self.epilog, shown]))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does, but what is left over is this command's own error and not the caller's.

        `-h` alone is a call for help, also where it would mean something else beside other words (`ls -lh`).
        """
        words = sys.argv[1:] if args is None else list(args)
        self._check_first_option(words)
        parsed, left = super().parse_known_args(["--help"] if words == ["-h"] else words, namespace)
        if self.spread is not None:
            getattr(parsed, self.spread).extend(word for word in left if not self._looks_like_option(word))
            left = [word for word in left if self._looks_like_option(word)]
        if left and self._looks_like_option(left[0]):
            self._refuse_option(left[0])
        if left:
            self.error(f"too many arguments: {' '.join(left)}")
        return parsed, left

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """As argparse does, but an empty word is an error: it comes from a variable that was never set, and Path would
        take it for the current directory."""
        if (
            "" in arg_strings
            and action.dest not in _MAY_BE_EMPTY
            and not isinstance(action, argparse._SubParsersAction)
        ):
            raise argparse.ArgumentError(action, EMPTY_NAME)
        return super()._get_values(action, arg_strings)

    def _check_first_option(self, words: Sequence[str]) -> None:
        """Name an unknown option in place of a command, before argparse asks for the command."""
        has_commands = any(isinstance(action, argparse._SubParsersAction) for action in self._actions)
        name = words[0].partition("=")[0] if words else ""
        begun = name if name.startswith("--") else name[:2]
        if (
            has_commands
            and begun.startswith("-")
            and not any(known.startswith(begun) for known in self._option_string_actions)
        ):
            self._refuse_option(words[0], "; the options of a command come behind the command")

    def _refuse_option(self, word: str, otherwise: str = "") -> NoReturn:
        self.error(f"there is no option {word}{self._nearest(word, self._option_string_actions) or otherwise}")

    def _print_message(self, message: str, file: Any = None) -> None:
        """As argparse does, but what cannot be written is no success."""
        (file or sys.stderr).write(message)

    def _looks_like_option(self, word: str) -> bool:
        return word.startswith("-") and not self._negative_number_matcher.match(word)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            if isinstance(action, argparse._SubParsersAction) and value in INSTEAD:
                raise argparse.ArgumentError(None, f"there is no command {value!r}; type {INSTEAD[value]}")
            known = [str(choice) for choice in action.choices]
            nearest = self._nearest(str(value), known)
            if isinstance(action, argparse._SubParsersAction):
                instead = nearest or f"; the commands are {', '.join(known)}"
                raise argparse.ArgumentError(None, f"there is no command {value!r}{instead}")
            instead = nearest or f"; choose from {', '.join(known)}"
            raise argparse.ArgumentError(action, f"{value!r} is not a choice{instead}")

    @staticmethod
    def _nearest(word: str, known: Iterable[str]) -> str:
        return did_you_mean(word.partition("=")[0], known)


def whole_number(word: str) -> int:
    """A `type` of arguments, whose error is in plain words."""
    try:
        return int(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number") from None


def take_for_values(parser: argparse.ArgumentParser, pattern: str) -> None:
    """Take words that begin like this for values, though they begin with a dash: argparse by itself lets only numbers
    be."""
    parser._negative_number_matcher = re.compile(pattern)


def add_topics(parser: argparse._ActionsContainer, default: str = "all") -> None:
    """`--topics` and `--topic-pattern`: `log.topic_choice` defines them; the help shows `default`."""
    parser.add_argument(
        "--topics", "--topic", action="append", default=[], metavar="TOPIC[,TOPIC...]",
        help=f"these topics (default: {default})",
    )  # fmt: skip
    parser.add_argument("--topic-pattern", metavar="REGEX", help="topics whose whole name it matches: 'orders.*'")


def add_options(parser: argparse._ActionsContainer, meaning: str) -> None:
    """`-o`, whose words `mount_options` has; `meaning` is its help."""
    parser.add_argument("-o", dest="options", metavar="OPT[,OPT...]", action="append", default=[], help=meaning)


def add_tiered_key(parser: argparse.ArgumentParser) -> None:
    """`--tiered-key`, of commands that read remote segments, too."""
    parser.add_argument(
        "--tiered-key", action="append", default=[], metavar="ID:FILE",
        help="a private key (PEM) that Aiven's plug-in encrypted segments for",
    )  # fmt: skip


def build(names: Iterable[str] = COMMANDS) -> argparse.ArgumentParser:
    """The tree, or only the branches of some commands: importing all of them takes longer than many a command.

    The parsed namespace's `module` names the module whose `run` it is for.
    """
    parser = Parser(
        prog="kafkafs",
        description="Mount a Kafka data directory and read its log with ls, cat, grep and jq. Nothing is changed.",
        examples=_EXAMPLES,
        epilog=_PAGES,
    )
    parser.add_argument("-v", "-V", "--version", action=VersionAction)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in names:
        getattr(import_module(f"kafkafs.cli.{COMMANDS[name]}_arguments"), f"add_{name}")(commands)
        commands.choices[name].set_defaults(module=f"kafkafs.cli.{name}")
    return parser
