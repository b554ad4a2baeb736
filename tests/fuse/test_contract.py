"""The contract (design.md, sections 2 to 4) as a user meets it: real data, a real mount, real commands."""

import errno
import hashlib
import json
import os
import random
from pathlib import Path

import pytest

from tests.format.golden import Record as Golden
from tests.fuse import model
from tests.kafka import jars
from tests.kafka.cache import EVERY
from tests.kafka.dataset import Dataset, Record
from tests.mounting import run, shell
from tests.view.json_model import line

RANGES = ("by-offset/5...jsonl", "by-time/0...jsonl", "by-offset/0...batches.jsonl", "info.json")
KINDS = {None: -1, "CreateTime": 0, "LogAppendTime": 1}


OLDER = [Dataset("2.8.0", "live"), Dataset("2.8.0", "stopped"), Dataset("3.9.1", "live")]


@pytest.fixture(
    scope="module", params=[Dataset(jars.NEWEST, "stopped"), *(OLDER if EVERY in os.environ else ())], ids=str
)
def dataset(request):
    """The newest release: the layers below are asked about each one, and give a mount what it shows."""
    return request.param


@pytest.fixture(scope="module")
def mounted(dataset, mount_for_module):
    return mount_for_module(dataset.path)


@pytest.fixture(scope="module")
def streaming(dataset, mount_for_module):
    """A mount in which no range is small."""
    return mount_for_module(dataset.path, options="exact=0")


def golden(record: Record) -> Golden:
    headers = tuple((name.encode(), value) for name, value in record.headers)
    return Golden(record.offset, record.timestamp_ms, KINDS[record.timestamp_type], record.key, record.value, headers)


def lines(dataset, topic: str, partition: int, isolation: str = "read_uncommitted") -> bytes:
    return b"".join(line(topic, partition, golden(record)) for record in dataset.records(topic, partition, isolation))


def sums(mounted, dataset, pattern: str) -> dict[str, str]:
    """Of each partition, the digest of what `cat` makes of some files, by one shell."""
    names = " ".join(each.directory for each in dataset.partitions())
    script = f"cd {mounted.path}; for p in {names}; do (cd $p; echo $p $({pattern} | sha256sum)); done"
    return {words.split()[0]: words.split()[1] for words in shell(script, timeout=300).splitlines()}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_every_partition_is_listed_once(mounted, dataset):
    listed = shell(f"ls {mounted.path}").split()
    assert listed == sorted(path.name for path in dataset.path.iterdir() if path.is_dir())


def test_by_offset_together_is_the_log(mounted, dataset):
    """From the batch that holds the log start to the last whole, valid batch: whoever copies it has the log."""
    found = sums(mounted, dataset, "cat by-offset/*")
    for each in dataset.partitions():
        start = dataset.offsets(*each).earliest
        whole = b"".join(batch.data for batch in model.visible(dataset.path / each.directory, start))
        assert found[each.directory] == sha256(whole), each


@pytest.mark.parametrize("view", ["by-offset", "by-time"])
def test_the_decoded_ranges_tile_the_log(mounted, dataset, view):
    """Each record stands in exactly one listed range, in order, as the line the contract spells."""
    found = sums(mounted, dataset, f"for f in {view}/*; do cat $f.jsonl; done")
    for each in dataset.partitions():
        assert found[each.directory] == sha256(lines(dataset, *each)), each


def test_listed_names_are_the_segments(mounted, dataset):
    """One entry a segment, padded so that a glob sorts in log order."""
    for each in dataset.partitions():
        start = dataset.offsets(*each).earliest
        bases = [int(file.stem) for file in model.logs(dataset.path / each.directory)]
        ends = [*(f"{base:020}" for base in bases[1:]), ""]
        want = [f"{base:020}..{end}" for base, end in zip(bases, ends, strict=True) if not end or int(end) > start]
        assert shell(f"ls {mounted.path}/{each.directory}/by-offset").split() == want, each
        times = shell(f"ls {mounted.path}/{each.directory}/by-time").split()
        assert times[0].startswith("0000000000000..")
        assert times[-1].endswith("..")
        assert [name.split("..")[0] for name in times[1:]] == [name.split("..")[1] for name in times[:-1]]


def test_a_raw_point_is_its_batch(mounted, dataset):
    """Bytes, size, blocks, time and attributes, of points in batches, in gaps and at both ends."""
    chance = random.Random(1)
    for topic in ("codec-none", "compacted", "segments", "deleted", "transactions", "broker-lz4"):
        partition, reported = f"{topic}-0", dataset.offsets(topic)
        batches = model.visible(dataset.path / partition, reported.earliest)
        for offset in {
            reported.earliest,
            batches[-1].last,
            *chance.choices(range(reported.earliest, batches[-1].last), k=4),
        }:
            batch = next(batch for batch in batches if batch.last >= offset)
            path = mounted / partition / "by-offset" / f"{offset:0{chance.randint(1, 25)}}"
            assert run("cat", path).stdout == batch.data, path
            about = path.stat()
            assert (about.st_size, about.st_blocks) == (batch.size, 0)
            assert about.st_mtime_ns == batch.max_timestamp * 1_000_000
            assert attributes(path) >= {
                ("segment", batch.file.name), ("position", str(batch.position)), ("size", str(batch.size)),
                ("base_offset", str(batch.base)), ("last_offset", str(batch.last)),
                ("max_timestamp", str(batch.max_timestamp)),
            }  # fmt: skip


def attributes(path: Path) -> set[tuple[str, str]]:
    """What `getfattr` shows, without its prefix."""
    text = run("getfattr", "-d", "--absolute-names", path).stdout.decode()
    found = (line.split("=", 1) for line in text.splitlines() if line.startswith("user.kafkafs."))
    return {(name.removeprefix("user.kafkafs."), value.strip('"')) for name, value in found}


def test_a_decoded_point_is_its_record(mounted, dataset):
    """Line, key and value with their true sizes; the attribute `offset` tells where the point has led."""
    chance = random.Random(2)
    for topic in ("headers", "nulls", "binary", "large", "compacted", "transactions"):
        records = dataset.records(topic)
        end = dataset.offsets(topic).latest
        for offset in chance.choices(range(records[0].offset, records[-1].offset + 1), k=4):
            record = next(record for record in records if record.offset >= offset)
            point = f"{mounted.path}/{topic}-0/by-offset/{offset}"
            want = {".jsonl": line(topic, 0, golden(record)), ".key": record.key, ".value": record.value}
            for suffix, content in want.items():
                assert os.stat(point + suffix).st_size == len(content or b"")
                if content is None:
                    assert "No data available" in failing("cat", point + suffix)
                else:
                    assert run("cat", point + suffix).stdout == content
            assert ("offset", str(record.offset)) in attributes(Path(point + ".jsonl"))
            assert run("cat", f"{mounted.path}/{topic}-0/by-offset/-{end - offset}.jsonl").stdout == want[".jsonl"]


def failing(*command: str | Path) -> str:
    done = run(*command, check=False)
    assert done.returncode != 0
    return done.stderr.decode()


def test_a_time_leads_where_the_consumer_finds_the_first_record(mounted, dataset):
    """`ListOffsets`' answer, also where Kafka itself stops searching too early or names a marker."""
    chance = random.Random(3)
    for topic in ("disorder", "equal-times", "segments-disorder", "transactions", "deleted", "append-time"):
        records = dataset.records(topic)
        for time in chance.choices([record.timestamp_ms + more for record in records for more in (0, 1)], k=4):
            record = next((record for record in records if record.timestamp_ms >= time), None)
            for name in (f"{time}", f"{time:020}", f"@{time // 1000}.{time % 1000:03}"):
                path = mounted / f"{topic}-0" / "by-time" / f"{name}.jsonl"
                if record is None:
                    assert "No such file" in failing("cat", path)
                else:
                    assert run("cat", path).stdout == line(topic, 0, golden(record)), path


def test_the_ends_are_links_to_the_visible_records(mounted, dataset):
    """And where no record is visible they do not exist."""
    for each in dataset.partitions():
        records = dataset.records(*each)
        for name, at in (("earliest", 0), ("latest", -1)):
            link = mounted / each.directory / name
            if records:
                assert os.readlink(link) == f"by-offset/{records[at].offset}"
                assert run("cat", link).stdout
            else:
                assert not os.path.lexists(link)


def test_a_healthy_partition_has_no_problems(mounted, dataset):
    """Padding of a running broker's indexes is none; a false alarm is looked into at night."""
    for each in dataset.partitions(internal=True):
        info = json.loads(run("cat", mounted / each.directory / "info.json").stdout)
        assert info["problems"] == [], each
        assert (info["topic"], info["partition"]) == each
        reported = dataset.offsets(*each)
        assert (info["logStartOffset"], info["logEndOffset"]) == (reported.earliest, reported.latest), each
        if not each.topic.startswith("__"):
            assert info["lastStableOffset"] == reported.latest_committed, each
            assert info["highWatermark"] in (reported.latest, None)
            offsets = [record.offset for record in dataset.records(*each)]
            ends = (offsets[0], offsets[-1]) if offsets else (None, None)
            assert (info["earliestOffset"], info["latestOffset"]) == ends
        padded = dataset.state == "live"
        states = [segment[index] for segment in info["segments"] for index in ("offsetIndex", "timeIndex")]
        assert set(states[:-2]) <= {"ok"}, each
        assert set(states[-2:]) <= ({"padded", "missing", "ok"} if padded else {"ok", "missing"}), each


def test_segments_are_the_real_files(mounted, dataset):
    """Under their own names, byte for byte, with their own times and sizes."""
    script = "cd {} && find *-[0-9]*{} -type f {} | sort"
    for about in (
        "-printf '%h/%f %s %T@ %b\\n'",
        "-size -1025k -exec sha256sum {} +",  # larger ones are a running broker's indexes, 20 MB of padding each time
    ):
        shown = shell(script.format(mounted.path, "/segments", about)).replace("/segments/", "/")
        assert shown == shell(script.format(dataset.path, "", about))
    for each in dataset.partitions(internal=True)[::20]:
        if each.directory != "long-index-0":
            run("diff", "-rq", mounted / each.directory / "segments", dataset.path / each.directory)


def test_walking_everything_meets_no_error(mounted, dataset):
    """`find`, `du` and backups walk by; an error there wakes somebody."""
    listed = shell(f"cd {mounted.path} && find . -type d -o -type l -exec readlink -e {{}} + -o -printf '%s %b %p\\n'",
                   timeout=300)  # fmt: skip
    assert "by-offset" in listed
    used = int(shell(f"du -s --block-size=1 {mounted.path}", timeout=300).split()[0])
    on_disk = sum(file.stat().st_blocks * 512 for file in dataset.path.rglob("*") if file.is_file())
    assert used <= on_disk + (64 << 10), "`du` counts the same bytes once: in segments/, not in the queries over them"


def test_reads_at_any_offset_give_the_same_bytes(mounted, dataset):
    """`dd` and `tail -c` seek; what they get must be what `cat` gets."""
    chance = random.Random(5)
    for name in ("by-offset/0..", "by-offset/100..400", "by-offset/100", "by-time/0.jsonl"):
        path = mounted / "codec-none-0" / name
        whole = run("cat", path).stdout
        with open(path, "rb", buffering=0) as file:
            for _ in range(60):
                at, size = chance.randrange(len(whole) + 10), chance.choice([1, 10, 4096, 70_000, 1 << 20])
                assert os.pread(file.fileno(), size, at) == whole[at : at + size], (name, at, size)
        got = run("dd", f"if={path}", "bs=777", "skip=3", "count=11", "status=none").stdout
        assert got == whole[3 * 777 : 14 * 777]


def test_no_tool_loses_lines_of_a_stream_in_silence(mounted, tmp_path):
    """Regression: `tac` took a seekable file of size 0 for one of /proc's, and lost up to 8 KiB of records."""
    path = mounted / "codec-none-0" / "by-offset" / "0...jsonl"
    whole = run("cat", path).stdout
    lines = whole.splitlines(keepends=True)
    assert len(whole) > 100_000
    assert run("tac", path).stdout == b"".join(reversed(lines))
    assert run("tail", "-n", "7", path).stdout == b"".join(lines[-7:])
    assert run("tail", "-c", "5000", path).stdout == whole[-5000:]
    assert run("head", "-c", "5000", path).stdout == whole[:5000]
    assert run("sort", path).stdout == b"".join(sorted(lines))
    assert (
        run("dd", f"if={path}", "bs=777", "skip=3", "count=11", "status=none", "iflag=fullblock").stdout
        == (whole[3 * 777 : 14 * 777])
    )
    run("cp", path, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == whole
    run("split", "-l", "100", path, tmp_path / "part.")
    assert b"".join(part.read_bytes() for part in sorted(tmp_path.glob("part.*"))) == whole


@pytest.mark.parametrize("name", RANGES)
def test_a_small_range_is_a_file_of_its_true_size(mounted, name):
    path, chance = mounted / "codec-none-0" / name, random.Random(name)
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        whole = b"".join(iter(lambda: os.read(file.fileno(), 70_000), b""))
        assert size == len(whole) == path.stat().st_size > 0
        for _ in range(200):
            at, length = chance.randrange(size + 10), chance.randrange(1, 9000)
            assert os.pread(file.fileno(), length, at) == whole[at : at + length]


@pytest.mark.parametrize("name", [*RANGES, "log.txt"])
def test_a_stream_cannot_be_sought(streaming, name):
    """What claims no size is read forwards, like a pipe; who seeks in it hears so at once, not wrong bytes later."""
    directory = streaming / "codec-none-0"
    path = directory / "segments" / f"{0:020}.log.txt" if name == "log.txt" else directory / name
    whole = run("cat", path).stdout
    with open(path, "rb", buffering=0) as file:
        for seek in (lambda: os.lseek(file.fileno(), 10, os.SEEK_SET), lambda: os.pread(file.fileno(), 10, 10)):
            with pytest.raises(OSError) as refused:
                seek()
            assert refused.value.errno == errno.ESPIPE
        first = os.read(file.fileno(), 1000)
        with open(path, "rb", buffering=0) as other:
            assert other.read(100) == whole[:100]
        assert first + b"".join(iter(lambda: os.read(file.fileno(), 70_000), b"")) == whole


def test_committed_views_are_the_committed_consumers(dataset, mount):
    """Aborted records, markers and what stands behind the last stable offset are left out of decoded views only."""
    mounted = mount(dataset.path, options="isolation=read_committed")
    found = sums(mounted, dataset, "cat by-offset/0...jsonl")
    tiled = sums(mounted, dataset, "for f in by-time/*; do cat $f.jsonl; done")
    for each in dataset.partitions():
        want = sha256(lines(dataset, each.topic, each.partition, "read_committed"))
        assert (found[each.directory], tiled[each.directory]) == (want, want), each
    for topic in ("transactions", "transactions-open", "compacted-transactions"):
        partition, reported = mounted / f"{topic}-0", dataset.offsets(topic)
        records = dataset.records(topic, 0, "read_committed")
        assert os.readlink(partition / "latest") == f"by-offset/{records[-1].offset}"
        whole = b"".join(batch.data for batch in model.visible(dataset.path / f"{topic}-0", reported.earliest))
        assert run("cat", partition / "by-offset/0..").stdout == whole
        assert run("cat", partition / "by-offset/-1").stdout == model.batches(dataset.path / f"{topic}-0")[-1].data
        assert run("cat", partition / "by-offset/end...jsonl").stdout == b""
