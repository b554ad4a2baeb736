"""Why a segment is still there: one record from the future keeps all of it, which no listing shows."""

from kafkafs.spark.offsets import TopicPartition
from kafkafs.spark.profile.measure import Numbers, measure
from kafkafs.spark.profile.page import page
from kafkafs.spark.profile.retention import Kept
from kafkafs.spark.segments import live_segments
from tests.log.making import made, write_partition, write_start

FUTURE = 4_102_444_800_000  # 2100


def kept(data) -> list[Kept]:
    found = [unit.ask(measure) for unit in live_segments([data], "furthest")]
    return [each.kept for each in found if each is not None]


def test_each_segment_is_kept_for_one_reason(tmp_path):
    segments = {
        0: [made(0, [1000] * 5)], 5: [made(5, [2000, 1500])], 7: [made(7, [3000, FUTURE, 3000])],
        10: [made(10, [-1, -1])], 12: [made(12, [1000, 1200])], 14: [made(14, [4000])],
    }  # fmt: skip
    write_partition(tmp_path, segments)
    write_start(tmp_path, 5)
    size = {base: sum(len(batch.data) for batch in batches) for base, batches in segments.items()}
    assert kept(tmp_path) == [
        Kept(below_start=size[0]), Kept(waiting=size[5], waits_since_ms=2000),
        Kept(future=size[7], future_until_ms=FUTURE), Kept(untimed=size[10]),
        Kept(waiting=size[12], waits_since_ms=1200), Kept(active=size[14]),
    ]  # fmt: skip


def test_the_page_says_when_the_future_ends_and_who_goes_next(tmp_path):
    numbers = Numbers()
    for each in (Kept(future=10, future_until_ms=FUTURE), Kept(waiting=5, waits_since_ms=1200), Kept(active=1)):
        numbers.add(Numbers(size=10, segments=1, kept=each))
    html = page({TopicPartition("t", 0): numbers}, ["/data"])
    assert "<td><time>2100-01-01</time> <time>00:00</time></td>" in html
    assert "<td><time>1970-01-01</time> <time>00:00</time></td>" in html
