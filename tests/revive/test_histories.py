"""The choice of a replica against a naive model: random histories of a partition whose brokers fail and return, are
elected cleanly and uncleanly, and lose their newest metadata. Each record that the chosen replica lacks is told.
"""

import os
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

from kafkafs.format.batch import batch_bytes
from kafkafs.format.checkpoints import LeaderEpoch, leader_epochs_bytes, partition_metadata_bytes
from kafkafs.format.names import LEADER_EPOCHS, PARTITION_METADATA, segment_file
from kafkafs.log.data_directory import DataDirectory, open_data_directory
from kafkafs.revive.topics import made_up_id
from tests.revive.replicas import START_MS
from tests.revive.test_brokers import WHOLE
from tests.revive.test_topics import chosen, image

ONE = made_up_id("one")
FIRST = int(os.environ.get("KAFKAFS_SEED", "200000"))
COUNT = 1500 if WHOLE else 12


class Batch(NamedTuple):
    """So many records of one leader epoch."""

    base: int
    size: int
    epoch: int

    @property
    def end(self) -> int:
        return self.base + self.size


@dataclass
class Copy:
    """A broker's log, and the epochs that the broker has recorded."""

    log: list[Batch] = field(default_factory=list)
    epochs: list[LeaderEpoch] = field(default_factory=list)
    is_alive: bool = True

    @property
    def end(self) -> int:
        return self.log[-1].end if self.log else 0

    def note(self, epoch: int) -> None:
        """The broker leads from here on, or gets a batch of another leader."""
        if not self.epochs or self.epochs[-1].epoch != epoch:
            self.epochs = [each for each in self.epochs if each.start_offset < self.end] + [
                LeaderEpoch(epoch, self.end)
            ]

    def append(self, batch: Batch) -> None:
        self.note(batch.epoch)
        self.log.append(batch)

    def follow(self, leader: "Copy") -> None:
        """Cut off what the leader does not have, and take the rest."""
        same = next((n for n, pair in enumerate(zip(self.log, leader.log)) if pair[0] != pair[1]),  # noqa: B905
                    min(len(self.log), len(leader.log)))  # fmt: skip
        self.log = self.log[:same]
        self.epochs = [each for each in self.epochs if each.start_offset < self.end]
        for batch in leader.log[same:]:
            self.append(batch)

    def records(self) -> dict[int, int]:
        """The leader epoch of each offset, which makes a record of it: an epoch has one leader."""
        return {offset: each.epoch for each in self.log for offset in range(each.base, each.end)}


class History:
    """`states`: the replicas in sync, the leader and its epoch, whenever the metadata have changed."""

    def __init__(self, choices: random.Random) -> None:
        self.choices = choices
        self.copies = {number: Copy() for number in range(1, choices.choice((2, 3, 3, 4)) + 1)}
        self.epoch, self.states = -1, list[tuple[set[int], int, int]]()
        self.elect(1, {*self.copies})
        for _ in range(choices.randrange(2, 16)):
            choices.choice((self.write, self.write, self.fail, self.come_back, self.elect_uncleanly))()

    def elect(self, number: int, in_sync: set[int]) -> None:
        self.epoch += self.choices.randrange(1, 3)
        self.leader, self.in_sync = number, in_sync
        self.copies[number].note(self.epoch)
        self.record()

    def record(self) -> None:
        self.states.append(({*self.in_sync}, self.epoch, self.leader))

    def write(self) -> None:
        """Some of it is not replicated yet when the next thing happens."""
        leader = self.copies[self.leader]
        if not leader.is_alive:
            return
        for is_replicated in (True, self.choices.random() < 0.5):
            leader.append(Batch(leader.end, self.choices.choice((1, 3, 10, 25)), self.epoch))
            for each in self.in_sync - {self.leader} if is_replicated else ():
                self.copies[each].follow(leader)

    def fail(self) -> None:
        alive = [number for number, each in self.copies.items() if each.is_alive]
        if not alive:
            return
        number = self.leader if self.leader in alive and self.choices.random() < 0.7 else self.choices.choice(alive)
        self.copies[number].is_alive = False
        rest = {each for each in self.in_sync - {number} if self.copies[each].is_alive}
        if rest:
            self.in_sync = rest
            if number == self.leader:
                self.elect(min(rest), rest)
            self.record()

    def come_back(self) -> None:
        for number, each in self.copies.items():
            if not each.is_alive and self.choices.random() < 0.5:
                each.is_alive = True
                if number != self.leader and self.copies[self.leader].is_alive:
                    each.follow(self.copies[self.leader])
                    self.in_sync.add(number)
                self.record()

    def elect_uncleanly(self) -> None:
        """Nobody in sync is there."""
        for each in self.copies.values():
            each.is_alive = False
        number = self.choices.choice([*self.copies])
        self.copies[number].is_alive = True
        self.elect(number, {number})


def write(path: Path, node: int, copy: Copy, has_notes: bool) -> DataDirectory:
    place = path / "t-0"
    place.mkdir(parents=True)
    (path / "meta.properties").write_text(f"version=1\nnode.id={node}\ncluster.id=uBxTSvaETEx3i2U_wtBtcQ\n")
    log = (
        batch_bytes([(None, b"v")] * each.size, each.base, timestamp=START_MS + each.base, leader_epoch=each.epoch)
        for each in copy.log
    )
    (place / segment_file(0, "log")).write_bytes(b"".join(log))
    if has_notes:
        (place / LEADER_EPOCHS).write_bytes(leader_epochs_bytes(copy.epochs))
    (place / PARTITION_METADATA).write_bytes(partition_metadata_bytes(ONE))
    return open_data_directory(path)


def named(sentences: Sequence[str], place: str) -> set[int]:
    """The offsets that one disk has alone, by what is told."""
    found = [re.search(rf"'{re.escape(place)}' also has (.*), which ", each) for each in sentences]
    spans = [span for each in found if each for span in re.findall(r"offsets (\d+) to (\d+)", each[1])]
    return {offset for first, last in spans for offset in range(int(first), int(last) + 1)}


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_no_record_of_another_replica_is_left_out_without_a_word(seed, tmp_path):
    choices = random.Random(seed)
    history = History(choices)
    given = [each for each in history.copies if choices.random() < 0.85] or [1]
    has_notes, known = choices.random() < 0.85, choices.choice(("newest", "newest", "older", "none"))
    disks = [write(tmp_path / str(each), each, history.copies[each], has_notes) for each in given]
    in_sync, epoch, leader = choices.choice(history.states) if known == "older" else history.states[-1]
    metadata = None if known == "none" else image(("t", ONE, 1), isr=tuple(sorted(in_sync)))
    if metadata is not None:
        partitions = metadata.topics[ONE].partitions
        partitions[0] = partitions[0]._replace(leader_epoch=epoch)
    found = chosen(disks, metadata)
    replica = found.topics[0].partitions[0].replica
    taken = int(replica.directory.path.name)
    kept = history.copies[taken].records()
    for each in given:
        lacking = {offset for offset, by in history.copies[each].records().items() if kept.get(offset) != by}
        reported = named(found.sentences, str(tmp_path / str(each) / "t-0"))
        assert lacking <= reported, (each, taken, found.sentences)
        assert bool(lacking) == bool(reported), (each, taken, found.sentences)
        if known == "newest" and each == leader:
            assert lacking == set(), (taken, found.sentences)  # the last leader's records are all there
        if each in in_sync and lacking:
            assert not any("lacks nothing of it" in sentence for sentence in found.sentences)
