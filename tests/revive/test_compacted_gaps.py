"""Gaps of compacted logs: those that prove to be losses are told or filled, and of the others nothing is said."""

import random
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafkafs.format.batch import batch_bytes
from kafkafs.format.checkpoints import LeaderEpoch, leader_epochs_bytes
from kafkafs.format.names import LEADER_EPOCHS, segment_file
from kafkafs.revive.job import planned
from kafkafs.revive.plan import Choices
from tests.revive.replicas import START_MS

TOPIC = "t"


class Written(NamedTuple):
    """A record: a key, and a value or None."""

    offset: int
    key: bytes
    value: bytes | None


def history(random_: random.Random, count: int, keys: int) -> list[Written]:
    """All records that were ever written, one after the other."""
    return [
        Written(at, b"k%d" % random_.randrange(keys), None if random_.random() < 0.2 else b"%d" % at)
        for at in range(count)
    ]


def compacted(records: Sequence[Written], up_to: int, keeps_tombstones: bool = True) -> list[Written]:
    """What a cleaner leaves of the records below an offset, of which the last ones of each key count."""
    last = {each.key: each.offset for each in records if each.offset < up_to}
    return [
        each for each in records
        if each.offset >= up_to or (last[each.key] == each.offset and (keeps_tombstones or each.value is not None))
    ]  # fmt: skip


def disk(path: Path, node: int, records: Sequence[Written], bases: Sequence[int], cleaned_to: int) -> Path:
    """A broker's disk with one log, in segments."""
    place = path / f"{TOPIC}-0"
    place.mkdir(parents=True)
    (path / "meta.properties").write_text(f"version=1\nnode.id={node}\ncluster.id=uBxTSvaETEx3i2U_wtBtcQ\n")
    (path / "cleaner-offset-checkpoint").write_text(f"0\n1\n{TOPIC} 0 {cleaned_to}\n")
    for base, end in zip(bases, [*bases[1:], 1 << 40], strict=True):
        log = b"".join(
            batch_bytes([(each.key, each.value)], each.offset, timestamp=START_MS + each.offset, leader_epoch=0)
            for each in records if base <= each.offset < end
        )  # fmt: skip
        (place / segment_file(base, "log")).write_bytes(log)
    (place / LEADER_EPOCHS).write_bytes(leader_epochs_bytes([LeaderEpoch(0, 0)]))
    return path


def losses(tmp_path: Path, disks: Sequence[Path]) -> list[Mapping[str, Any]]:
    report = planned(disks, Choices(to=tmp_path / "new"))
    (found,) = (each for each in report["revived"] if each["topic"] == TOPIC)
    reported: list[Mapping[str, Any]] = found["losses"]
    return reported


@pytest.mark.parametrize("seed", range(12))
def test_what_another_replica_has_is_reported_just_if_compaction_does_not_explain_it(tmp_path, seed):
    """Both have compacted by themselves, to here or there, one may have dropped tombstones, and a segment of one is
    gone."""
    random_ = random.Random(seed)
    count = 120
    records, bases = history(random_, count, random_.choice([5, 30, 200])), [0, 30, 60, 90]
    mine_to, theirs_to = random_.choice([60, 90]), random_.choice([0, 30, 60, 90])
    kept = compacted(records, mine_to, random_.random() < 0.5)
    others = compacted(records, theirs_to, theirs_to < mine_to or random_.random() < 0.5)
    gone = random_.choice([None, 0, 30])
    held = [each for each in kept if gone is None or not gone <= each.offset < gone + 30]
    one = disk(tmp_path / "1", 1, held, [each for each in bases if each != gone or each == 0], mine_to)
    other = disk(tmp_path / "2", 2, others, bases, theirs_to)
    wanted = {each.offset for each in others if each.offset < mine_to and is_lost(each, held, others)}
    told = losses(tmp_path, [one, other])
    assert all({each["first"], each["last"]} <= wanted for each in told)
    assert wanted <= {offset for each in told for offset in range(each["first"], each["last"] + 1)}


def is_lost(record: Written, held: Sequence[Written], others: Sequence[Written]) -> bool:
    """By the cleaner's two rules."""
    mine = [each.offset for each in held if each.key == record.key]
    is_replaced = any(each.key == record.key and each.offset > record.offset for each in (*held, *others))
    is_done = record.value is None and not any(offset < record.offset for offset in mine)
    return record.offset not in mine and not is_replaced and not is_done


@pytest.fixture
def one_lost(tmp_path):
    """A disk whose second segment had the only record of a key, which compaction had passed; and one that has it."""
    records = [Written(at, b"k%d" % (at if 30 <= at < 60 else at % 7), b"x") for at in range(90)]
    return [disk(tmp_path / str(node), node, records, [0, 30, 60], 60) for node in (1, 2)]


def segment(place: Path, base: int, kind: str = "log") -> Path:
    return place / f"{TOPIC}-0" / segment_file(base, kind)


def test_a_segment_that_is_gone_with_all_its_files_is_reported(tmp_path, one_lost):
    """Regression: it was passed over without a word, though another disk had it."""
    segment(one_lost[0], 30).unlink()
    (loss,) = losses(tmp_path, one_lost)
    assert (loss["first"], loss["last"]) == (30, 59)
    assert loss["reason"] == (
        f"{str(one_lost[1] / 't-0')!r} has 30 records there that compaction does not explain"
    )  # fmt: skip
    assert losses(tmp_path, one_lost[:1]) == []  # which nothing proves


def test_a_replica_that_does_not_reach_the_cleaner_proves_nothing(tmp_path, one_lost):
    """The record that replaced its own may be behind its end, and may be a tombstone that is gone since."""
    segment(one_lost[0], 30).unlink()
    segment(one_lost[1], 60).unlink()
    log = segment(one_lost[1], 30)
    log.write_bytes(log.read_bytes()[: log.stat().st_size * 29 // 30])
    assert losses(tmp_path, one_lost) == []


def test_an_index_without_its_log_proves_the_loss(tmp_path, one_lost):
    """Regression: the same. With another replica, its batches are taken."""
    segment(one_lost[0], 30).unlink()
    segment(one_lost[0], 30, "timeindex").touch()
    (loss,) = losses(tmp_path, one_lost[:1])
    assert (loss["first"], loss["last"]) == (30, 59)
    assert loss["reason"] == "00000000000000000030.log is gone, and its index is there"
    assert losses(tmp_path, one_lost) == []
    segment(one_lost[0], 30).with_suffix(".log.deleted").touch()  # a broker was deleting it
    assert losses(tmp_path, one_lost[:1]) == []


@pytest.mark.parametrize("kind", ["index", "timeindex"])
@pytest.mark.parametrize("kept", [0, 20])
def test_an_index_that_goes_on_behind_its_log_proves_the_loss(tmp_path, one_lost, kind, kept):
    """Regression: the same, for a log that is empty or ends at another border of batches."""
    log = segment(one_lost[0], 30)
    content = log.read_bytes()
    log.write_bytes(content[: len(content) * kept // 30])
    entry = struct.pack(">ii", 29, len(content) - 1) if kind == "index" else struct.pack(">qi", START_MS + 59, 29)
    segment(one_lost[0], 30, kind).write_bytes(entry)
    (loss,) = losses(tmp_path, one_lost[:1])
    assert (loss["first"], loss["last"]) == (30 + kept, 59)
    assert loss["reason"] == "the indexes of 00000000000000000030.log go on to offset 59, and it does not"
    assert losses(tmp_path, one_lost) == []


def test_the_first_segment_of_a_compacted_log_is_missed(tmp_path, one_lost):
    """Compaction leaves one where the log begins, even if it is empty."""
    segment(one_lost[0], 0).unlink()
    (loss,) = losses(tmp_path, one_lost[:1])
    assert (loss["first"], loss["last"], loss["reason"]) == (0, 29, "no segment has them")
    assert losses(tmp_path, one_lost) == []
