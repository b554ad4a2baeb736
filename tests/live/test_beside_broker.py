"""Beside a real broker at work: what readers of a mount see is what producers wrote, at most a second later.

Short here; `scripts/soak live SECONDS` runs it for as long as one wants. KAFKAFS_SEED replays a run's choices (the
broker's own timing cannot be replayed).
"""

import os
import random
import signal
import time
from collections.abc import Iterator

import pytest

from tests.kafka import broker
from tests.live.checks import LONGEST_S, Checks, Follower, Machine
from tests.live.churn import BUSY, Churn
from tests.mounting import wait_until

SECONDS = float(os.environ.get("KAFKAFS_LIVE_SECONDS", "4"))
READERS = int(os.environ.get("KAFKAFS_LIVE_READERS", "4"))
SEED = int(os.environ.get("KAFKAFS_SEED", "0")) or random.randrange(1, 1 << 30)
RELEASES = os.environ.get("KAFKAFS_LIVE_RELEASES", "4.3.1").split(",")

pytestmark = [pytest.mark.urgent, pytest.mark.timeout(SECONDS + 900)]


@pytest.fixture(params=RELEASES)
def churn(request, tmp_path_factory) -> Iterator[Churn]:
    with broker.running(request.param, tmp_path_factory.mktemp("busy"), BUSY) as node:
        churn = Churn(node, SEED)
        churn.start()
        yield churn
        churn.stop()


def test_readers_see_what_producers_wrote(churn, mount, record_property):
    everything = mount(churn.broker.data, guard_s=SECONDS + 600)
    committed = mount(churn.broker.data, options="isolation=read_committed", guard_s=SECONDS + 600)
    wait_until(lambda: (everything / "paced-0/latest").is_symlink())
    before = everything.status()
    followers = [Follower(everything / "paced-0/by-offset/0...follow.jsonl"),
                 Follower(committed / "paced-0/by-offset/0...follow.jsonl")]  # fmt: skip
    compacted = Follower(everything / "compacted-0/by-offset/0...follow.jsonl")
    checks = Checks(churn, everything.path, committed.path, SEED)
    machine = Machine(churn.broker.data)
    started = time.monotonic()
    checks.start(READERS)
    time.sleep(SECONDS)
    checks.stop()
    stall = machine.end()
    churn.stop()
    checks.compare()
    counted = dict(sorted(checks.counted.items()))
    print(f"\nseed {SEED}: {counted}, slowest {checks.slowest:.2f} s, generations {churn.generation},"
          f" wrong {len(checks.wrong)}")  # fmt: skip
    assert checks.wrong == [], f"seed {SEED}, {everything.log[-3000:]}"
    delays = _delays(churn, followers, started)
    newest = max(churn.truth.offsets["compacted", 0])
    wait_until(lambda: compacted.order[-1:] == [newest] or compacted.process.poll() is not None)
    assert compacted.end() == -signal.SIGTERM
    assert compacted.order == sorted(set(compacted.order))
    wait_until(lambda: everything.status()["openDescriptors"] <= before["openDescriptors"] + 8)
    after = everything.status()
    median, late, latest = delays[len(delays) // 2], delays[int(len(delays) * 0.95)], delays[-1]
    print(f"wakes: median {median * 1000:.0f} ms, p95 {late * 1000:.0f} ms, worst {latest * 1000:.0f} ms,"
          f" the machine's own worst stall {stall * 1000:.0f} ms;"
          f" rss {after['residentBytes'] >> 20} MiB,"
          f" descriptors {before['openDescriptors']} -> {after['openDescriptors']}")  # fmt: skip
    record_property("reads", sum(n for kind, n in counted.items() if kind in _KINDS))
    assert checks.slowest < LONGEST_S
    assert counted["records"], "nothing happened"
    assert churn.generation
    assert median < 0.2
    assert latest < 1.0 + stall
    assert after["residentBytes"] < 256 << 20


_KINDS = ("points", "ranges", "raw", "compacted", "phoenix", "transactions")


def _delays(churn: Churn, followers: list[Follower], since: float) -> list[float]:
    """How long after its acknowledgement each paced record came to each follower, ascending."""
    acknowledged = {offset: at for (topic, offset), at in churn.truth.acknowledged_at.items() if topic == "paced"}
    delays = []
    for follower in followers:
        follower.wait_for(len(acknowledged))
        assert follower.end() != 0
        assert follower.order == sorted(acknowledged)
        delays += [follower.came[offset] - at for offset, at in acknowledged.items() if at > since]
    return sorted(delays)
