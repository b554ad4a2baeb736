"""The rules of retention: what a real broker deleted, and a naive model of its loop for all other combinations."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.overview.retention import Limits, SegmentFacts, retention
from tests.overview.retention_cases import CASES, HOUR_MS, SIZE

NOW = 1_700_000_000_000
DEFAULT_HOURS = 168


@pytest.mark.parametrize("name", CASES)
def test_what_a_broker_deleted_is_deletable(name):
    case = CASES[name]
    settings = {**case.settings, **case.later}
    policy = str(settings.get("cleanup.policy", "delete"))
    limits = Limits(
        "delete" in policy,
        "compact" in policy,
        int(str(settings.get("retention.ms", DEFAULT_HOURS * HOUR_MS))),
        int(str(settings.get("retention.bytes", -1))),
    )
    segments = [SegmentFacts(10 * number, SIZE, NOW - age * HOUR_MS) for number, age in enumerate(case.ages)]
    answer = retention(
        segments or [SegmentFacts(0, 0, NOW)], limits, 10 * case.below_start, 10 * len(segments), None, NOW
    )
    assert (answer.segments, answer.deletable) == (case.deleted, case.deleted * SIZE)
    assert sum(answer.kept.values()) == (len(segments) - case.deleted) * SIZE


def naive(segments, limits, log_start, log_end, high_watermark, at_ms):
    """UnifiedLog.deleteOldSegments, step by step, and which reason each segment that stays has."""
    left = list(segments)

    def bound(number):
        return left[number + 1].base_offset if number + 1 < len(left) else log_end

    def delete(predicate):
        number = 0
        while number < len(left):
            is_last_and_empty = number == len(left) - 1 and left[number].size == 0
            passes = high_watermark is None or high_watermark >= bound(number)
            if not (passes and predicate(left[number], number + 1 < len(left)) and not is_last_and_empty):
                break
            number += 1
        gone = left[:number]
        del left[:number]
        return gone

    gone = []
    starts = {id(segment): bound(number) for number, segment in enumerate(left)}
    gone += delete(lambda segment, has_next: has_next and starts[id(segment)] <= log_start)
    if limits.delete and limits.retention_bytes >= 0 and sum(each.size for each in left) >= limits.retention_bytes:
        over = [sum(each.size for each in left) - limits.retention_bytes]

        def is_over(segment, _):
            if over[0] - segment.size >= 0:
                over[0] -= segment.size
                return True
            return False

        gone += delete(is_over)
    if limits.delete and limits.retention_ms >= 0:
        gone += delete(lambda segment, _: at_ms - segment.largest_ms > limits.retention_ms)
    kept, reason = Counter[str](), "size"
    for number, segment in enumerate(left):
        passes = high_watermark is None or high_watermark >= bound(number)
        if not limits.delete:
            reason = "compact-only" if limits.compact else "unlimited"
        elif limits.retention_ms < 0 and limits.retention_bytes < 0:
            reason = "unlimited"
        elif not passes:
            reason = "high-watermark"
        elif limits.retention_ms < 0:
            reason = "size"
        elif segment.largest_ms > at_ms:
            reason = "future-timestamp"
        elif at_ms - segment.largest_ms <= limits.retention_ms:
            reason = "time"
        kept[reason] += segment.size
    following = None
    if left and limits.delete and limits.retention_ms >= 0:
        is_empty_end = len(left) == 1 and not left[0].size
        if (high_watermark is None or high_watermark >= bound(0)) and not is_empty_end:
            following = left[0].largest_ms + limits.retention_ms + 1
    return len(gone), sum(each.size for each in gone), +kept, following


@st.composite
def logs(draw):
    sizes = draw(st.lists(st.integers(0, 4), min_size=1, max_size=6))
    segments = [SegmentFacts(10 * number, size, draw(st.integers(90, 104))) for number, size in enumerate(sizes)]
    limits = Limits(draw(st.booleans()), draw(st.booleans()), draw(st.integers(-1, 9)), draw(st.integers(-1, 12)))
    log_end = 10 * (len(sizes) - 1) + draw(st.integers(0, 10))
    log_start = draw(st.integers(0, log_end))
    high_watermark = draw(st.none() | st.integers(log_start, log_end))
    return segments, limits, log_start, log_end, high_watermark, 100


@given(logs())
def test_the_answer_is_that_of_the_brokers_own_loop(log):
    answer = retention(*log)
    assert answer == naive(*log)
    assert answer.deletable + sum(answer.kept.values()) == sum(segment.size for segment in log[0])


def test_nothing_goes_of_a_log_without_segments():
    assert retention([], Limits(True, False, 0, 0), 0, 0, None, NOW) == (0, 0, Counter(), None)


def test_the_next_deletion_is_a_millisecond_behind_the_limit():
    segment = SegmentFacts(0, 5, NOW)
    limits = Limits(True, False, 1000, -1)
    assert retention([segment], limits, 0, 1, None, NOW).next_deletion_ms == NOW + 1001
    assert retention([segment], limits, 0, 1, None, NOW + 1000).deletable == 0
    assert retention([segment], limits, 0, 1, None, NOW + 1001).deletable == 5


def test_the_next_deletion_is_unknown_at_the_high_watermark():
    segment, limits = SegmentFacts(0, 5, NOW), Limits(True, False, 1000, -1)
    answer = retention([segment], limits, 0, 10, 9, NOW + 5000)
    assert (answer.deletable, answer.next_deletion_ms, dict(answer.kept)) == (0, None, {"high-watermark": 5})
