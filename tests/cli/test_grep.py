"""`kafkafs grep` as a person runs it: options, exit codes, what is on which stream, and how it ends."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.asking import text_of
from tests.cluster.test_topic_partitions import FEATURE, ORDERS, OTHER
from tests.cluster.test_topic_partitions import topic as known_topic
from tests.cluster.writing import Data
from tests.kafka import aiven, registered, tiers
from tests.kafka.buckets import bucket_of
from tests.kafka.tiered import Tiered
from tests.log.making import made, spread, write_partition
from tests.mounting import KAFKAFS, wait_until
from tests.promises import at_most

BATCHES = [made(number * 3, [1000 + number * 10] * 3) for number in range(100)]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name in ("t-0", "t-1", "other-0"):
        write_partition(tmp_path / "data", spread(BATCHES, 30), name)
    return tmp_path / "data"


def grep(*words: str | Path) -> tuple[int, list[str], str]:
    """Exit code, lines, and what is on standard error."""
    done = text_of("grep", *words)
    return done.returncode, done.stdout.splitlines(), done.stderr


def test_records_come_as_lines_in_order(data):
    """Values of these logs are `v<offset>...`, keys `k<offset>`."""
    code, lines, reported = grep("-F", "k29", data)
    records = [json.loads(line) for line in lines]
    assert (code, reported) == (0, "")
    for topic, partition in (("t", 0), ("t", 1), ("other", 0)):
        own = [each["offset"] for each in records if (each["topic"], each["partition"]) == (topic, partition)]
        assert own == [29, *range(290, 300)]


def test_grep_s_own_options(data):
    assert grep("-c", "k29", data)[1] == ["other-0:11", "t-0:11", "t-1:11"]
    assert grep("-c", "k29", "--topics", "t", "-m", "3", data)[1] == ["t-0:3", "t-1:3"]
    assert grep("-l", "-i", "K29", "--topic-pattern", "o.*", data)[1] == ["other-0"]
    assert grep("-c", "-v", "k29", "--topics", "other", data)[1] == ["other-0:289"]
    assert grep("-c", "--value", "k29", data)[:2] == (1, ["other-0:0", "t-0:0", "t-1:0"])
    assert grep("-c", "-E", "^k29.$", "--key", "--topics", "other", data)[1] == ["other-0:10"]
    assert grep("-l", "-m", "0", "k29", data) == grep("-c", "-l", "-m", "0", ".", data) == (1, [], "")
    assert grep("-c", "0{2,}", "--topics", "t", data)[1] == ["t-0:2", "t-1:2"]
    assert len(grep("-m", "2", ".", data)[1]) == 6
    assert len(grep("--from-offset", "10", "--to-offset", "20", "--topics", "other", ".", data)[1]) == 10
    assert len(grep("--from-time", "1100", "--to-time", "1120", "--topics", "other", ".", data)[1]) == 6
    newest = max(json.loads(line)["timestamp"] for line in grep("--topics", "other", ".", data)[1])
    since = [json.loads(line)["timestamp"] for line in grep("--from-time", "end-0s", "--topics", "other", ".", data)[1]]
    assert newest in since
    assert grep("--from-time", "end-1h", "--to-time", "end-0s", "-c", ".", "--topics", "other", data) == grep(
        "--to-time", str(newest), "-c", ".", "--topics", "other", data
    )
    assert len(grep("--decoded", "-F", "k29", "--topics", "other", data)[1]) == 11


def test_swapped_words_and_mistyped_topics_are_answered_with_what_to_type(data):
    code, _, reported = grep(data, "customer 2")
    assert (code, reported.count("\n")) == (2, 1)
    assert f"`kafkafs grep 'customer 2' {data}`" in reported
    for words in (["--topics", "othr"], ["--topic", "oher"]):
        assert grep(".", data, *words)[2].endswith("; did you mean other?\n")
    assert grep("-r", "-n", "-w", "-c", "k29", "--topics", "other", data) == (0, ["other-0:1"], "")


def test_exit_codes_are_grep_s(data):
    assert grep("nothing has this", data) == (1, [], "")
    for words in (
        ["(", data],
        [".", "--topics", "nix", data],
        [".", "--topic-pattern", "othe", data],
        [".", data / "nix"],
        [".", "--from-offset", "x", data],
    ):
        code, lines, reported = grep(*words)
        assert (code, lines, reported.count("\n")) == (2, [], 1)
        assert reported.startswith("kafkafs: ")
    assert grep("-F", "(", data)[0] == 1


@pytest.mark.parametrize("everywhere", [(), ("--everywhere",)], ids=["plain", "everywhere"])
def test_a_partition_that_no_disk_here_has_is_named(tmp_path, everywhere):
    """Regression: the answer lacked its records, and nothing told."""
    data = Data(tmp_path / "one")
    known = [*known_topic("orders", ORDERS, 3), *known_topic("whole", OTHER, 1)]
    data.write("__cluster_metadata-0", [FEATURE, *known])
    for name in ("orders-1", "whole-0"):
        data.write(name, [(None, b"needle"), (None, b"hay")])
    old = time.time() - 3600
    for log in data.path.glob("*/*.log"):
        os.utime(log, (old, old))
    code, lines, reported = grep("-F", "needle", *everywhere, "--topics", "orders,whole", data.path)
    assert {json.loads(line)["topic"] for line in lines} == {"orders", "whole"}
    assert (code, reported.count("\n")) == (2, 1)
    assert "of orders partitions 0, 2 of 3 are not on these disks" in reported
    code, lines, reported = grep("-c", "needle", *everywhere, "--topics", "whole", data.path)
    assert (code, len(lines), reported) == (0, 1, "")
    other = Data(tmp_path / "two")
    for number in (0, 2):
        other.write(f"orders-{number}", [(None, b"needle")])
    code, lines, reported = grep("needle", *everywhere, "--topics", "orders", data.path, other.path)
    assert (code, len(lines), reported) == (0, 3, "")


def test_a_corrupt_batch_is_named_and_all_else_is_printed(data):
    path = data / "t-0" / f"{0:020}.log"
    content = bytearray(path.read_bytes())
    content[len(BATCHES[0].data) + 80] ^= 1
    path.write_bytes(content)
    code, lines, reported = grep("-c", ".", "--topics", "t", data)
    assert (code, lines) == (2, ["t-0:297", "t-1:300"])
    assert "t-0" in reported
    assert "position" in reported


def test_ctrl_c_ends_it_and_all_its_processes(data, tmp_path):
    """While it waits for nobody to read on."""
    large = [made(number, [number], size=100_000) for number in range(300)]
    write_partition(tmp_path / "data", {0: large}, "large-0")
    process = subprocess.Popen([KAFKAFS, "grep", ".", data], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    process.stdout.read(1)
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(300) == 130
    assert time.monotonic() - started < at_most(2)
    wait_until(lambda: members(process.pid) == [])


def test_the_first_match_is_not_kept_until_the_end(data, tmp_path):
    """`grep ... | head -1` answers at once, leaves no traceback, and ends as grep does, by what a shell calls 141."""
    write_partition(data, {0: [made(number, [number], size=100_000) for number in range(30)]}, "large-0")
    command = f"{KAFKAFS} grep . {data} | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=300)
    line, code = done.stdout.splitlines()
    assert json.loads(line)["offset"] == 0
    assert (code, done.stderr) == ("141", "")


def test_decoded_fields_are_searched_as_they_are_shown():
    """`"city":"Ulm"` stands in no byte of an Avro record: who asks for decoded values asks in their words."""
    data = registered.data()
    _, lines, _ = grep("--decoded", "", data)
    for text in ('"city":"Ulm"', "^(hi|77|ctx)$|[0-9]{30}|chance", "nobody"):
        pattern, wanted = re.compile(text), []
        for line in lines:
            shown = json.loads(line)
            fields = [line_text(line, name) for name in ("key", "value") if shown.get(name) is not None]
            if any(pattern.search(field) for field in fields):
                wanted.append(line)
        code, found, reported = grep("--decoded", text, data)
        assert (code, sorted(found), reported) == (0 if wanted else 1, sorted(wanted), ""), text
    assert grep("-F", '"city":"Ulm"', data)[0] == 1
    assert len(lines) > 20


def line_text(line: str, name: str) -> str:
    """How a field is written in a line; a string without its quotes."""
    text = line[line.index(f'"{name}":') + len(name) + 3 :]
    value, end = json.JSONDecoder().raw_decode(text)
    return value if isinstance(value, str) else text[:end]


def test_a_partition_that_one_broker_has_twice_is_named(data, tmp_path):
    """Nobody knows which of the two is true; all else is searched. A directory given twice is one."""
    write_partition(tmp_path / "twin", spread(BATCHES, 30), "t-0")
    for place in (data, tmp_path / "twin"):
        (place / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=c\n")
    code, lines, reported = grep("-c", "k29", data, tmp_path / "twin")
    assert (code, lines) == (2, ["other-0:11", "t-1:11"])
    assert "t-0" in reported
    assert reported.count("\n") == 1
    assert grep("-c", "k29", data, f"{data}/.")[:2] == (0, ["other-0:11", "t-0:11", "t-1:11"])


def test_a_full_disk_is_a_sentence(data):
    """What is on it is not whole, so the exit code is neither found nor not found."""
    done = subprocess.run(f"{KAFKAFS} grep . {data} > /dev/full", shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        2,
        "kafkafs: standard output cannot be written: No space left on device\n",
    )


def test_names_come_as_soon_as_they_are_found(data):
    """`-l | head -1` does not wait for the whole search."""
    large = [made(number, [number], size=200_000) for number in range(300)]
    write_partition(data, spread(large, 10), "zzz-0")
    with subprocess.Popen([KAFKAFS, "grep", "-l", "k29", data], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() in ("other-0\n", "t-0\n", "t-1\n")  # whichever process is first
        running.kill()


def test_what_is_killed_leaves_no_process(data, tmp_path):
    """`timeout 5 kafkafs grep` with an expression that would take a century."""
    write_partition(data, {0: [made(0, [1], size=100)]}, "slow-0")
    slow = "(.+.+)+[^v0-9.x]$"
    process = subprocess.Popen([KAFKAFS, "grep", "--topics", "slow", slow, data], start_new_session=True)
    try:
        wait_until(lambda: len(members(process.pid)) > 1)
    finally:
        process.kill()
        process.wait()
    wait_until(lambda: members(process.pid) == [])


def test_a_process_that_is_killed_ends_the_search_with_a_sentence(data):
    """As where memory runs out: what was found is not all, and nobody waits for the rest."""
    write_partition(data, {0: [made(0, [1], size=100)]}, "slow-0")
    command = [KAFKAFS, "grep", "--topics", "slow", "(.+.+)+[^v0-9.x]$", data]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
        wait_until(lambda: len(members(running.pid)) > 1)
        for process in members(running.pid):
            if int(process) != running.pid:
                os.kill(int(process), signal.SIGKILL)
        _, reported = running.communicate(timeout=300)
    assert (running.returncode, reported.count("\n")) == (2, 1)
    assert "was killed" in reported


def members(session: int) -> list[str]:
    return subprocess.run(["pgrep", "-s", str(session)], capture_output=True, text=True).stdout.split()


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("kind", ["directory", "bucket"])
def test_remote_segments_are_searched_too(tmp_path, kind):
    """In processes of their own, each with connections of its own."""
    tiered = Tiered()
    flags = ("-F", "value 2", "--topics", "orders")

    def found(*words: str | Path) -> tuple[int, list[str], str]:
        """Lines in any order of the partitions."""
        code, lines, reported = grep(*flags, *words)
        return code, sorted(lines), reported

    whole = found(tiered.whole)
    assert len(whole[1]) > len(found(tiered.left)[1])
    if kind == "directory":
        assert found("-o", f"tiered={tiered.tier}", tiered.left) == whole
        code, _, reported = found("-o", f"tiered={tiered.tier},corrupt=skip", tiered.left)
        assert (code, reported) == (
            2,
            "kafkafs: of the options of a mount, this command takes only tiered=, tiered_key= and tiered_cache=\n",
        )
        return
    place = aiven.write(tiered.tier, tmp_path / "tier", compress=True)
    with bucket_of(place.parent) as store:
        uri = store.address(place.name, opened=True)
        assert found("-o", f"tiered={uri}", tiered.left) == whole
    code, lines, reported = found("-o", f"tiered={uri}", tiered.left)
    assert (code, lines) == (2, found(tiered.left)[1])
    assert "cannot be read" in reported
    assert "secret" not in reported


def test_an_upload_that_reaches_into_the_disk_is_searched_up_to_there(tmp_path):
    """Regression: its manifest tells so once it is opened, and the search ended there."""
    data, tier = tiers.rolled_elsewhere(tmp_path, "orders-0")
    place = aiven.write(tier, tmp_path / "aiven")
    words = ("-c", "-F", "value 2", "--topics", "orders")
    whole = grep(*words, Tiered().whole)
    assert grep(*words, "-o", f"tiered={place}", data) == whole
    assert grep(*words, "-o", f"tiered={tier}", data) == whole


def test_a_search_ends_whose_store_falls_silent(tmp_path, store_limits, bucket_keys):
    """Regression: its processes waited for ever for a lock of a thread that only the first process had."""
    tiered = Tiered()
    store_limits(question_s=1.0, suspect_s=0.5, refuse_s=300.0)
    with bucket_of(tiered.tier.parent) as store:
        store.fault = lambda _method, _key: "slow"
        code, _, reported = grep("value", tiered.left, "-o", f"tiered={store.address(tiered.tier.name)}")
    assert (code, reported.count("\n")) == (2, 1)
    assert "did not answer in time" in reported or "sent nothing" in reported


def test_words_in_the_wrong_order_are_put_right(tmp_path, monkeypatch):
    """Regression: of every pattern `.` beside a directory that is not there, the advice was that the pattern is one."""
    Data(tmp_path / "data").write("t-0", [(b"k", b"v")])
    monkeypatch.chdir(tmp_path)
    assert "the pattern comes first, as in `kafkafs grep v data`" in text_of("grep", "data", "v").stderr
    assert "/nowhere' does not exist" in text_of("grep", ".", "nowhere").stderr
