"""Small ranges as files, and larger ones as streams, under the programs and calls that trust a size.

What the kernel was told of an open file is what it gives, while the log grows, is cut, or turns out to be damaged.
"""

import errno
import mmap
import os
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import FileIO
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pyarrow.json
import pytest

from tests.conftest import Mount
from tests.kafka import jars
from tests.kafka.dataset import Dataset
from tests.log.making import Made, log_of, made, spread, write_partition
from tests.mounting import KAFKAFS, Mounted, run, wait_until
from tests.view.json_model import text_of

BATCHES = [made(number * 10, [1000 + number] * 10, size=number * 7 % 300) for number in range(300)]
RANGE = "t-0/by-offset/0...jsonl"


@pytest.fixture(scope="module")
def mounted(mount_for_module: Mount, tmp_path_factory: pytest.TempPathFactory) -> Mounted:
    data = tmp_path_factory.mktemp("data")
    write_partition(data, spread(BATCHES, 100))
    return mount_for_module(data)


def given_by(file: FileIO, size: int = 1 << 16) -> tuple[bytes, int]:
    """What reads give until they end, and the number of the error that they end in."""
    got = b""
    try:
        while more := file.read(size):
            got += more
    except OSError as error:
        return got, error.errno or 0
    return got, 0


def appended(mounted: Mounted, log: Path, batch: Made) -> None:
    """A batch more, and the mount knows of it."""
    with log.open("ab") as file:
        file.write(batch.data)
    newest = mounted / f"t-0/by-offset/{batch.last}"
    wait_until(newest.exists)


DUCKDB = KAFKAFS.with_name("duckdb")
RAW_POINTS = ["t-0/by-offset/1234", "t-0/earliest"]
KINDS = [
    "t-0/by-offset/0...jsonl", "t-0/by-offset/777..1234.jsonl", "t-0/by-time/1005..1100.jsonl",
    "t-0/by-offset/0...decoded.jsonl", "t-0/by-offset/0...batches.jsonl", "t-0/info.json", "t-0/by-offset/5..5.jsonl",
    "t-0/segments/00000000000000000000.log.txt", "t-0/segments/00000000000000000000.index.txt",
    ".kafkafs/README", ".cluster/state.json", "t-0/by-offset/0..", "t-0/by-time/1005..1100", "t-0/by-time/1005.explain",
    "t-0/by-offset/1234.jsonl", "t-0/by-offset/1234.batches.jsonl", "t-0/by-time/before-1100.value", *RAW_POINTS,
]  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_has_its_true_size_and_the_same_bytes_anywhere(mounted: Mounted, name: str) -> None:
    chance = random.Random(name)
    with (mounted / name).open("rb", buffering=0) as file:
        whole = file.readall()
        assert os.fstat(file.fileno()).st_size == len(whole)
        for _ in range(200):
            at, size = chance.randrange(len(whole) + 10), chance.randrange(1, 20_000)
            assert os.pread(file.fileno(), size, at) == whole[at : at + size]
        accesses = [mmap.MAP_PRIVATE] if name in RAW_POINTS else [mmap.MAP_SHARED, mmap.MAP_PRIVATE]
        for access in accesses if whole else ():
            with mmap.mmap(file.fileno(), 0, access, mmap.PROT_READ) as mapped:
                assert mapped[:] == whole


def test_the_bytes_are_those_of_the_records(mounted: Mounted) -> None:
    assert (mounted / RANGE).read_bytes() == text_of(BATCHES)


@pytest.mark.parametrize(
    "command",
    ["cat {0} > {1}", "cp {0} {1}", "tail -c +1 {0} > {1}", "tac {0} | tac > {1}", "dd if={0} bs=9k status=none > {1}",
     "split -n 7 {0} {1}. && cat {1}.* > {1}", "tar -C {2} -ch {3} | tar -xO > {1}", "head -n 3000 {0} > {1}",
     "sort -c -s -k 9999 {0} && cp {0} {1}", "zip -q - -j {0} | funzip > {1}", "cp {0} {1} && cmp {0} {1}",
     "vim -es -N -u NONE -c 'w {1}' -c q {0}", "LESSOPEN= less -E {0} > {1}",
     "rsync {0} {1}", "rg -N . {0} > {1}", "rg -N --no-mmap . {0} > {1}"],
)  # fmt: skip
def test_programs_that_trust_a_size_get_all_of_it(mounted: Mounted, tmp_path: Path, command: str) -> None:
    run("bash", "-c", command.format(mounted / RANGE, tmp_path / "copy", mounted.path, RANGE))
    assert (tmp_path / "copy").read_bytes() == text_of(BATCHES)


def test_the_head_of_a_file_is_no_complaint(mounted: Mounted) -> None:
    done = run("head", "-n", "1", mounted / RANGE)
    assert (done.stdout, done.stderr) == (text_of(BATCHES[:1]).splitlines(keepends=True)[0], b"")


@pytest.mark.parametrize("name", [RANGE, "t-0/info.json", "t-0/by-offset/777..1234.decoded.jsonl"])
def test_tables_are_made_of_it(mounted: Mounted, name: str) -> None:
    """They seek, map, and read the size's worth from several threads."""
    path = mounted / name
    count = run(DUCKDB, "-csv", "-noheader", "-c", f"select count(*) from '{path}'").stdout
    with pyarrow.memory_map(str(path)) as mapped:
        lines = mapped.read().count(b"\n")
    if name.endswith(".jsonl"):
        assert int(count) == pyarrow.json.read_json(str(path)).num_rows == lines
    else:
        assert int(count) == 1


BROKERS_RANGES = [
    "codec-zstd-0/by-offset/0...jsonl", "headers-0/by-offset/0...decoded.jsonl",
    ".topics/partitions/by-time/0...jsonl",
]  # fmt: skip
COMMANDS = [
    "jq -c . {0}", "tac {0}", "tail -n 7 {0}", "tail -c 999 {0}", "head -n 7 {0}", "split -n 3 --filter=cksum {0}",
    "sort {0}", "duckdb -json -c \"from read_json('{0}', sample_size=-1)\"",
]  # fmt: skip
TABLES: list[Callable[[str], Any]] = [
    pyarrow.json.read_json,
    lambda path: polars.read_ndjson(path, infer_schema_length=None),
    lambda path: polars.scan_ndjson(path, infer_schema_length=None).collect(),
    lambda path: pandas.read_json(path, lines=True),
]


@pytest.mark.parametrize("stopped", jars.ENDS, indirect=True)
def test_tools_find_in_a_range_what_they_find_in_a_copy(mount: Mount, stopped: Dataset, tmp_path: Path) -> None:
    """Of what brokers wrote."""
    mounted, copy = mount(stopped.path), tmp_path / "copy.jsonl"
    script = f"PATH={KAFKAFS.parent}:$PATH; " + " && ".join(COMMANDS)
    for name in BROKERS_RANGES:
        path = mounted / name
        copy.write_bytes(run("cat", path).stdout)
        run("cmp", path, copy)
        of_range, of_copy = (run("bash", "-c", script.format(each)) for each in (path, copy))
        assert (name, of_range.stdout, of_range.stderr) == (name, of_copy.stdout, b"")
        for read in TABLES:
            table = read(str(path))
            assert len(table) == copy.read_bytes().count(b"\n") > 0
            assert table.equals(read(str(copy)))


def test_copies_inside_of_the_kernel_give_all_of_it(mounted: Mounted, tmp_path: Path) -> None:
    whole, got = text_of(BATCHES), b""
    into, out = os.pipe()
    with open(mounted / RANGE, "rb") as file, open(into, "rb", buffering=0) as reading, open(out, "wb") as writing:
        while count := os.splice(file.fileno(), writing.fileno(), 1 << 16):
            got += reading.read(count)
    with open(mounted / RANGE, "rb") as file, open(tmp_path / "copy", "wb") as copy:
        while os.sendfile(copy.fileno(), file.fileno(), None, 1 << 20):
            pass
    assert (got == whole, (tmp_path / "copy").read_bytes() == whole) == (True, True)


@pytest.mark.parametrize(("exact", "sizes"), [("0", (False, False)), ("20K", (True, False)), ("all", (True, True))])
def test_the_option_says_what_is_small(mount: Mount, tmp_path: Path, exact: str, sizes: tuple[bool, bool]) -> None:
    write_partition(tmp_path, spread(BATCHES, 100))
    mounted = mount(tmp_path, options=f"exact={exact}")
    for name, has_size, batches in zip(("0..100", "0.."), sizes, (BATCHES[:10], BATCHES), strict=True):
        path, whole = mounted / f"t-0/by-offset/{name}.jsonl", text_of(batches)
        assert path.stat().st_size == (len(whole) if has_size else 0)
        assert run("cat", path).stdout == whole
        with path.open("rb") as file:
            assert file.seekable() == has_size


def test_what_is_open_stays_as_it_was_opened_while_the_log_grows(mount: Mount, tmp_path: Path) -> None:
    log = write_partition(tmp_path, {0: BATCHES[:100]}) / f"{0:020}.log"
    mounted = mount(tmp_path)
    files = []
    for count in range(100, 104):
        file = (mounted / RANGE).open("rb", buffering=0)
        files.append((file, text_of(BATCHES[:count])))
        for each, whole in files:
            assert os.fstat(each.fileno()).st_size == len(whole)
            assert os.pread(each.fileno(), len(whole) + 999, 0) == whole
            assert os.pread(each.fileno(), 999, len(whole) - 99) == whole[-99:]
            with mmap.mmap(each.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ) as mapped:
                assert mapped[:] == whole
        assert (mounted / RANGE).stat().st_size == len(files[-1][1])
        appended(mounted, log, BATCHES[count])
        grown = len(text_of(BATCHES[: count + 1]))
        wait_until(lambda: (mounted / RANGE).stat().st_size == grown)  # noqa: B023 (it is over before the next)
    for each, _ in files:
        each.close()


def test_many_who_open_a_growing_log_at_once_each_have_the_size_of_what_they_get(mount: Mount, tmp_path: Path) -> None:
    """Answers of two sizes are under way at once, and the kernel keeps the one that comes first."""
    log = write_partition(tmp_path, {0: BATCHES[:10]}) / f"{0:020}.log"
    mounted = mount(tmp_path)
    whole, written = text_of(BATCHES), [False]

    def read(name: str) -> int:
        """How often, until all is written."""
        count = 0
        while not (written[0] and count):
            try:
                file = (mounted / name).open("rb", buffering=0)
            except OSError as error:
                assert error.errno == errno.ESTALE  # noqa: PT017 (it became another file more than once meanwhile)
                continue
            with file:
                size = os.fstat(file.fileno()).st_size
                got = given_by(file)
                assert (len(got[0]), got[1]) == (size, 0)
                assert name != RANGE or whole.startswith(got[0])
            count += 1
        return count

    with ThreadPoolExecutor(9) as pool:
        counts = [pool.submit(read, name) for name in [RANGE, RANGE, "t-0/info.json"] * 3]
        try:
            for batch in BATCHES[10:]:
                with log.open("ab") as file:
                    file.write(batch.data)
                assert (mounted / RANGE).stat().st_size <= len(whole)
        finally:
            written[0] = True
        assert all(count.result() for count in counts)


def test_a_range_that_grows_too_large_is_a_stream_for_who_comes_then(mount: Mount, tmp_path: Path) -> None:
    log = write_partition(tmp_path, {0: BATCHES[:2]}) / f"{0:020}.log"
    mounted = mount(tmp_path, options=f"exact={log.stat().st_size}")
    with (mounted / RANGE).open("rb", buffering=0) as file:
        appended(mounted, log, BATCHES[2])
        wait_until(lambda: (mounted / RANGE).stat().st_size == 0)
        assert run("cat", mounted / RANGE).stdout == text_of(BATCHES[:3])
        assert os.fstat(file.fileno()).st_size == len(text_of(BATCHES[:2]))
        assert file.readall() == text_of(BATCHES[:2])


def test_what_was_cut_is_stale_or_whole_and_never_mixed(mount: Mount, tmp_path: Path) -> None:
    """Half is read; then another leader's log stands there."""
    log = write_partition(tmp_path, {0: BATCHES[:100]}) / f"{0:020}.log"
    mounted = mount(tmp_path)
    before = text_of(BATCHES[:100])
    others = [made(number * 10, [5000] * 10, size=170) for number in range(50, 150)]
    with (mounted / RANGE).open("rb", buffering=0) as file:
        half = file.read(1000)
        size = sum(len(batch.data) for batch in BATCHES[:50])
        with log.open("r+b") as cut:
            cut.truncate(size)
            cut.seek(size)
            cut.write(b"".join(batch.data for batch in others))
        after = text_of(BATCHES[:50] + others)
        wait_until(lambda: (mounted / RANGE).stat().st_size == len(after))
        assert run("cat", mounted / RANGE).stdout == after
        assert os.fstat(file.fileno()).st_size == len(before)
        got, error = given_by(file)
        assert before[len(half) :].startswith(got)
        assert error == (0 if len(half + got) == len(before) else errno.ESTALE)


def damaged(tmp_path: Path, at: int) -> None:
    """The batch of that number has a byte that is wrong."""
    log = write_partition(tmp_path, {0: BATCHES[:100]}) / f"{0:020}.log"
    data = bytearray(log.read_bytes())
    data[sum(len(batch.data) for batch in BATCHES[:at]) + 80] ^= 1
    log.write_bytes(data)


@pytest.fixture(scope="module")
def mounted_damaged(mount_for_module: Mount, tmp_path_factory: pytest.TempPathFactory) -> Mounted:
    data = tmp_path_factory.mktemp("damaged")
    damaged(data, 50)
    return mount_for_module(data)


@pytest.mark.parametrize("at", [0, 1, 50, 98])
def test_damage_is_one_byte_more_that_cannot_be_read(mount: Mount, tmp_path: Path, at: int) -> None:
    """So that no tool takes the part for the whole."""
    damaged(tmp_path, at)
    mounted, whole = mount(tmp_path), text_of(BATCHES[:at])
    path = mounted / RANGE
    assert path.stat().st_size == len(whole) + 1
    for size in (999, 4096, 1 << 20):
        with path.open("rb", buffering=0) as file:
            assert given_by(file, size) == (whole, errno.EIO)
    with path.open("rb", buffering=0) as file:
        for start in {len(whole), max(0, len(whole) - 50)}:
            with pytest.raises(OSError, match="Input/output"):
                os.pread(file.fileno(), 4096, start)
            before = max(0, start - 50)
            assert before == start or os.pread(file.fileno(), start - before, before) == whole[before:start]


@pytest.mark.parametrize(
    "command",
    ["cat {0}", "cp {0} {1}", "tail -n 1 {0}", "tail -c 9 {0}", "tac {0}", "wc -l {0}",
     "tar -cf {1} {0}", "jq -c . {0}", "split -n 3 {0} {1}", "cat {0} > {1}; cmp {0} {1}", "grep -c z {0}", "sort {0}",
     "rsync {0} {1}", "rg --no-mmap -c k {0}", f"{DUCKDB} -c \"from '{{0}}'\""],
)  # fmt: skip
def test_no_program_takes_what_stands_before_damage_for_the_whole(
    mounted_damaged: Mounted, tmp_path: Path, command: str
) -> None:
    path = mounted_damaged / RANGE
    done = run("bash", "-c", command.format(path, tmp_path / "copy"), check=False)
    assert done.returncode != 0


def test_damage_that_is_skipped_leaves_a_size_of_the_rest(mount: Mount, tmp_path: Path) -> None:
    damaged(tmp_path, 50)
    path = mount(tmp_path, options="corrupt=skip") / RANGE
    whole = text_of(BATCHES[:50] + BATCHES[51:100])
    assert (path.stat().st_size, path.read_bytes() == whole) == (len(whole), True)


@pytest.mark.parametrize("call", [os.lseek, os.pread])
def test_a_follower_is_always_a_stream(mounted: Mounted, call: Callable[..., object]) -> None:
    path = mounted / "t-0/by-offset/0...follow.jsonl"
    assert path.stat().st_size == 0
    with path.open("rb", buffering=0) as file, pytest.raises(OSError) as refused:
        call(file.fileno(), 10, 0 if call is os.lseek else 10)
    assert refused.value.errno == errno.ESPIPE


@pytest.mark.parametrize("value", ["", "8X", "-1", "8MM", "none", "1.5M"])
def test_what_is_no_size_is_one_sentence(tmp_path: Path, value: str) -> None:
    write_partition(tmp_path, {0: BATCHES[:1]})
    assert log_of(tmp_path).end_offset == 10
    done = run(KAFKAFS, "cat", "-o", f"exact={value}", tmp_path, RANGE, check=False)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"exact" in done.stderr
