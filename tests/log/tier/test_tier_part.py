"""The list of a partition's remote segments, as threads make it again."""

import threading
from typing import Any

from kafkafs.format.tiers.tier_names import TierPartition
from kafkafs.log.read_options import ReadOptions, TierSource
from kafkafs.log.tier.layouts import LocalTiered
from kafkafs.log.tier.partition_uploads import PartitionFacts
from kafkafs.log.tier.tier import Tier
from kafkafs.log.tier.tier_part import RELIST_S, TierPart
from tests.log.tier.lives import FOLDER, TOPIC_ID, write_upload
from tests.log.tier.test_lives import one_epoch
from tests.mounting import PATIENCE_S, wait_until


def test_threads_that_list_a_tier_at_a_time_make_one_segment_of_an_upload(tmp_path, monkeypatch):
    """Regression: the one that came later took up what was known when it began, so that a segment that the other one
    had made meanwhile was another one, and all that was remembered of it was lost."""
    past, now, may_end = one_epoch(), [1.0], threading.Event()
    for each in past.uploads[:3]:
        write_upload(tmp_path / FOLDER, each)
    tier = Tier(TierSource(str(tmp_path)), ReadOptions(clock=lambda: now[0]))
    part = TierPart(tier, PartitionFacts(TierPartition("t", 0, TOPIC_ID)))
    assert len(part.segments(())) == 3
    write_upload(tmp_path / FOLDER, past.uploads[3])
    listed = LocalTiered.uploads

    def slow_behind_a_back(*given: Any) -> Any:
        found = listed(*given)
        if threading.current_thread().name == "relist":
            may_end.wait(PATIENCE_S)
        return found

    monkeypatch.setattr(LocalTiered, "uploads", slow_behind_a_back)
    now[0] += RELIST_S + 1
    assert len(part.segments(())) == 3, "what is known, while a thread lists"
    part.expire()
    made = part.segments(())
    assert len(made) == 4
    may_end.set()
    wait_until(lambda: not any(each.name == "relist" for each in threading.enumerate()))
    assert part.segments(()) == made
