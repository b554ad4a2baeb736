"""For each partition: the directories that count, and the sentences about directories that a broker has set aside.

Directories that are marked count if `--include` names them. Else a sentence names each of them, with its records: that
no disk has the partition would be false.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence

from kafkafs.cluster.image import PartitionState
from kafkafs.errors import UsageError
from kafkafs.log.replicas import of_one_broker
from kafkafs.revive.claims import Claim, contents
from kafkafs.revive.other_replicas import Replica
from kafkafs.revive.replica_choice import RankedReplica, choose
from kafkafs.revive.whole_image import WholeImage


class SetAside:
    """The directories of one topic. `marks`: of those that count; "" is none."""

    def __init__(self, claims: Sequence[Claim], marks: Collection[str]) -> None:
        self._counting = defaultdict[int, list[Claim]](list)
        self._aside = defaultdict[int, list[Claim]](list)
        for each in sorted(claims, key=lambda each: each.mark != ""):  # among equals, the one in use counts
            (self._counting if each.mark in marks else self._aside)[each.number].append(each)

    @property
    def numbers(self) -> Collection[int]:
        """The partitions that a directory counts for."""
        return self._counting.keys()

    def choose(self, name: str, number: int, state: PartitionState | None) -> tuple[Replica | None, list[str]]:
        """The replica that counts, and what there is to tell of all others; None if none does."""
        claims = self._counting.get(number)
        if claims is None:
            return None, []
        in_use = [each for each in claims if not each.mark and not each.directory.is_lost(each.name)]
        _refuse_twins(name, in_use)
        replica, sentences = choose(
            name, [each.replica() for each in claims], state, has_aside=bool(self._aside[number])
        )
        chosen = next(each for each in claims if each.partition() is replica.partition)
        if replica.tier and not in_use:
            end = replica.partition.log().end_offset
            sentences.append(f"{name}: no disk has a replica, and the tier ends at offset {end}")
        if chosen.mark:
            sentences.append(f"{name} is revived from {chosen.place} ({contents([chosen])}): {chosen.act}")
        for each in self._aside[number]:
            if each.mark != "future" or RankedReplica(each.replica()).missing_from(RankedReplica(replica)):
                sentences.append(_left_out(each, name))
        return replica, sentences

    def beside(self, name: str, number: int, without: str) -> list[str]:
        """Sentences about directories of a partition that none counts for. `without` says what the partition is."""
        aside = (_left_out(each, name) for each in self._aside[number])
        return [f"{name}: {sentence}, without it the partition {without}" for sentence in aside]

    def beyond(self, topic: str, count: int) -> list[str]:
        """Sentences about directories of partitions that the topic does not have."""
        numbers = (number for number in sorted(self._aside) if number >= count)
        return [_left_out(each, f"{topic}-{number}") for number in numbers for each in self._aside[number]]


def _refuse_twins(name: str, claims: Sequence[Claim]) -> None:
    """UsageError if two directories are of one broker. It was moving the partition from one of its disks to another
    while the disks were copied, and nothing shows which of the two is current."""
    twins = of_one_broker([each.directory for each in claims])
    if twins is not None:
        one, other = (next(each for each in claims if each.directory is directory) for directory in twins)
        raise UsageError(
            f"{name} is both in {one.place} ({contents([one])}) and in {other.place} ({contents([other])}), on disks of"
            " one broker; give the one that is not current another name in a copy of its disk"
        )


def _left_out(claim: Claim, name: str) -> str:
    """The sentence about a directory of a known topic. `name`: the directory of its partition, if it were in use."""
    id_of_topic = "and the id of its topic is unknown"
    if claim.topic_id is not None:
        id_of_topic = f"though its topic id is that of {claim.topic}"
    return claim.left_out(f"{claim.act}, {id_of_topic}; {_way(claim, name)}")


def _way(claim: Claim, name: str) -> str:
    if claim.option is None:
        return f"named {name} in a copy of that disk it counts"
    return f"{claim.option} lets it count"


def of_unknown_topic(
    claims: Sequence[Claim], image: WholeImage | None, marks: Collection[str], sentences: list[str]
) -> list[Claim]:
    """The claims of a topic that the metadata do not know, without the claims of a deleted topic. If no directory
    counts, none is returned."""
    gone = [each for each in claims if image and each.topic_id in image.removed]
    in_use = [each for each in gone if not each.mark]
    if in_use:
        summary = contents(in_use)
        sentences.append(f"{in_use[0].topic}: its directories are left out ({summary}), the topic was deleted")
    sentences += [each.left_out(f"its topic was deleted{_way_back(each)}") for each in gone if each.mark]
    left = [each for each in claims if each not in gone]
    if any(each.mark in marks for each in left):
        return left
    known = "the metadata do not know its topic" if image else "no directory in use is of its topic"
    sentences += [
        each.left_out(f"{each.act}, and {known}; {_way(each, f'{each.topic}-{each.number}')}") for each in left
    ]
    return []


def _way_back(claim: Claim) -> str:
    if claim.option is None:
        return ""
    return f"; to bring it back, use {claim.option} and --until a moment before the deletion (if the metadata have it)"
