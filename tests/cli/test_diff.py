"""`kafkafs diff` as it is typed: lines, exit codes, and what was asked wrongly."""

import json
import shutil

import pytest

from kafkafs.cli.main import main
from tests.cli.asking import unmounted
from tests.cluster.writing import Data, batch, metadata
from tests.kafka.clusters import Cluster
from tests.log.making import made, write_partition
from tests.mounting import KAFKAFS, run
from tests.nobody import as_nobody, takes_root

CLUSTER = Cluster("4.3.1", "stopped")
TOPIC_ID = "A" * 21 + "Q"


@pytest.fixture
def sides(tmp_path):
    for name, count in (("old", 3), ("new", 2)):
        write_partition(tmp_path / name, {0: [made(0, range(count))]})
    return tmp_path / "old", tmp_path / "new"


def diff(old, new, *words):
    """In a process of its own: one that lives on lists a directory anew after a moment only."""
    return run(KAFKAFS, "diff", "--engine", "local", old, "--against", new, *words, check=False)


def test_a_missing_record_is_a_line_and_ends_with_1(sides):
    done = diff(*sides)
    (line,) = map(json.loads, done.stdout.splitlines())
    assert (list(line)[:4], line["side"], line["offset"]) == (["side", "topic", "partition", "offset"], "old", 2)
    assert (done.returncode, done.stderr) == (1, b"")
    same = diff(sides[0], sides[0])
    assert (same.returncode, same.stdout, same.stderr) == (0, b"", b"")


def test_stat_has_a_line_for_equal_partitions_too(sides):
    write_partition(sides[0], {0: [made(0, [1])]}, "u-0")
    write_partition(sides[1], {0: [made(0, [1])]}, "u-0")
    done = diff(*sides, "--stat")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"topic": name, "partition": 0, "equal": equal, "onlyOld": lost, "onlyNew": 0, "cleaned": 0, "belowStart": 0}
        for name, equal, lost in (("t", 2, 1), ("u", 1, 0))
    ]
    assert done.returncode == 1


def test_an_empty_partition_that_one_side_lacks_is_a_difference(sides):
    shutil.copytree(sides[0], sides[1], dirs_exist_ok=True)
    write_partition(sides[1], {0: []}, "u-0")
    done = diff(*sides)
    assert (done.returncode, done.stdout) == (1, b"")


def test_by_content_a_mirror_may_have_other_partitions(tmp_path):
    """Regression: it ended with 1, though no record was on one side alone."""
    write_partition(tmp_path / "old", {0: [made(0, range(3))]})
    write_partition(tmp_path / "new", {0: [made(0, range(3))]}, "t-1")
    done = diff(tmp_path / "old", tmp_path / "new", "--by", "content")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    write_partition(tmp_path / "new", {0: []}, "u-0")  # a topic that only one side has
    done = diff(tmp_path / "old", tmp_path / "new", "--by", "content")
    assert (done.returncode, done.stdout) == (1, b"")


def test_damage_ends_with_2_and_a_sentence(sides):
    (log,) = (sides[0] / "t-0").glob("*.log")
    write_partition(sides[0], {0: [made(0, [1]), made(1, [2]), made(2, [3])]})
    content = bytearray(log.read_bytes())
    content[-5 - len(content) // 3] ^= 1
    log.write_bytes(bytes(content))
    done = diff(*sides, "--by", "content")
    assert done.returncode == 2
    assert b"are not a valid batch" in done.stderr
    assert b"are not a valid batch" in diff(*sides).stderr


@takes_root
@pytest.mark.parametrize("base", [0, 2, 4], ids=["first", "middle", "last"])
@pytest.mark.parametrize("denied", ["old", "new"])
def test_the_offsets_of_a_log_that_may_not_be_read_are_not_compared(open_path, capfd, denied, base):
    """Regression: each of its records was one that only the other side has, and nothing was said."""
    for name in ("old", "new", "third"):
        write_partition(open_path / name, {at: [made(at, [at, at + 1])] for at in (0, 2, 4)})
    third = str(open_path / "third")
    assert main(["diff", "--engine", "local", third, "--against", third]) == 0  # imports what its processes take
    words = ["diff", "--engine", "local", str(open_path / "old"), "--against", str(open_path / "new")]
    (open_path / denied / "t-0" / f"{base:020}.log").chmod(0)
    with as_nobody():
        codes = main(words), main([*words, "--stat"])
        reported = capfd.readouterr()
        assert (codes, main([*words, "--by", "content", "--stat"])) == ((2, 2), 2)
    rows = [json.loads(line) for line in reported.out.splitlines()]
    assert [(row["equal"], row["onlyOld"], row["onlyNew"]) for row in rows] == [(4, 0, 0)], reported.err
    for errors in (reported.err, capfd.readouterr().err):
        assert f"t-0: {base:020}.log may not be read" in errors


@takes_root
@pytest.mark.parametrize("denied", ["old", "new"])
@pytest.mark.parametrize("how", ["denied", "directory", "torn"])
def test_metadata_that_cannot_be_read_are_trouble(open_path, capfd, denied, how):
    """Regression: nothing counted as compacted, and what a cleaner had taken was printed as lost, with exit code 1."""
    feature = metadata("FeatureLevelRecord", name="metadata.version", featureLevel=20)
    names = [metadata("TopicRecord", name="t", topicId=TOPIC_ID)]
    config = metadata("ConfigRecord", resourceType=2, resourceName="t", name="cleanup.policy", value="compact")
    for name in ("old", "new", "before/old", "before/new"):
        data = Data(open_path / name)
        data.write("__cluster_metadata-0", [feature, *names])
        data.write("__cluster_metadata-0", [config])
        (data.path / "t-0").mkdir()
        pairs = [(b"k", b"1"), (b"k", b"2")]
        kept = batch(pairs, 0) if name.endswith("old") else batch(pairs[1:], 1)  # a cleaner has taken the first
        (data.path / "t-0/00000000000000000000.log").write_bytes(kept)
        (data.path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 0\n")
    words = ["diff", "--engine", "local", "--topics", "t"]
    before = [*words, str(open_path / "before/old"), "--against", str(open_path / "before/new")]
    assert (main(before), capfd.readouterr().err) == (0, "")
    words += [str(open_path / "old"), "--against", str(open_path / "new")]
    place = open_path / denied / "__cluster_metadata-0"
    log = place / "00000000000000000000.log"
    if how == "denied":
        log.chmod(0)
    elif how == "directory":
        place.chmod(0)
    else:
        content = bytearray(log.read_bytes())
        content[70] ^= 1  # of the first batch
        log.write_bytes(bytes(content))
    with as_nobody():
        assert main(words) == 2
    assert f"{denied}: __cluster_metadata-0" in (reported := capfd.readouterr().err)
    assert "unknown which topics are compacted" in reported


def test_what_is_asked_wrongly_ends_with_2(sides, tmp_path):
    assert diff(*sides, "--topics", "none").returncode == 2
    assert diff(tmp_path / "nowhere", sides[1]).returncode == 2
    done = unmounted("diff", sides[0])
    assert done.returncode == 2
    assert b"--against" in done.stderr


def test_a_partition_that_one_side_lost_is_named_and_its_records_are_lines(tmp_path):
    """The metadata of the copy know it."""
    shutil.copytree(CLUSTER.path, tmp_path / "new", symlinks=True)
    name = next(
        each.name for each in sorted(tmp_path.glob("new/*-0")) if each.name[0] != "_" and list(each.glob("*.log"))
    )
    shutil.rmtree(tmp_path / "new" / name)
    done = diff(CLUSTER.path, tmp_path / "new", "--topics", name.removesuffix("-0"))
    assert done.returncode == 1
    assert b"new: " in done.stderr
    both = diff(tmp_path / "new", tmp_path / "new")
    assert both.returncode == 2
    assert name.encode() in both.stderr or name.removesuffix("-0").encode() in both.stderr
