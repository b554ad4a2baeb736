"""`--topics` and `--topic-pattern`, of all commands that look at some topics of a data directory."""

import argparse


def add_topics(parser: argparse._ActionsContainer, default: str = "all") -> None:
    """Both, `log.topics` says what they mean; `default` is told in the help."""
    parser.add_argument(
        "--topics", "--topic", action="append", default=[], metavar="TOPIC[,TOPIC...]",
        help=f"these topics (default: {default})",
    )  # fmt: skip
    parser.add_argument("--topic-pattern", metavar="REGEX", help="topics whose whole name it matches: 'orders.*'")
