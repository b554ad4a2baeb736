"""The whole job on random pairs of logs, beside a naive model: lines, their order, and counts."""

import json
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from kafkafs.log.topic_choice import ALL_TOPICS
from kafkafs.spark.diff import by_offset, diff_job
from kafkafs.spark.diff.sides import paired
from kafkafs.spark.jobs import Engine
from kafkafs.tables.local import LocalEngine
from tests.kafka import replicated
from tests.spark.diff_model import Content, expected, random_sides, write
from tests.spark.diff_model import by_content as model_by_content

CLEANER = "0\n1\nt 0 1\n"


def run(paths, how="offset", engine: Engine | None = None, **more):
    """The lines, the counts by partition or topic, and the troubles."""
    old, new = paths
    sides = paired((old,), (new,), ALL_TOPICS)
    job = diff_job.by_content if how == "content" else diff_job.by_offset
    found = list(job(engine or LocalEngine(1), sides.pairs, **more))
    text = b"".join(line for each in found for line in each.lines)
    totals = [each.totals for each in found if each.totals is not None]
    return [json.loads(line) for line in text.splitlines()], totals, [t for each in found for t in each.troubles]


def counts_of(totals):
    return {
        "equal": totals.equal, "onlyOld": totals.only_old, "onlyNew": totals.only_new,
        "cleaned": totals.cleaned, "belowStart": totals.below_start,
    }  # fmt: skip


def content_of(line) -> tuple[str, Content]:
    key, value = (None if line[name] is None else line[name].encode() for name in ("key", "value"))
    headers = tuple(
        (each["key"].encode(), None if each["value"] is None else each["value"].encode()) for each in line["headers"]
    )
    return line["side"], (line["timestamp"], key, value, headers)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_lines_and_counts_are_those_of_the_model(tmp_path_factory, seed, compacted):
    """People delete a cluster after an empty diff."""
    chance, place = random.Random(seed), tmp_path_factory.mktemp("diff")
    old, new = random_sides(chance, chance.choice([3, 40]))
    paths = [write(place / name, side, chance) for name, side in (("old", old), ("new", new))]
    if compacted:
        (paths[chance.randrange(2)] / "cleaner-offset-checkpoint").write_text(CLEANER)
    lines, counts = expected(old, new, compacted=compacted)
    printed, _, troubles = run(paths)
    assert troubles == []
    assert [(each["side"], each["offset"]) for each in printed] == lines
    for each in printed:
        assert content_of(each)[1] == (old if each["side"] == "old" else new).visible[each["offset"]]
    none, (totals,), _ = run(paths, has_lines=False)
    assert (none, counts_of(totals)) == ([], counts)


@settings(max_examples=1, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([4, 1 << 23]))
def test_by_content_any_partition_and_offset_will_do(tmp_path_factory, seed, most):
    """A mirror has its records at other offsets, and perhaps in other partitions. `most` makes several passes."""
    chance, place = random.Random(seed), tmp_path_factory.mktemp("diff")
    pairs = [random_sides(chance, chance.choice([3, 30])) for _ in range(2)]
    for number, sides in enumerate(pairs):
        for name, side in zip(("old", "new"), sides, strict=True):
            write(place / name, side, chance, f"t-{number if name == 'old' else 1 - number}")
    for name, own in zip(("old", "new"), zip(*pairs, strict=True), strict=True):
        starts = [each.start for each in (own if name == "old" else own[::-1])]
        text = "".join(f"t {number} {start}\n" for number, start in enumerate(starts))
        (place / name / "log-start-offset-checkpoint").write_text(f"0\n2\n{text}")
    lines, counts = model_by_content(*zip(*pairs, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diff_job, "MOST_RECORDS", most)
        printed, (totals,), troubles = run((place / "old", place / "new"), "content")
    assert troubles == []
    assert Counter(map(content_of, printed)) == lines
    assert counts_of(totals) == counts
    assert totals.partition is None


def test_missing_records_are_looked_up_some_at_a_time(tmp_path, monkeypatch):
    """A compacted side may lack a billion of them."""
    monkeypatch.setattr(by_offset, "MOST_CANDIDATES", 3)
    chance = random.Random(7)
    for number in range(6):
        old, new = random_sides(chance, 40)
        paths = [write(tmp_path / f"{number}{name}", side, chance) for name, side in (("old", old), ("new", new))]
        (paths[0] / "cleaner-offset-checkpoint").write_text(CLEANER)
        lines, counts = expected(old, new, compacted=True)
        printed, (totals,), _ = run(paths)
        assert [(each["side"], each["offset"]) for each in printed] == lines
        assert counts_of(totals) | {"belowStart": 0} == counts | {"belowStart": 0}


def test_both_engines_print_the_same(spark: SparkSession, tmp_path):
    chance = random.Random(11)
    old, new = random_sides(chance, 40)
    paths = [write(tmp_path / name, side, chance) for name, side in (("old", old), ("new", new))]
    for how in ("offset", "content"):
        assert run(paths, how) == run(paths, how, spark)


def test_replicas_of_real_brokers_differ_where_an_unclean_election_cut_one():
    """Each record that broker 2 took alone is a line; what the cleaners did by themselves is none."""
    _, one, two = replicated.directories()
    printed, totals, troubles = run((one, two))
    assert troubles == []
    by_name = {(each.topic, each.partition): each for each in totals}
    assert by_name["compacted", 0].is_equal
    parted = [each for each in printed if each["topic"] == "parted"]
    assert {each["side"] for each in parted} == {"old", "new"}
    assert all(each["offset"] >= replicated.COMMON for each in parted)
    assert by_name["parted", 0].equal == replicated.COMMON
