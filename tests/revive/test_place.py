"""The new directory: nobody's but ours, nobody else's to read, and able to go on."""

import errno
import fcntl
import json
import os
import shutil

import pytest

from kafkafs.errors import DiskError, UsageError
from kafkafs.format.names import METADATA_LOG
from kafkafs.revive.place import REPORT, NewDirectory, check_apart, check_target
from kafkafs.sample import unpack

REQUEST = {"to": "x", "kafka": None}


def test_it_is_made_for_its_owner_alone(tmp_path):
    (tmp_path / "there").mkdir(mode=0o755)
    for name in ("there", "missing/below"):
        place = NewDirectory(tmp_path / name, REQUEST)
        with place.partition("t-0") as target:
            target.write("x", b"1")
        assert {path.stat().st_mode & 0o777 for path in (tmp_path / name).rglob("*") if path.is_file()} == {0o600}
        assert {path.stat().st_mode & 0o777 for path in ((tmp_path / name), tmp_path / name / "t-0")} == {0o700}


def test_what_is_not_empty_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match="is not empty"):
        NewDirectory(tmp_path, REQUEST)
    with pytest.raises(UsageError, match="is not a directory"):
        NewDirectory(tmp_path / "file", REQUEST)
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"state":"unfinished"}', b"\xff", b"null"])
def test_a_report_of_another_hand_makes_it_not_ours(tmp_path, content):
    (tmp_path / REPORT).write_bytes(content)
    with pytest.raises(UsageError, match="is not empty"):
        check_target(tmp_path, REQUEST)


@pytest.mark.parametrize(
    "harm",
    [shutil.rmtree, lambda at: (at / "x").unlink(), lambda at: os.truncate(at / "x", 2), lambda at: (at / "y").touch()],
)
def test_a_partition_that_somebody_has_changed_since_is_made_again(tmp_path, harm):
    """Regression: to make room, say. The next command said "finished", without the partition."""
    place = NewDirectory(tmp_path / "n", REQUEST)
    for name in ("t-0", "t-1"):
        with place.partition(name) as target:
            target.write("x", b"whole")
        place.note({"directory": name})
    place.close()
    harm(tmp_path / "n/t-1")
    assert NewDirectory(tmp_path / "n", REQUEST).done == {"t-0": {"directory": "t-0"}}


def test_a_note_of_an_older_release_counts_for_nothing(tmp_path):
    NewDirectory(tmp_path / "n", REQUEST).close()
    (tmp_path / "n/revive.progress").write_text('{"directory": "t-0"}\n')
    assert NewDirectory(tmp_path / "n", REQUEST).done == {}


def test_a_run_of_an_older_release_goes_on_whatever_the_order_of_its_topics(tmp_path):
    """Older releases wrote --topics down as it was typed."""
    NewDirectory(tmp_path, REQUEST | {"topics": ["b", "a", "b"]}).close()
    (tmp_path / "t-0").mkdir()
    check_target(tmp_path, REQUEST | {"topics": ("a", "b")})
    for other in (("a",), None):
        with pytest.raises(UsageError, match="begun by another command"):
            check_target(tmp_path, REQUEST | {"topics": other})


def test_the_same_command_goes_on_and_another_does_not(tmp_path):
    place = NewDirectory(tmp_path / "n", REQUEST)
    with pytest.raises(KeyboardInterrupt):
        begin_and_end(place)
    with place.partition("t-1") as target:
        target.write("x", b"whole")
    place.note({"directory": "t-1", "records": 5})
    with open(tmp_path / "n/revive.progress", "a") as progress:
        progress.write('{"directory": "t-2", "rec')  # the end of that command
    place.close()
    again = NewDirectory(tmp_path / "n", REQUEST)
    assert again.done == {"t-1": {"directory": "t-1", "records": 5}}
    with again.partition("t-0") as target:
        target.write("x", b"whole")
    with pytest.raises(UsageError, match="begun by another command"):
        NewDirectory(tmp_path / "n", REQUEST | {"kafka": "3.9"})
    again.finish({"request": REQUEST})
    assert sorted(os.listdir(tmp_path / "n")) == [REPORT, "t-0", "t-1"]
    with pytest.raises(UsageError, match="revived already"):
        NewDirectory(tmp_path / "n", REQUEST)


def test_where_nothing_was_done_yet_another_command_may_begin(tmp_path):
    """One that was refused says what to change: `--reflink` where no block can be shared, a disk without room."""
    NewDirectory(tmp_path / "n", REQUEST)
    again = NewDirectory(tmp_path / "n", REQUEST | {"kafka": "3.9"})
    with again.partition("t-0") as target:
        target.write("x", b"whole")
    with pytest.raises(UsageError, match="begun by another command"):
        check_target(tmp_path / "n", REQUEST)


def begin_and_end(place):
    with place.partition("t-0") as target:
        target.write("x", b"half")
        raise KeyboardInterrupt


def test_after_a_start_of_the_machine_it_begins_again(tmp_path):
    """What was noted as whole may not have reached the disk."""
    place = NewDirectory(tmp_path / "n", REQUEST)
    with place.partition("t-0") as target:
        target.write("x", b"whole")
    place.note({"directory": "t-0"})
    place.close()
    with NewDirectory(tmp_path / "n", REQUEST) as again:
        assert again.done
    report = tmp_path / "n" / REPORT
    report.write_text(report.read_text().replace('"bootId": "', '"bootId": "another'))
    assert NewDirectory(tmp_path / "n", REQUEST).done == {}
    assert sorted(os.listdir(tmp_path / "n")) == [REPORT, "t-0"]


def test_where_nothing_tells_whether_the_machine_started_it_begins_again(tmp_path):
    unknown = tmp_path / "missing"
    begun = NewDirectory(tmp_path / "n", REQUEST, unknown)
    with begun.partition("t-0") as target:
        target.write("x", b"whole")
    begun.note({"directory": "t-0"})
    begun.close()
    assert NewDirectory(tmp_path / "n", REQUEST, unknown).done == {}


def test_one_command_at_a_time_writes_there(tmp_path):
    """Regression: a second one took away the partition that the first one was at, and that one said "finished"."""
    with NewDirectory(tmp_path / "n", REQUEST) as place, place.partition("t-0") as target:
        target.write("x", b"half")
        for request in (REQUEST, REQUEST | {"kafka": "3.9"}):
            with pytest.raises(UsageError, match=r"another kafkafs revive writes in '.*n'|begun by another command"):
                NewDirectory(tmp_path / "n", request)
        assert os.listdir(target.path) == ["x"]
    NewDirectory(tmp_path / "n", REQUEST)


def test_a_command_that_waited_for_the_end_of_another_looks_again(tmp_path, monkeypatch):
    """The other one has finished in the moment between the look and the lock."""
    lock = fcntl.flock

    def end(descriptor: int, how: int) -> None:
        (tmp_path / "n" / REPORT).write_text(json.dumps({"state": "finished", "request": REQUEST}))
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", end)
    with pytest.raises(UsageError, match="revived already"):
        NewDirectory(tmp_path / "n", REQUEST)


def test_a_file_system_without_locks_will_do(tmp_path, monkeypatch):
    def refuse(*_: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert NewDirectory(tmp_path / "n", REQUEST).done == {}


def test_what_the_first_moment_leaves_is_nothing(tmp_path):
    (tmp_path / "n").mkdir()
    (tmp_path / f"n/{REPORT}.tmp").write_bytes(b"")
    NewDirectory(tmp_path / "n", REQUEST)
    assert os.listdir(tmp_path / "n") == [REPORT]


def test_a_link_in_it_is_not_followed(tmp_path):
    """Whoever may write there could send us elsewhere."""
    place = NewDirectory(tmp_path / "n", REQUEST)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "n/unfinished-partition").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DiskError), place.partition("t-0"):
        pass
    assert os.listdir(tmp_path / "elsewhere") == []


def test_a_link_that_leads_nowhere_is_named(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("missing")
    with pytest.raises(UsageError, match=r"'.*loop' cannot be used: Too many levels of symbolic links"):
        NewDirectory(tmp_path / "loop", REQUEST)
    with pytest.raises(UsageError, match=r"'.*dangling' is a link to 'missing', which does not exist"):
        NewDirectory(tmp_path / "dangling", REQUEST)
    assert sorted(os.listdir(tmp_path)) == ["dangling", "loop"]


def test_it_may_be_named_through_a_link(tmp_path):
    """Regression: "Not a directory", of a link to an empty directory on the disk that has the room."""
    (tmp_path / "disk").mkdir(mode=0o755)
    (tmp_path / "n").symlink_to(tmp_path / "disk")
    NewDirectory(tmp_path / "n", REQUEST)
    assert (os.listdir(tmp_path / "disk"), (tmp_path / "disk").stat().st_mode & 0o777) == ([REPORT], 0o700)
    with pytest.raises(UsageError, match="are inside each other"):
        check_apart(tmp_path / "n/x", (tmp_path / "disk",))


def test_source_and_target_must_not_lie_in_each_other(tmp_path):
    source = unpack(tmp_path)
    for place in (source / "new", source, tmp_path):
        with pytest.raises(UsageError, match="are inside each other"):
            check_apart(place, (source,))
    with pytest.raises(UsageError, match="comma"):
        check_apart(tmp_path / "a,b", ())


def test_a_name_that_java_cannot_say_is_refused(tmp_path):
    """Regression: `log.dirs=.../\\udcffrv`, behind which the broker would have made an empty directory of its own."""
    check_apart(tmp_path / "größer", ())
    with pytest.raises(UsageError, match="bytes that are no UTF-8"):
        check_apart(tmp_path / os.fsdecode(b"\xffrv"), ())


def test_other_partitions_are_taken_away(tmp_path):
    """They are what a topic left that is no longer there; what is no partition stays."""
    place = NewDirectory(tmp_path / "n", {})
    for name in ("t-0", "gone-0", METADATA_LOG):
        with place.partition(name) as target:
            target.write("a", b"")
    place.note({"directory": "gone-0"})
    assert place.keep_only({"t-0"}) == ["gone-0"]
    assert place.done == {}
    assert {each.name for each in (tmp_path / "n").iterdir() if each.is_dir()} == {"t-0", METADATA_LOG}
