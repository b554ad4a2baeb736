"""What `info.json` says of a segment's indexes: no false alarm for what brokers leave, a word for all else."""

import os
import random
import struct

import pytest

from kafkafs.disk.data_file import LocalFile
from kafkafs.disk.local_directory import LocalDirectory, LocalInside
from kafkafs.disk.page_cache import LONG_READ
from kafkafs.errors import Denied, DiskError, Vanished
from kafkafs.format.names import segment_file
from kafkafs.log import health
from kafkafs.log.batch_runs import BatchRun, Start
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.health import segments_health
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.segment import Segment
from kafkafs.log.segment_files import SegmentFiles
from kafkafs.log.segment_indexes import SegmentIndexes
from tests.disk.descriptors import open_below
from tests.log.making import NAME, log_of, made, spread, write_partition

BATCHES = [made(number * 2, [1000 + number] * 2, size=300) for number in range(60)]
PADDING = b"\0" * 240


@pytest.mark.parametrize("kind", ["index", "timeindex"])
@pytest.mark.parametrize(
    ("change", "closed", "last"),
    [
        (lambda data: data, "ok", "ok"),
        (lambda data: data + PADDING, "padded", "padded"),
        (lambda data: data[:-5], "damaged", "damaged"),
        (lambda data: b"\xff" * len(data), "damaged", "damaged"),
        (None, "missing", "missing"),
    ],
)
def test_the_state_of_an_index(tmp_path, kind, change, closed, last):
    """Of a closed segment, whose every fault is a problem, and of the growing one, where padding is none."""
    directory = write_partition(tmp_path, spread(BATCHES, 30))
    for base in (0, 60):
        file = directory / segment_file(base, kind)
        if change is None:
            file.unlink()
        else:
            file.write_bytes(change(file.read_bytes()))
    for segment, wanted in zip(log_of(tmp_path).segments, (closed, last), strict=True):
        found = segments_health([segment])[0]
        states = {"index": found.offset_index, "timeindex": found.time_index}
        assert states == {"index": "ok", "timeindex": "ok"} | {kind: wanted}
        is_last = segment.next_base is None
        expected = wanted == "damaged" or (wanted in ("padded", "missing") and not is_last)
        assert [segment_file(segment.base_offset, kind) in problem for problem in found.problems] == [True] * expected


@pytest.mark.parametrize("kind", ["index", "timeindex"])
@pytest.mark.parametrize("base", [0, 60], ids=["closed", "growing"])
@pytest.mark.parametrize(
    "error", [DiskError("a bad block"), Denied("another user's")], ids=["on reading", "on opening"]
)
def test_an_index_that_the_disk_refuses_is_no_padded_one(tmp_path, monkeypatch, kind, base, error):
    """Lookups take it for empty, which is what a padded one without entries is."""
    write_partition(tmp_path, spread(BATCHES, 30))
    refused, read, opened = segment_file(base, kind), LocalFile.read, SegmentFiles.open
    read_inside = LocalInside.read

    def refusing(self, *arguments, **options):
        name = self.name_of(arguments[0]) if isinstance(self, SegmentFiles) else self.name
        if os.path.basename(name) == refused:
            raise error
        return (opened if isinstance(self, SegmentFiles) else read)(self, *arguments, **options)

    def refusing_inside(self, name, *arguments):
        if name == refused:
            raise error
        return read_inside(self, name, *arguments)

    monkeypatch.setattr(*((LocalFile, "read") if isinstance(error, DiskError) else (SegmentFiles, "open")), refusing)
    monkeypatch.setattr(LocalInside, "read", refusing_inside)
    for segment in log_of(tmp_path).segments:
        found = segments_health([segment])[0]
        is_it = segment.base_offset == base
        states = {"index": found.offset_index, "timeindex": found.time_index}
        assert states == {"index": "ok", "timeindex": "ok"} | ({kind: "damaged"} if is_it else {})
        reported = f"{refused} cannot be read and not relied on; lookups take longer"
        assert found.problems == ((reported,) if is_it else ())


@pytest.mark.parametrize("compacted", [True, False])
def test_a_closed_log_is_empty_where_compaction_left_nothing(tmp_path, compacted):
    """Kafka 2.8 leaves three empty files, until the next compaction merges them with what follows."""
    directory = write_partition(tmp_path, spread(BATCHES, 30))
    for kind in ("log", "index", "timeindex") if compacted else ("log", "index"):
        (directory / segment_file(0, kind)).write_bytes(b"")
    problems = segments_health([log_of(tmp_path).segments[0]])[0].problems
    assert ["is empty though a later segment follows" in problem for problem in problems[:1]] == [True][compacted:]


def test_an_index_that_has_changed_is_looked_at_again(tmp_path):
    """What was remembered of a healthy index must not hide what became of it."""
    directory = write_partition(tmp_path, spread(BATCHES, 30))
    file, segment = directory / segment_file(0, "index"), log_of(tmp_path).segments[0]
    assert segments_health([segment])[0].offset_index == "ok"
    file.write_bytes(file.read_bytes() + PADDING)
    assert segments_health([log_of(tmp_path).segments[0]])[0].offset_index == "padded"
    file.unlink()
    assert segments_health([log_of(tmp_path).segments[0]])[0].offset_index == "missing"


def test_a_healthy_partition_of_every_release_has_nothing_to_say(dataset):
    """Looked at where brokers left their files, padded and trimmed."""
    for each in dataset.partitions(internal=True)[::3]:
        for segment in log_of(dataset.path, each.directory).segments:
            assert segments_health([segment])[0].problems == (), (each, segment.log_name)


@pytest.mark.parametrize("question", ["_offset_index", "_time_index"])
def test_what_is_appended_in_the_midst_of_a_look_is_no_damage(tmp_path, monkeypatch, question):
    """The broker writes the log, then its indexes: an entry read later may lie behind a size that was read before."""
    write_partition(tmp_path, {0: BATCHES[:30]})
    (segment,) = log_of(tmp_path).segments
    ask = getattr(health, question)

    def asked_after_an_append(*args):
        write_partition(tmp_path, {0: BATCHES})
        return ask(*args)

    monkeypatch.setattr(health, question, asked_after_an_append)
    assert segments_health([segment])[0].problems == ()


@pytest.mark.parametrize("kind", ["index", "timeindex"])
def test_an_entry_that_is_half_written_is_no_damage(tmp_path, monkeypatch, kind):
    """The broker stores its two numbers one after the other, in pages that it has mapped."""
    file = write_partition(tmp_path, {0: BATCHES}) / segment_file(0, kind)
    whole = file.read_bytes()
    (segment,) = log_of(tmp_path).segments

    def reopened_when_it_is_written(segment, reopened=Segment.reopened):
        file.write_bytes(whole)
        return reopened(segment)

    file.write_bytes(whole[:-8] + b"\0\0\x7f\0\0\0\0\0" if kind == "index" else whole[:-4] + bytes(4))
    monkeypatch.setattr(Segment, "reopened", reopened_when_it_is_written)
    assert segments_health([segment])[0].problems == ()


def changed(data: bytes, chance: random.Random) -> bytes:
    """One bit flipped, or cut short, or padded, or empty."""
    flipped = bytearray(data)
    flipped[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return chance.choice([bytes(flipped)] * 4 + [data[: chance.randrange(len(data))], data + PADDING, b""])


@pytest.mark.parametrize(("entry", "state"), [((9, 3), "ok"), ((9, 5), "damaged"), ((8, 3), "damaged")])
def test_a_last_time_index_entry_tells_of_the_newest_batch(tmp_path, entry, state):
    """In order as it may be: a lookup that believes it would pass over records."""
    batches = [made(number * 2, [time] * 2) for number, time in enumerate([8, 9, 7, 7])]
    directory = write_partition(tmp_path, {0: batches[:3], 6: batches[3:]})
    (directory / segment_file(0, "timeindex")).write_bytes(struct.pack(">qi", *entry))
    (found,) = segments_health(log_of(tmp_path).segments[:1])
    assert (found.time_index, found.largest) == (state, 9)


@pytest.mark.parametrize("batches", [10, 30])
def test_a_log_that_was_written_since_it_was_listed_is_to_be_listed_again(tmp_path, batches):
    """What is found belongs to one state of it."""
    directory = write_partition(tmp_path, spread(BATCHES, batches))
    segments = log_of(tmp_path).segments
    os.utime(directory / segment_file(0, "log"), (0, 0))
    with pytest.raises(Vanished):
        segments_health(segments)


@pytest.mark.parametrize("batches", [10, 30])
def test_a_look_tells_the_largest_timestamp_on_its_way(tmp_path, batches):
    """Against a walk over the whole log, for files of a closed segment that were changed anywhere."""
    directory, chance = write_partition(tmp_path, spread(BATCHES, batches)), random.Random(3)
    whole = {kind: (directory / segment_file(0, kind)).read_bytes() for kind in ("log", "index", "timeindex")}
    for _ in range(150):
        for kind, data in whole.items():
            (directory / segment_file(0, kind)).write_bytes(data)
        kind = chance.choice(["none", "log", "index", "timeindex"])
        if kind != "none":
            (directory / segment_file(0, kind)).write_bytes(changed(whole[kind], chance))
        segment = log_of(tmp_path).segments[0]
        found = segments_health([segment])[0]
        walked = segment.walk(Start(0, 0), segment.log().size)
        times = [int(item.rows["max_timestamp"].max()) for item in walked if isinstance(item, BatchRun)]
        assert found.largest == max(times, default=-1), kind


def test_a_look_at_many_segments_keeps_none_of_their_files(tmp_path):
    """Those of a partition of 20,000 would push out all that others ask for."""
    write_partition(tmp_path, spread(BATCHES, 2))
    partition = open_data_directory(tmp_path, ReadOptions(clock=lambda: 0.0)).partition(NAME)  # nothing becomes idle
    segments = partition.log().segments[:-1]
    assert isinstance(partition.root, LocalDirectory)
    kept, before = partition.root.files.kept, open_below(tmp_path)
    found = segments_health(segments)
    assert [(one.time_index, one.problems) for one in found] == [("ok", ())] * len(segments)
    assert (partition.root.files.kept, open_below(tmp_path)) == (kept, before)
    assert segments_health(segments) == found


@pytest.mark.parametrize("kind", ["index", "timeindex", "log"])
def test_one_look_at_a_plain_segment_says_what_the_close_look_says(tmp_path, monkeypatch, calls, kind):
    """Most segments are as a broker leaves them, and one read of each file tells so. Any byte may be otherwise."""
    random.seed(f"plain {kind}")
    file = write_partition(tmp_path, spread(BATCHES, 30)) / segment_file(0, kind)
    whole, closely, answered = file.read_bytes(), calls(SegmentIndexes, "forget"), set()
    for number in range(40):
        data = bytearray(whole)
        if number:
            at = random.choice([random.randrange(len(data)), len(data) - 1 - random.randrange(12)])
            data[at:] = random.choice([b"", data[:60], bytes(24), bytes([data[at] ^ 1 << number % 8]) + data[at + 1 :]])
        file.write_bytes(data)
        found = []
        for at_once in (LONG_READ, -1):
            with monkeypatch.context() as limited:
                limited.setattr(health, "LONG_READ", at_once)
                closely.clear()
                segments = log_of(tmp_path).segments
                found.append([each._replace(log=None) for each in segments_health(segments)])
            answered.add((at_once < 0, (segments[0].indexes,) in closely))
        assert found[0] == found[1], number
    assert answered == {(False, False), (False, True), (True, True)}
