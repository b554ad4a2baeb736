"""`kafkafs revive`: a directory from which a real Kafka starts again. `kafkafs/revive` does the work."""

import argparse
import json
import re
import shlex

from kafkafs.cli.exit_codes import say
from kafkafs.cli.status_line import StatusLine
from kafkafs.cli.window import moment
from kafkafs.disk.data_paths import data_path, local_place
from kafkafs.errors import UsageError, printable
from kafkafs.format.names import LARGEST_NODE
from kafkafs.log.read_options import TierSource
from kafkafs.log.topic_choice import TopicChoice
from kafkafs.revive.claims import MARKS
from kafkafs.revive.job import planned, revive
from kafkafs.revive.plan import Choices
from kafkafs.revive.settings import OFF, SERVER_PROPERTIES

_EVERYWHERE = ("0.0.0.0", "::", "[::]")
_HOST = re.compile(r"[\w.-]+|\[?[0-9a-f.]*:[0-9a-f.]*:[0-9a-f:.]*(%[\w.-]+)?\]?", re.ASCII | re.IGNORECASE)
"""A name or an address, one of IPv6 in brackets or without, as Kafka takes both."""
_LARGEST_PORT = 65534  # the controller's is one further


def run(arguments: argparse.Namespace) -> int:
    """Writes it, says what is not as it was, and prints the one command that starts it."""
    choices, paths = _choices(arguments), [data_path(path) for path in arguments.data_dirs]
    line = StatusLine()
    try:
        if arguments.plan:
            report = planned(paths, choices, lambda done, size: line.show("revive", done, size))
            line.clear()
            print(json.dumps(report, indent=2, ensure_ascii=False))
            return 0
        report = revive(paths, choices, lambda done, size: line.show("revive", done, size))
    finally:
        line.clear()
    for sentence in (*report["problems"], *report["leftOut"]):
        say(sentence)
    for name in report["madeAgain"]:
        say(f"{name} was made again: the disks have changed since the command that was interrupted")
    for each in report["revived"]:
        where = f"{each['topic']}-{each['partition']}"
        for loss in each.get("losses", ()):
            say(f"{where}: offsets {loss['first']} to {loss['last']}: {loss['reason']}")
        for end in each.get("endedTransactions", ()):
            outcome = f"{'aborted' if end['aborted'] else 'committed'} at offset {end['offset']}"
            say(f"{where}: a transaction of producer {end['producerId']} has no end there, and is {outcome}")
        for group in each.get("endedGroups", ()):
            say(f"{where}: the record that members left the group {printable(group)} was lost, and is written again")
    if choices.method == "link":
        say("logs are hard links: what changes their bytes, owner or mode in one directory changes the other's")
    records, partitions = sum(each.get("records", 0) for each in report["revived"]), report["partitions"]
    print(
        f"{records:,} records in {partitions:,} partitions of {report['topics']:,} topics, for Kafka {report['kafka']}"
    )
    print(f"start it: kafka-server-start.sh {shlex.quote(printable(str(choices.to.absolute() / SERVER_PROPERTIES)))}")
    print(f"off until you take their lines out there: {', '.join(OFF)}")
    return 0


def _choices(arguments: argparse.Namespace) -> Choices:
    host, colon, port = arguments.listen.rpartition(":")
    if not (colon and port.isascii() and port.isdigit() and 0 < int(port) <= _LARGEST_PORT):
        raise UsageError(f"--listen {arguments.listen!r} is not HOST:PORT with a port from 1 to {_LARGEST_PORT}")
    if host in _EVERYWHERE or not _HOST.fullmatch(host):
        raise UsageError(f"--listen {arguments.listen!r} has no address that a client could connect to")
    if arguments.node_id is not None and not 0 <= arguments.node_id <= LARGEST_NODE:
        raise UsageError(f"--node-id {arguments.node_id} is not from 0 to {LARGEST_NODE}")
    topics = sorted(TopicChoice.parse(arguments.topics, None).names)
    words = (word.strip() for word in ",".join(arguments.include or ()).split(","))
    include = tuple(sorted({*filter(None, words)}))
    if unknown := [word for word in include if word not in MARKS]:
        raise UsageError(f"--include {unknown[0]!r} is not one of {', '.join(MARKS)}")
    return Choices(
        to=local_place(arguments.to, "the new directory"),
        node_id=arguments.node_id, topics=tuple(topics) or None, kafka=arguments.kafka,
        until_ms=moment("--until", arguments.until), corrupt=arguments.corrupt, host=host, port=int(port),
        method=arguments.method, tiered=TierSource.parse(arguments.tiered, arguments.tiered_key),
        include=include,
        retention=arguments.retention,
    )  # fmt: skip
