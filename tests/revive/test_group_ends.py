"""Ends of groups that were among what is lost: without them a coordinator gives up on the whole partition."""

import pytest

from kafkafs.format.messages.topic_records import InternalTopic, Message, parse_record
from kafkafs.format.records import Refusal, decode
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.data_directory import open_data_directory
from kafkafs.revive.job import revive
from kafkafs.revive.plan import Choices
from tests.cluster.writing import Data, commit, pair

GROUPS = "__consumer_offsets-0"
MEMBERS = ("CurrentMemberAssignment", "TargetAssignmentMember", "MemberMetadata")
"""In the order in which a coordinator removes them."""


def key(kind, group, member=None):
    return {"groupId": group} if member is None else {"groupId": group, "memberId": member}


def joined(protocol, group, *members):
    """What a coordinator writes of a group whose members have joined."""
    of_members = [pair(f"{protocol}{name}", key(name, group, each), {}) for each in members for name in MEMBERS[::-1]]
    return [
        pair(f"{protocol}Metadata", key("", group), {"epoch": 2}), *of_members,
        pair(f"{protocol}TargetAssignmentMetadata", key("", group), {"assignmentEpoch": 2}),
    ]  # fmt: skip


def left(protocol, group, *members):
    return [pair(f"{protocol}{name}", key(name, group, each), None) for each in members for name in MEMBERS]


def deleted(protocol, group):
    return [pair(f"{protocol}{name}", key("", group), None) for name in ("TargetAssignmentMetadata", "Metadata")]


def damaged(tmp_path, *batches, lost):
    """A data directory with these batches of groups, of which some are damaged."""
    data, log = Data(tmp_path / "data"), tmp_path / "data" / GROUPS / f"{0:020}.log"
    for number, records in enumerate(batches):
        at = log.stat().st_size if log.exists() else 0
        data.write(GROUPS, records)
        if number in lost:
            content = bytearray(log.read_bytes())
            content[at + 70] ^= 0x55
            log.write_bytes(content)
    return data.path


def revived(tmp_path, path, way="skip"):
    """What `revive.json` says of the partition, and its records: offset, type, group, member and whether it is one that
    removes."""
    report = revive([path], Choices(to=tmp_path / way, corrupt=way))
    (member_value,) = report["revived"]
    log, found = open_data_directory(tmp_path / way).partition(GROUPS).log(), []
    for _, item in log.walk(0, log.end_offset):
        assert isinstance(item, BatchRun)
        for piece in decode(item.data, item.position, item.rows, 1 << 20):
            assert not isinstance(piece, Refusal)
            for number in range(len(piece)):
                value = piece.value(number)
                record = parse_record(
                    InternalTopic.OFFSETS, bytes(piece.key(number) or b""), None if value is None else bytes(value)
                )
                assert isinstance(record, Message)
                assert record.key is not None
                name, member = record.key.get("groupId", record.key.get("group")), record.key.get("memberId")
                found.append((int(piece.rows["offset"][number]), record.name, name, member, value is None))
    return member_value, found


@pytest.mark.parametrize("protocol", ["ConsumerGroup", "ShareGroup", "StreamsGroup"])
def test_members_left_before_their_group_was_deleted(tmp_path, protocol):
    path = damaged(
        tmp_path, [commit("g", "t", 0, 5)], joined(protocol, "g", "a", "b"), left(protocol, "g", "a", "b"),
        deleted(protocol, "g"), lost=[2],
    )  # fmt: skip
    member_value, records = revived(tmp_path, path)
    made = [each[1:] for each in records if 9 <= each[0] <= 14]
    assert [each for each in made if each[-1]] == made
    assert sorted(made) == sorted((f"{protocol}{name}", "g", each, True) for name in MEMBERS for each in "ab")
    assert [each[0] for each in made[-2:]] == [f"{protocol}MemberMetadata"] * 2
    assert member_value["endedGroups"] == ["g"]
    assert [(each["first"], each["last"]) for each in member_value["losses"]] == [(9, 14)]
    assert member_value["endOffset"] == 17


def test_a_member_whose_first_record_is_lost_too_left(tmp_path):
    """What it was assigned makes it one."""
    protocol, name = "ConsumerGroup", "ConsumerGroupCurrentMemberAssignment"
    path = damaged(
        tmp_path, joined(protocol, "g", "a"), [pair(name, key("", "g", "a"), {"memberEpoch": 3})],
        left(protocol, "g", "a"), deleted(protocol, "g"), lost=[0, 2],
    )  # fmt: skip
    member_value, records = revived(tmp_path, path)
    assert [each[1:] for each in records if 6 <= each[0] <= 8] == [
        (name, "g", "a", True), ("ConsumerGroupMemberMetadata", "g", "a", True)
    ]  # fmt: skip
    assert member_value["endedGroups"] == ["g"]


def test_a_member_that_left_and_of_which_the_last_word_is_kept(tmp_path):
    protocol = "ConsumerGroup"
    path = damaged(
        tmp_path, joined(protocol, "g", "a"), left(protocol, "g", "a")[:2], left(protocol, "g", "a")[2:], lost=[1]
    )
    _, records = revived(tmp_path, path)
    assert [each[1:] for each in records if each[-1]] == [(f"{protocol}{name}", "g", "a", True) for name in MEMBERS]


def test_what_stands_again_presupposes_others(tmp_path):
    """A member left in lost records while it had a target, which was removed once more before the group was."""
    protocol = "ConsumerGroup"
    path = damaged(
        tmp_path, joined(protocol, "g", "a"), left(protocol, "g", "a"), left(protocol, "g", "a")[1:2],
        deleted(protocol, "g"), lost=[1],
    )  # fmt: skip
    _, records = revived(tmp_path, path)
    assert [each[:2] for each in records if 5 <= each[0] <= 7] == [
        (5 + number, f"{protocol}{name}") for number, name in enumerate(MEMBERS)
    ]  # fmt: skip


def test_what_another_member_owned_it_has_given_back(tmp_path):
    """A group that ended and began anew counts its epochs from the beginning; what is owned later still may not be."""
    name, topic = "ConsumerGroupCurrentMemberAssignment", "A" * 22

    def owning(member, epoch, *partitions):
        """That the member owns those."""
        member_value = {"memberEpoch": epoch, "assignedPartitions": [{"topicId": topic, "partitions": [*partitions]}]}
        return pair(name, key("", "g", member), member_value)

    path = damaged(
        tmp_path, [owning("a", 3, 0, 1), owning("b", 3, 2)], left("ConsumerGroup", "g", "a"), [owning("c", 2, 1)],
        lost=[1],
    )  # fmt: skip
    member_value, records = revived(tmp_path, path)
    assert [each for each in records if each[-1]] == [(2, name, "g", "a", True)]
    assert member_value["endedGroups"] == ["g"]


@pytest.mark.parametrize("before", ["classic", "ShareGroup"])
def test_a_group_that_had_another_protocol_ended_as_one_of_that(tmp_path, before):
    """Its end and the beginning of the other stood in one batch."""
    classic = pair("GroupMetadata", {"group": "g"}, {"protocolType": "consumer"}, 3)
    first = [classic] if before == "classic" else joined(before, "g", "a")
    protocol = "ConsumerGroup"
    path = damaged(tmp_path, first, joined(protocol, "g", "b") + left(protocol, "g", "c"),
                   joined(protocol, "g", "b")[:1], lost=[1])  # fmt: skip
    member_value, records = revived(tmp_path, path)
    assert member_value["endedGroups"] == ["g"]
    made = [each[1] for each in records if each[-1]]
    if before == "classic":
        assert made == ["GroupMetadata"]
    else:
        assert made == [
            *(f"{before}{name}" for name in MEMBERS),
            f"{before}TargetAssignmentMetadata",
            f"{before}Metadata",
        ]


def test_what_is_whole_or_cut_stays_as_it_is(tmp_path):
    """A group that is there, one that ended in order, and one whose end is lost with all behind it."""
    protocol = "ConsumerGroup"
    batches = (
        joined(protocol, "stays", "a"), joined(protocol, "g", "a"), left(protocol, "g", "a"), deleted(protocol, "g"),
        [commit("g", "t", 0, 5)],
    )  # fmt: skip
    member_value, records = revived(tmp_path, damaged(tmp_path, *batches, lost=[4]))
    assert member_value["endedGroups"] == []
    assert len(records) == sum(map(len, batches[:4]))
    member_value, records = revived(tmp_path, damaged(tmp_path / "two", *batches, lost=[2]), "cut")
    assert member_value["endedGroups"] == []
    assert len(records) == sum(map(len, batches[:2]))
