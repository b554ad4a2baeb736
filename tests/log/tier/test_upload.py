"""What is known of an upload: its object, and what others tell of it."""

from kafkafs.disk.objects import Object
from kafkafs.log.tier.opening import Upload


def test_an_upload_is_called_as_its_object_is():
    """One that is not there is called as LocalTieredStorage would call it."""
    found = Object("orders-0-id/00000000000000000007-x.log", 5, 0)
    assert Upload(7, "x", {"log": found}).object == found.key
    assert Upload(7, "x", {}).object == "00000000000000000007-x.log"


def test_what_the_metadata_tells_is_taken_over_and_the_files_stay():
    found = Upload(7, "x", {"log": Object("k", 5, 0)}, 5)
    reported = found.completed(Upload(7, "x", {}, 6, 9, ((0, 7),), 99))
    assert (reported.files, reported.size, reported.end_offset, reported.epochs, reported.largest) == (
        found.files,
        6,
        9,
        ((0, 7),),
        99,
    )
