"""`kafkafs grep --everywhere` and what a plain grep says of files it leaves out, against what was put where."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic

from kafkafs.search.everywhere import first_member
from tests.kafka import replicated
from tests.kafka.broker import CENTURY_MS
from tests.kafka.broker import wait_until as wait_for
from tests.kafka.dataset import every
from tests.kafka.tiered import Tiered
from tests.kafka.writer import Record, Writer, configure, now_ms, roll
from tests.log.making import made, write_partition, write_start
from tests.mounting import KAFKAFS

UUID = "0123456789abcdef0123456789abcdef"
LOG = f"{0:020}.log"


def grep(*words: str | Path, cwd: Path | None = None) -> tuple[int, list[str], str]:
    """Exit code, lines, and what is on standard error."""
    done = subprocess.run([KAFKAFS, "grep", *words], capture_output=True, text=True, timeout=300, cwd=cwd)
    return done.returncode, done.stdout.splitlines(), done.stderr


def places(lines: list[str]) -> dict[str, list[int]]:
    """The offsets by path."""
    found: dict[str, list[int]] = {}
    for line in lines:
        assert next(iter(json.loads(line))) == "path"
        found.setdefault(json.loads(line)["path"], []).append(json.loads(line)["offset"])
    return found


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """The id `k7` in every hiding place of two brokers' directories; each has records of other ids beside it."""
    ours, theirs, seven = tmp_path / "one", tmp_path / "two", made(5, [1000, 1001, 1002, 1003])
    for data in (ours, theirs):
        write_partition(data, {0: [made(0, [1] * 5), seven], 20: [made(20, [2] * 5)]}, "orders-0")
    for name in (f"orders-1.{UUID}-delete", f"orders-0.{UUID}-future", f"old-0.{UUID}-stray"):
        write_partition(ours, {0: [made(0, [1] * 5), seven]}, name)
    write_start(ours, 15, "orders")
    for name in (f"{3:020}.log.deleted", f"{4:020}.log.cleaned", f"{5:020}.log.swap"):
        (ours / "orders-0" / name).write_bytes(seven.data + made(50, [9]).data[:50])
    last = ours / "orders-0" / f"{20:020}.log"
    last.write_bytes(last.read_bytes() + b"rubbish" * 9 + seven.data)
    return tmp_path


PLANTED = [
    f"old-0.{UUID}-stray/{LOG}", f"orders-0/{LOG}", f"orders-0/{3:020}.log.deleted", f"orders-0/{4:020}.log.cleaned",
    f"orders-0/{5:020}.log.swap", f"orders-0/{20:020}.log", f"orders-0.{UUID}-future/{LOG}",
    f"orders-1.{UUID}-delete/{LOG}",
]  # fmt: skip


def test_an_id_is_found_in_every_hiding_place(planted):
    code, lines, reported = grep("--everywhere", "-F", "k7", "one", "two", cwd=planted)
    wanted = [f"one/{each}" for each in PLANTED] + [f"two/orders-0/{LOG}"]
    assert places(lines) == {path: [7] for path in wanted}
    assert code == 2, "the rubbish between two valid batches of a live log may have held more"
    assert reported.count("\n") == 1
    assert f"one/orders-0/{20:020}.log" in reported
    for line in lines:
        shown = json.loads(line)
        name = shown["path"].split("/")[1].split(".")[0]
        assert f"{shown['topic']}-{shown['partition']}" == name


def test_options_count_by_file(planted):
    code, lines, reported = grep("-l", "--everywhere", "-F", "k7", "--topics", "old,orders", "two/", "one", cwd=planted)
    assert sorted(lines) == sorted([f"two/orders-0/{LOG}", *(f"one/{each}" for each in PLANTED)])
    code, lines, reported = grep("-c", "--everywhere", "-F", "k7", "--topics", "old", "one", cwd=planted)
    assert (code, lines, reported) == (0, [f"one/old-0.{UUID}-stray/{LOG}:1"], "")
    code, lines, _ = grep("-c", "-m", "2", "--everywhere", "k[5-8]", "--topics", "orders", planted / "two")
    assert lines == [f"{planted}/two/orders-0/{LOG}:2", f"{planted}/two/orders-0/{20:020}.log:0"]
    assert code == 0
    words = ["--everywhere", ".", "--topics", "old", "one"]
    assert places(grep("--from-offset", "3", "--to-offset", "6", *words, cwd=planted)[1]) == {
        f"one/old-0.{UUID}-stray/{LOG}": [3, 4, 5]
    }
    assert [*places(grep("--from-time", "1001", "--to-time", "1003", *words, cwd=planted)[1]).values()] == [[6, 7]]
    assert len(grep("--decoded", *words, cwd=planted)[1]) == 9
    assert grep("--from-time", "end-1h", *words, cwd=planted)[0] == 2
    assert grep("--everywhere", "-F", "nobody", "--topics", "old", "one", cwd=planted) == (1, [], "")


def test_a_plain_search_tells_what_it_leaves_out(planted):
    """Other replicas' files, and files of other topics, do not count."""
    sizes = {each: (planted / "one" / each).stat().st_size for each in PLANTED}
    left = {each: size for each, size in sizes.items() if not re.fullmatch(r"orders-0/\d*\.log", each)}
    (planted / "two" / "orders-0" / f"{8:020}.log.deleted").write_bytes(made(8, [1]).data)

    def reported(count: int, size: int, text: str) -> None:
        assert text.count("\n") == 1
        assert re.findall(r"\d+", text) == [str(count), str(size)]
        assert "--everywhere" in text

    code, lines, text = grep("-F", "k22", "one", cwd=planted)
    reported(len(left), sum(left.values()), text.splitlines(True)[-2] if "not a valid" in text else text)
    orders = {each: size for each, size in left.items() if each.startswith("orders")}
    (planted / "one" / "orders-0" / f"{20:020}.log").write_bytes(made(20, [2] * 5).data)
    code, lines, text = grep("-c", "-F", "k22", "--topics", "orders", "one", "two", cwd=planted)
    assert (code, lines) == (0, ["orders-0:1"])
    reported(len(orders), sum(orders.values()), text)
    code, lines, text = grep("-F", "nobody", "--topics", "orders", "one", cwd=planted)
    reported(len(orders), sum(orders.values()), text)
    assert code == 1
    code, lines, text = grep("-F", "k7", "--topics", "old", "one", cwd=planted)
    assert (code, lines) == (2, [])
    assert "--everywhere" in text


@pytest.mark.parametrize(
    ("name", "torn", "code"),
    [
        ("orders-0", True, 0),  # as a broker that was killed leaves it
        ("orders-0", False, 2),
        (f"orders-0.{UUID}-delete", True, 0),
        (f"orders-0.{UUID}-delete", False, 0),
    ],
)
def test_only_a_leftover_may_end_in_anything(tmp_path, name, torn, code):
    data = made(0, [1, 2]).data
    end = bytearray(made(2, [3, 4]).data)
    end[80] ^= 1
    write_partition(tmp_path / "data", {0: []}, name)
    (tmp_path / "data" / name / LOG).write_bytes(data + (end[:60] if torn else end))
    found, lines, reported = grep("--everywhere", "-c", ".", tmp_path / "data")
    assert (found, lines) == (code, [f"{tmp_path}/data/{name}/{LOG}:2"])
    assert reported.count("\n") == (code == 2)


def test_a_damaged_batch_inside_of_a_file_is_named(tmp_path):
    one, two = made(0, [1, 2]).data, bytearray(made(2, [3, 4]).data)
    two[80] ^= 1
    write_partition(tmp_path, {0: []}, "orders-0")
    (tmp_path / "orders-0" / LOG).write_bytes(one + two + made(4, [5]).data)
    code, lines, reported = grep("--everywhere", "-c", ".", tmp_path)
    assert (code, lines) == (2, [f"{tmp_path}/orders-0/{LOG}:3"])
    assert f"{len(two)} bytes at position {len(one)}" in reported


def test_a_brokers_leftovers_hold_what_was_written():
    """A deleted topic, and compacted segments that were to be deleted."""
    data = next(each.path for each in every() if each.release == "3.9.1" and each.state == "stopped")
    code, lines, reported = grep("--everywhere", ".", "--topics", "doomed", data)
    values = [json.loads(line)["value"] for line in lines]
    assert (code, reported) == (0, "")
    assert sorted(values) == sorted(f"{batch}/{number}" for batch in range(20) for number in range(5))
    _, lines, _ = grep("--everywhere", "-F", "hot-", "--topics", "compacted", data)
    deleted = {json.loads(line)["offset"] for line in lines if json.loads(line)["path"].endswith(".deleted")}
    kept = {json.loads(line)["offset"] for line in grep("-F", "hot-", "--topics", "compacted", data)[1]}
    assert deleted - kept, "the cleaner removed them from the log only"


def test_all_replicas_of_a_cluster_are_searched():
    places = replicated.directories()
    code, lines, reported = grep("--everywhere", "-c", ".", "--topics", "plain", *places)
    counts = dict.fromkeys(map(str, places), 0)
    for line in lines:
        path, count = line.rsplit(":", 1)
        counts[str(Path(path).parent.parent)] += int(count)
    one = [grep("-c", ".", "--topics", "plain", each)[1] for each in places]
    assert (code, reported) == (0, "")
    assert all(count >= int(only[0].split(":")[1]) for count, only in zip(counts.values(), one, strict=True))


def test_remote_segments_are_searched_by_their_objects():
    tiered = Tiered()
    words = ("-F", "value 2", "--topics", "orders")
    code, lines, reported = grep("--everywhere", *words, "-o", f"tiered={tiered.tier}", tiered.left)

    def record(line: str) -> str:
        shown = json.loads(line)
        shown.pop("path", None)
        return json.dumps(shown)

    remote = [line for line in lines if json.loads(line)["path"].startswith(f"{tiered.tier}/")]
    assert (code, reported) == (0, "")
    assert remote
    assert {record(line) for line in lines} >= {record(line) for line in grep(*words, tiered.whole)[1]}


def test_a_path_that_is_no_text_has_question_marks(tmp_path):
    assert first_member('a\udcff"/b') == '"path":"a?\\"/b",'
    data = tmp_path / "ü\udcff"
    write_partition(data, {0: [made(0, [1])]}, "t-0")
    done = subprocess.run([KAFKAFS, "grep", "--everywhere", ".", data], capture_output=True)
    assert json.loads(done.stdout)["path"] == f"{tmp_path}/ü?/t-0/{LOG}"
    done = subprocess.run([KAFKAFS, "grep", "-l", "--everywhere", ".", data], capture_output=True)
    assert done.stdout == bytes(data / "t-0" / LOG) + b"\n"
    shutil.rmtree(data)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_id_is_found_in_all_that_real_brokers_leave(tmp_path):
    """A segment deleted by retention, and a topic that was deleted while its broker was down."""
    cluster, where = replicated._Cluster(tmp_path), {"aged": 1, "strayed": 2}
    try:
        for number in (1, 2):
            cluster.start(number)
        for topic, number in where.items():
            settings = {"file.delete.delay.ms": str(CENTURY_MS)}
            new = NewTopic(topic, 1, replica_assignment=[[number]], config=settings)
            cluster.brokers[1].admin.create_topics([new])[topic].result(30)
            writer = Writer(cluster.brokers[number])
            writer.batch(topic, [Record(b"jane@example.com", b"%d" % each, now_ms()) for each in range(3)])
        roll(cluster.brokers[1], Writer(cluster.brokers[1]), "aged")
        configure(cluster.brokers[1], "aged", retention_ms=1)
        cluster.kill(2)
        cluster.brokers[1].admin.delete_topics(["strayed"])["strayed"].result(30)
        cluster.start(2)
        leftovers = {"aged": (1, "aged-0/*.log.deleted"),
                     "strayed": (2, "strayed-0.*-stray/*.log")}  # fmt: skip

        def left(topic: str) -> list[Path]:
            number, pattern = leftovers[topic]
            return sorted(cluster.data(number).glob(pattern))

        wait_for(lambda: all(map(left, leftovers)), "all leftovers", 420)
    finally:
        for number in (1, 2):
            cluster.kill(number)
    data = [cluster.data(number) for number in (1, 2)]
    code, lines, reported = grep("--everywhere", "-F", "jane@example.com", *data)
    assert (code, reported) == (0, "")
    assert places(lines) == {str(left(topic)[0]): [0, 1, 2] for topic in leftovers}
    code, lines, reported = grep("-F", "jane@example.com", *data)
    assert (code, lines) == (1, [])
    assert "--everywhere" in reported
