"""`kafkafs triage`: the first minute after an outage, on one screen."""

import argparse
import shlex
from collections.abc import Iterator, Sequence

from kafkafs.cli.du import day_and_time, length, opened
from kafkafs.cli.exit_codes import EXIT_FAILED, EXIT_USAGE, say
from kafkafs.cli.tables import human, json_line
from kafkafs.disk.whereabouts import each_once
from kafkafs.errors import printable
from kafkafs.overview.triage import Triage, triage

WIDTH = 100
_SHOWN = 2
_SAID = 8
"""Problems that are said beside the screen."""
_LONG = 40
"""Characters of a name, and of data directories that every command names."""
_INDENT = " " * 14


def run(arguments: argparse.Namespace) -> int:
    """Prints what was found: 0 if nothing is wrong, 1 if something is, 2 if something could not be read."""
    found = triage(opened(arguments.data_dirs))
    for problem in found.problems[:_SAID]:
        say(problem)
    if len(found.problems) > _SAID:
        say(f"{len(found.problems) - _SAID} more problems; --json names all")
    if arguments.json:
        print(json_line(found.as_json()))
    else:
        print(*lines(found, each_once(arguments.data_dirs)), sep="\n")
    if found.problems:
        return EXIT_USAGE
    return EXIT_FAILED if found.damage or found.missing else 0


def _cut(line: str) -> str:
    line = printable(line)
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}..."


def lines(found: Triage, words: Sequence[str]) -> Iterator[str]:
    """The screen: for each subject the facts, the unusual ones, and the command that shows more."""
    place, first = shlex.join(words), shlex.quote(",".join(words))
    is_plain = place == " ".join(words)
    if len(first) > _LONG and len(words) == 1:
        yield f"D={place}"
        place = first = "$D" if is_plain else '"$D"'
    elif len(first) > _LONG and is_plain:
        yield f"D={shlex.quote(place)} C={first}"
        place, first = "$D", "$C"
    state = f"kafkafs cat {first} .cluster/state.json"  # used if there is nothing else to show
    has_logs = found.partitions or found.has_metadata
    for subject, texts, more in (
        ("CLUSTER", _cluster(found), state),
        ("TOPICS", _topics(found), f"kafkafs cat {first} '.topics/*/info.json'" if found.topics else state),
        ("NEWEST", _newest(found), f"kafkafs cat {first} '*/by-time/end-1m...jsonl'" if has_logs else state),
        ("DAMAGE", _some(found.damage, "nothing that names, sizes, indexes' ends and checkpoints show"),
         f"kafkafs audit {place}"),
        ("GROUPS", _groups(found), f"kafkafs groups {place}" if found.groups is not None else state),
        ("TRANSACTIONS", _transactions(found), f"kafkafs cat {first} .cluster/open-transactions.jsonl"),
        ("TIER", _tier(found), f"kafkafs cat {first} .cluster/configs.jsonl" if found.has_metadata else state),
        ("DISK", _disk(found), f"kafkafs du {place}"),
    ):  # fmt: skip
        head, *rest = texts
        yield _cut(f"{subject:13} {head}")
        yield from (_cut(_INDENT + line) for line in rest)
        yield f"{_INDENT}> {more}"


def _cluster(found: Triage) -> list[str]:
    brokers = f"broker {', '.join(map(str, found.brokers))}" if found.brokers else "an unknown broker"
    others = f" of {', '.join(map(str, found.registered))}" if len(found.registered) > len(found.brokers) else ""
    stop = "stopped cleanly" if all(found.clean) else "not stopped cleanly, or still running"
    sentences = [f"{found.cluster_id or 'unknown cluster'}, {brokers}{others}: {stop}"]
    if found.metadata_ms is not None:
        sentences.append(f"the metadata are of {day_and_time(found.metadata_ms)}")
    return sentences


def _topics(found: Triage) -> list[str]:
    none = "none is missing" if found.has_metadata else "unknown if any is missing: no metadata are here"
    return [f"{found.topics} topics, {found.partitions} partitions here", *_some(found.missing, none)]


def _some(sentences: Sequence[str], none: str) -> list[str]:
    """The first sentences, and how many more there are."""
    if not sentences:
        return [none]
    more = [f"... and {len(sentences) - _SHOWN} more"] if len(sentences) > _SHOWN else []
    return [*sentences[:_SHOWN], *more]


def _newest(found: Triage) -> list[str]:
    if found.newest_ms is None:
        sentences = ["no record with a time"]
    else:
        sentences = [f"{day_and_time(found.newest_ms)} in {found.newest_partition}"]
    if found.future:
        sentences.append(f"{found.future} partitions have timestamps in the future, which retention waits for")
    return sentences


def _groups(found: Triage) -> list[str]:
    if found.groups is None:
        return ["unknown: no partition of __consumer_offsets is here"]
    named = [
        f"{_short(each.group)} by {each.lag} records" + ("" if each.lag_ms is None else f", {length(each.lag_ms)}")
        for each in found.behind[:3]
    ]
    return [f"{found.groups} groups" + (", furthest behind:" if named else ", none is behind"), *named]


def _short(name: str) -> str:
    """A name of which enough is shown; what is behind it in the line counts."""
    return name if len(name) <= _LONG else f"{name[: _LONG - 3]}..."


def _transactions(found: Triage) -> list[str]:
    if found.open_transactions is None:
        return ["unknown: no partition of __transaction_state is here"]
    if found.oldest_open is None:
        return ["none is open"]
    name, start_ms = found.oldest_open
    since = "" if start_ms is None else f", since {day_and_time(start_ms)}"
    return [f"{found.open_transactions} open, the oldest of {_short(name)}{since}"]


def _tier(found: Triage) -> list[str]:
    if found.tiered is None:
        return ["unknown: no metadata are here"]
    if not found.tiered:
        return ["no topic is tiered"]
    return [f"{found.tiered} topics are tiered; {found.in_tier} partitions begin in the tier"]


def _disk(found: Triage) -> list[str]:
    total = found.total
    head = f"{human(total['bytes'])} in logs and leftovers, of which {human(total['deletable'])} will be deleted"
    if found.free is not None and found.capacity:
        head = f"{human(found.free)} of {human(found.capacity)} are free; {head}"
    largest = ", ".join(f"{row['topic']} {human(row['bytes'])}" for row in found.largest[:4])
    return [head, *([f"largest: {largest}"] if largest else []), f"leftovers: {human(found.leftovers)}"]
