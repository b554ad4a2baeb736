"""Directories that say to be a partition, in use or set aside, and what they hold."""

from kafkafs.revive.claims import contents, find_claims
from kafkafs.revive.topics import made_up_id
from tests.revive.replicas import UUID, Made, disk
from tests.revive.test_topics import image

ONE = made_up_id("one")


def test_marked_directories_are_of_the_topic_that_has_their_id(tmp_path):
    stray = f"short-0.{UUID}-stray"
    directory = disk(tmp_path / "a", 1, {"t-0": Made([(0, 3)], ONE), stray: Made([(0, 2)], ONE)})
    for metadata in (None, image(("t", ONE, 1))):
        (found,) = find_claims([directory], metadata).items()
        assert found[0] == "t"
        assert [(each.name, each.mark) for each in found[1]] == [(stray, "stray"), ("t-0", "")]
        assert [each.option for each in found[1]] == ["--include stray", None]


def test_contents_are_reported_in_words(tmp_path):
    logs = {"t-0": Made([(0, 25)], ONE), "t-1": Made([], ONE), "t-2": Made([(1, 1)], ONE, start=7)}
    claims = find_claims([disk(tmp_path / "a", 1, logs)], None)["t"]
    reported = [contents([each]) for each in claims]
    assert reported == ["25 records, offsets 0 to 24", "0 records", "1 record, offsets 7 to 7"]
    assert contents(claims) == "26 records"


def test_damage_is_reported_beside_the_records_that_can_be_read(tmp_path):
    directory = disk(tmp_path / "a", 1, {"t-0": Made([(0, 30)], ONE)})
    (log,) = (tmp_path / "a/t-0").glob("*.log")
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    assert contents(find_claims([directory], None)["t"]) == "20 records and damage, offsets 0 to 29"
