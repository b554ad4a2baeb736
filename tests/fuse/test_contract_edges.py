"""The contract where a directory is not as a broker leaves it: damage, gaps, strange names, wrong kinds of file."""

import errno
import gzip
import json
import os
import socket
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from kafkafs.format.names import segment_file
from tests.kafka.dataset import Dataset
from tests.log.making import Made, made, spread, write_partition, write_start
from tests.mounting import Mounted, run, shell

UUID = "0123456789abcdef0123456789abcdef"
BATCHES = [made(number * 3, [1000 + number * 10 + at for at in range(3)]) for number in range(12)]
RAW = b"".join(batch.data for batch in BATCHES)


def raw(batches: Sequence[Made]) -> bytes:
    return b"".join(batch.data for batch in batches)


def offsets(mounted: Mounted, name: str) -> list[int]:
    """The offsets in a decoded view."""
    return [int(each) for each in shell(f"jq .offset {mounted.path}/{name}").split()]


def info(mounted: Mounted, partition: str = "t-0") -> dict[str, object]:
    return dict(json.loads(run("cat", mounted / partition / "info.json").stdout))


def error_of(path: Path | str) -> int:
    """The errno of opening and reading a file to its end; 0 without one."""
    try:
        with open(path, "rb", buffering=0) as file:
            while file.read(1 << 20):
                pass
    except OSError as error:
        return error.errno or -1
    return 0


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_partition(tmp_path / "data", spread(BATCHES, 4))
    return tmp_path / "data"


def test_names_that_do_not_exist(mount, data):
    """Each is "No such file or directory" and nothing else, however it is asked for."""
    mounted = mount(data)
    offset_names = [
        "36", "99999999999999999999", "9" * 400, "-37", "-0", "end", "x", "", "1.json", "1.jsonl.jsonl", ".jsonl",
        "1..2.key", "1..2.value", "1..2.explain", "1..2.follow.jsonl", "1.follow.jsonl", "1..2..3", "..", "..5", "٣",
        "1 ", " 1", "+1", "0x1", "1\n", "\udcff", "\udcff..", "a\udc80..5.jsonl", "1..\x7f", "latest.", "earliest..x",
        "end.jsonl", "1.JSONL",
    ]  # fmt: skip
    time_names = [
        "1113",
        "-1",
        "@",
        "@1.",
        "2021-13-01",
        "now-1h",
        "-1w",
        "99999999999999999999",
        "1.follow.jsonl",
        "end",
    ]
    for view, names in (("by-offset", offset_names), ("by-time", time_names)):
        for name in names:
            if name not in ("", ".."):
                path = f"{mounted.path}/t-0/{view}/{name}"
                with pytest.raises(OSError) as caught:
                    os.stat(path)
                assert caught.value.errno == errno.ENOENT, path
    for path in (
        "x-0",
        "t-1",
        "t-0/x",
        "t-0/segments/x",
        "t-0/segments/..txt",
        "t-0/latest/x",
        ".kafkafs/x",
        "\udcff-0",
    ):
        with pytest.raises(OSError) as caught:
            os.stat(f"{mounted.path}/{path}")
        assert caught.value.errno in (errno.ENOENT, errno.ENOTDIR), path


def test_every_range_exists_and_is_clamped(mount, data):
    """A shell loop over ranges must not stumble at the log's ends."""
    mounted, every = mount(data), list(range(36))
    ranges = {
        "0..36": every, "0..": every, "0..1000": every, "100..50": [], "7..7": [], "36..": [], "1000..": [],
        "1000..2000": [], "end..": [], "end..end": [], "latest..": [35], "earliest..-33": [0, 1, 2], "-3..": [33, 34,
        35], "-99..2": [0, 1], "4..8": [4, 5, 6, 7], "35..end": [35], "-1..-1": [], "9223372036854775807..": [],
        "00004..0008": [4, 5, 6, 7], "latest..earliest": [], "end..0": [], "0..9223372036854775807": every,
    }  # fmt: skip
    for name, want in ranges.items():
        path = f"t-0/by-offset/{name}"
        assert offsets(mounted, path + ".jsonl") == want, name
        whole = raw([batch for batch in BATCHES if want and batch.last >= want[0] and batch.base <= want[-1]])
        assert run("cat", mounted / path).stdout == whole, name
        assert (mounted / path).stat().st_size == len(whole), name
        assert (mounted / (path + ".jsonl")).stat().st_size == len(run("cat", mounted / (path + ".jsonl")).stdout), name
        lines = run("cat", mounted / (path + ".batches.jsonl")).stdout.splitlines()
        assert sum(json.loads(each)["size"] for each in lines) == len(whole), name
    times = {
        "0..": every, "0..1000": [], "1001..1002": [1], "1112..": [35], "1113..": [], "5..2": [], "now..": [],
        "-1h..now": [], "@1.01..@1.012": [3, 4], "1970-01-01T00:00:01.1Z..": [30, 31, 32, 33, 34, 35],
        "1003..1010": [], "0..99999999": every,
    }  # fmt: skip
    for name, want in times.items():
        path = f"t-0/by-time/{name}"
        assert offsets(mounted, path + ".jsonl") == want, name
        whole = raw([batch for batch in BATCHES if want and batch.last >= want[0] and batch.base <= want[-1]])
        assert run("cat", mounted / path).stdout == whole, name


def test_nothing_can_be_changed(mount, data):
    """Not by root, not by accident."""
    place = mount(data).path
    for command in ("touch t-0/x", "mkdir x", "rm t-0/info.json", "rm -r t-0", "mv t-0 u-0", "ln -s a b",
                    "chmod 777 t-0", "chown 1 t-0/info.json", "truncate -s 0 t-0/by-offset/0",
                    "echo > t-0/by-offset/0", "touch t-0/info.json", "setfattr -n user.x -v 1 t-0/by-offset/0",
                    "ln t-0/info.json y", "mkfifo f", "rmdir t-0/by-time"):  # fmt: skip
        done = run("bash", "-c", f"cd {place} && {command}", check=False)
        assert done.returncode, command
        assert b"Read-only file system" in done.stderr, (command, done.stderr)


def stamps(data: Path) -> dict[str, tuple[int, ...]]:
    fields = (
        "st_ino",
        "st_size",
        "st_mode",
        "st_uid",
        "st_nlink",
        "st_blocks",
        "st_mtime_ns",
        "st_ctime_ns",
        "st_atime_ns",
    )
    return {
        str(path): tuple(getattr(path.lstat(), field) for field in fields) for path in [data, *sorted(data.rglob("*"))]
    }


def test_the_data_directory_is_left_as_it_was(mount, tmp_path):
    """Not a file made, locked or touched, and no access time moved: the broker's directory is not ours."""
    data = Dataset("4.3.1", "live").copy_to(tmp_path / "data", "segments-0", "transactions-0", "deleted-0", "empty-0")
    for path in [data, *data.rglob("*")]:
        os.utime(path, (1, path.stat().st_mtime), follow_symlinks=False)
    before = stamps(data)
    with_all = mount(data, options="isolation=read_committed")
    shell(
        f"""cd {with_all.path}; find . -type f -not -path './.kafkafs/*' | while read f; do cat "$f"; done > /dev/null
        for p in */; do cat $p/by-offset/0...jsonl $p/by-time/0...batches.jsonl; cat $p/by-*/*.explain $p/segments/*.txt
        getfattr -d $p/by-offset/* ; done > /dev/null 2>&1; ls -lR . > /dev/null; df . > /dev/null""",
        timeout=300,
    )
    assert stamps(data) == before


def test_a_corrupt_batch_is_shown_raw_and_refused_decoded(mount, data):
    """The bytes for whoever repairs, an error for whoever would take them for data."""
    path = data / "t-0" / segment_file(0, "log")
    damaged = bytearray(path.read_bytes())
    position = len(raw(BATCHES[:2]))
    damaged[position + 70] ^= 1
    path.write_bytes(damaged)
    mounted, skipping = mount(data), mount(data, options="corrupt=skip")
    point = mounted / "t-0/by-offset/7"
    assert run("cat", point).stdout == damaged[position : position + len(BATCHES[2].data)]
    assert [error_of(f"{point}{suffix}") for suffix in (".jsonl", ".key", ".value")] == [errno.EIO] * 3
    assert json.loads(run("cat", f"{point}.batches.jsonl").stdout)["valid"] is False
    assert "corrupt" in run("cat", f"{point}.explain").stdout.decode()
    assert run("cat", mounted / "t-0/by-offset/0..").stdout == bytes(damaged) + RAW[len(damaged) :]
    done = run("cat", mounted / "t-0/by-offset/0...jsonl", check=False)
    assert done.stdout.count(b"\n") == 6
    assert b"Input/output error" in done.stderr
    assert error_of(mounted / "t-0/by-offset/0..6.jsonl") == 0
    assert error_of(mounted / "t-0/by-offset/9...jsonl") == 0
    assert offsets(mounted, "t-0/by-time/1020.jsonl") == [9]
    assert "at position" in mounted.log
    assert offsets(skipping, "t-0/by-offset/0...jsonl") == [*range(6), *range(9, 36)]
    assert offsets(skipping, "t-0/by-offset/7.jsonl") == [9]


def test_a_batch_too_large_to_unpack_is_said_to_be(mount, tmp_path):
    """A small file must not become a gigabyte in the daemon's memory."""
    small, bomb = made(0, [1]), made(1, [2], size=3 << 20, codec=1, compress=gzip.compress)
    write_partition(tmp_path, {0: [small, bomb, made(2, [3])]})
    mounted = mount(tmp_path, options="max_batch=1M")
    assert error_of(mounted / "t-0/by-offset/1.jsonl") == errno.EFBIG
    assert error_of(mounted / "t-0/by-offset/0...jsonl") == errno.EFBIG
    assert error_of(mounted / "t-0/by-offset/1") == 0
    assert offsets(mounted, "t-0/by-offset/2.jsonl") == [2]


@pytest.mark.parametrize("what", ["missing", "empty", "directory", "link", "fifo", "socket"])
def test_a_closed_log_that_is_none_is_a_gap(mount, data, what, monkeypatch):
    """Everything else answers, nothing hangs, and info.json names it."""
    name = segment_file(12, "log")
    path = data / "t-0" / name
    path.unlink()
    if what == "empty":
        path.touch()
    elif what == "directory":
        path.mkdir()
    elif what == "link":
        path.symlink_to(segment_file(0, "log"))
    elif what == "fifo":
        os.mkfifo(path)
    elif what == "socket":
        monkeypatch.chdir(data / "t-0")
        socket.socket(socket.AF_UNIX).bind(name)
    mounted = mount(data)
    assert offsets(mounted, "t-0/by-offset/0...jsonl") == [*range(12), *range(24, 36)]
    assert run("bash", "-c", f"cat {mounted.path}/t-0/by-offset/*").stdout == raw(BATCHES[:4] + BATCHES[8:])
    assert offsets(mounted, "t-0/by-offset/14.jsonl") == [24]
    assert offsets(mounted, "t-0/by-time/1045.jsonl") == [24]
    assert run("readlink", mounted / "t-0/latest").stdout == b"by-offset/35\n"
    problems = info(mounted)["problems"]
    assert isinstance(problems, list)
    assert any(name in problem for problem in problems), problems
    if what not in ("empty",):
        assert not (mounted / "t-0/segments" / name).exists()
    assert run("find", mounted.path).returncode == 0


def test_checkpoints_that_cannot_be_read_count_as_absent(mount, data):
    """A broken line must not make the whole directory unreadable."""
    (data / "log-start-offset-checkpoint").write_text("0\n1\nt zero 5\n")
    (data / "replication-offset-checkpoint").write_bytes(b"\xff\xfe")
    (data / "t-0/leader-epoch-checkpoint").write_text("7\n")
    (data / "t-0/partition.metadata").write_text("nonsense")
    mounted = mount(data)
    assert offsets(mounted, "t-0/by-offset/0...jsonl") == list(range(36))
    reported = info(mounted)
    assert (reported["logStartOffset"], reported["highWatermark"], reported["topicId"], reported["leaderEpochs"]) == (
        0,
        *[None] * 3,
    )
    for name in ("log-start-offset-checkpoint", "replication-offset-checkpoint", "leader-epoch", "partition.metadata"):
        assert name in str(reported["problems"])


def test_the_log_start_may_stand_inside_a_batch(mount, data):
    """Raw views begin with that batch, decoded ones with that record; closed segments below it are not listed."""
    write_start(data, 16)
    mounted = mount(data)
    assert shell(f"ls {mounted.path}/t-0/by-offset").split() == [f"{12:020}..{24:020}", f"{24:020}.."]
    assert shell(f"ls {mounted.path}/t-0/by-time").split() == ["0000000000000..0000000001073", "0000000001073.."]
    assert run("bash", "-c", f"cat {mounted.path}/t-0/by-offset/*").stdout == raw(BATCHES[5:])
    assert offsets(mounted, "t-0/by-offset/0...jsonl") == list(range(16, 36))
    assert offsets(mounted, "t-0/by-time/0...jsonl") == list(range(16, 36))
    assert offsets(mounted, "t-0/by-time/1.jsonl") == [16]
    assert offsets(mounted, "t-0/earliest.jsonl".replace("earliest", "by-offset/earliest")) == [16]
    assert error_of(mounted / "t-0/by-offset/15") == errno.ENOENT
    assert run("cat", mounted / "t-0/by-offset/16").stdout == BATCHES[5].data
    assert (mounted / "t-0/segments" / segment_file(0, "log")).exists()


def test_partitions_on_their_way_out_or_in_keep_their_names(mount, data):
    """And the checkpoint of the plain name is not theirs, but for a replica being moved."""
    marked = {mark: f"t-0.{UUID}-{mark}" for mark in ("delete", "stray", "future")}
    for name in marked.values():
        write_partition(data, spread(BATCHES, 4), name)
    write_start(data, 16)
    mounted = mount(data)
    assert shell(f"ls {mounted.path}").split() == sorted(["t-0", *marked.values()])
    starts = {mark: info(mounted, name)["logStartOffset"] for mark, name in marked.items()}
    assert starts == {"delete": 0, "stray": 0, "future": 16}
    assert offsets(mounted, marked["delete"] + "/by-offset/5.jsonl") == [5]


def test_a_partition_in_two_data_directories_is_listed_once(mount, data, tmp_path):
    """A glob counts each record once; hiding a copy would hide data, and mixing them would invent a log."""
    write_partition(tmp_path / "other", {0: BATCHES[:2]})
    write_partition(tmp_path / "other", {0: BATCHES[:1]}, "u-0")
    mounted = mount(data, tmp_path / "other")
    assert shell(f"ls {mounted.path}").split() == ["t-0", "u-0"]
    assert ".replicas" in shell(f"ls -a {mounted.path}").split()
    (said,) = [line for line in mounted.log.splitlines() if ".replicas/" in line]
    assert "1 partition is in several data directories" in said
    assert shell(f"ls {mounted.path}/.replicas/*").split() == [
        f"{mounted.path}/.replicas/1:", "t-0", f"{mounted.path}/.replicas/2:", "t-0", "u-0",
    ]  # fmt: skip
    assert offsets(mounted, ".replicas/2/t-0/by-offset/0...jsonl") == list(range(6))
    for name in ("t-0", ".replicas/1/t-0"):
        assert offsets(mounted, f"{name}/by-offset/latest.jsonl") == [35]
    assert str(tmp_path / "other") in str(info(mounted)["problems"])
    assert str(data) in str(info(mounted, ".replicas/2/t-0")["problems"])


def test_strangers_in_the_directories_are_left_alone(mount, data):
    """Links lead out of the data directory, FIFOs hang whoever opens them; only regular files are served."""
    (data / "link-0").symlink_to("t-0")
    (data / "not a partition").mkdir()
    (data / "file-0").touch()
    inside = data / "t-0"
    (inside / "notes\x1b[2J\udcff").touch()
    (inside / "extra.txt").write_text("hello")
    (inside / "link.txt").symlink_to("/etc/passwd")
    os.mkfifo(inside / "fifo")
    mounted = mount(data)
    assert shell(f"ls {mounted.path}").split() == ["t-0"]
    served = shell(f"ls {mounted.path}/t-0/segments").split()
    assert "extra.txt" in served
    assert not {"link.txt", "fifo"} & set(served)
    assert not any("\x1b" in name for name in served)
    assert offsets(mounted, "t-0/by-offset/0...jsonl") == list(range(36))
    assert "link.txt" in str(info(mounted)["problems"])
    assert "fifo" in str(info(mounted)["problems"])
    assert "link-0" in mounted.log


def test_an_empty_partition_has_no_ends_and_no_records(mount, tmp_path):
    write_partition(tmp_path, {5: []})
    write_partition(tmp_path, {}, "none-0")
    mounted = mount(tmp_path)
    assert sorted(shell(f"ls {mounted.path}/t-0").split()) == [
        "by-key",
        "by-offset",
        "by-time",
        "info.json",
        "segments",
    ]
    assert (info(mounted)["logStartOffset"], info(mounted)["logEndOffset"]) == (5, 5)
    for partition in ("t-0", "none-0"):
        for name in ("by-offset/0..", "by-offset/0...jsonl", "by-time/0...jsonl", "by-offset/0...batches.jsonl"):
            assert run("cat", mounted / partition / name).stdout == b""
        for name in ("by-offset/5", "by-offset/latest", "by-time/0", "earliest", "latest"):
            assert error_of(mounted / partition / name) == errno.ENOENT
        assert info(mounted, partition)["problems"] == []
    assert run("find", mounted.path, "-ls").returncode == 0


def test_timestamps_of_any_value_are_served(mount, tmp_path):
    """Producers set what they like: none, before 1970, after the year 292,000,000."""
    times = [-1, 0, -5, 2**62, 7, 2**63 - 1]
    write_partition(tmp_path, {0: [made(number, [time]) for number, time in enumerate(times)], 6: [made(6, [9])]})
    mounted = mount(tmp_path)
    shown = [int(each) for each in shell(f"jq .timestamp {mounted.path}/t-0/by-offset/0...jsonl").split()]
    assert len(shown) == 7
    assert offsets(mounted, "t-0/by-time/0...jsonl") == list(range(7))
    assert offsets(mounted, "t-0/by-time/1.jsonl") == [3]
    listed = shell(f"cd {mounted.path}/t-0/by-time; for f in *; do cat $f.jsonl; done | jq .offset").split()
    assert [int(each) for each in listed] == list(range(7))
    assert run("ls", "-l", mounted / "t-0/by-time", mounted / "t-0/by-offset").returncode == 0
    for offset in range(7):
        assert (
            run("stat", mounted / f"t-0/by-offset/{offset}", mounted / f"t-0/by-offset/{offset}.jsonl").returncode == 0
        )


def test_ranges_carry_the_time_of_their_newest_record(mount, data):
    """`ls -l by-time/` reads as a calendar."""
    mounted = mount(data)
    times = [entry.stat().st_mtime_ns // 1_000_000 for entry in sorted((mounted / "t-0/by-time").iterdir())]
    assert times[:2] == [1032, 1072]
    assert (mounted / "t-0/by-offset/0..12").stat().st_mtime_ns == 1032 * 1_000_000


def test_modes_are_those_of_the_files_less_every_write_bit(mount, data):
    for path, mode in ((data / "t-0", 0o750), (data / "t-0" / segment_file(0, "log"), 0o640),
                       (data / "t-0" / segment_file(12, "log"), 0o604)):  # fmt: skip
        path.chmod(mode)
    os.chown(data / "t-0" / segment_file(0, "log"), 0, 12)
    mounted = mount(data)

    def shown(name: str) -> str:
        return stat.filemode(os.stat(mounted / name).st_mode)

    assert shown("t-0") == shown("t-0/by-offset") == shown("t-0/segments") == "dr-xr-x---"
    assert shown("t-0/by-offset/0") == shown("t-0/by-offset/0.jsonl") == "-r--r-----"
    assert os.stat(mounted / "t-0/by-offset/0").st_gid == 12
    assert shown("t-0/by-offset/12..13") == "-r-----r--"
    assert shown("t-0/by-offset/0..20") == "-r--------"
    assert shown("t-0/info.json") == "-r--------"
    (data / "t-0" / segment_file(0, "index")).chmod(0o754)  # as all files of a disk are that knows no modes
    assert shown(f"t-0/segments/{segment_file(0, 'index')}") == "-r-xr-xr--"
