"""Between any two renames of a compaction a partition is healthy: for a look, and for an audit that began before it.

An audit plans its segments, looks at each of them and joins what they gave: the broker goes on between the three.
"""

import json
from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement
from pathlib import Path

import pytest

from kafkafs.format.names import segment_file
from kafkafs.spark.audit import audit_job
from kafkafs.spark.audit.findings import Finding
from kafkafs.spark.audit.segment_check import check_segment
from kafkafs.spark.segment_units import segments_of
from tests.live.moves import Moves
from tests.view.trees import cat, tree

Broker = Callable[[], Moves]
KEPT = {"half": lambda base: base % 2 == 0, "nothing": lambda base: False, "all": lambda base: True}


@pytest.fixture
def broker(tmp_path_factory: pytest.TempPathFactory) -> Broker:
    """Makes one, each time in another place, with three closed segments and one that grows."""

    def make() -> Moves:
        broker = Moves(tmp_path_factory.mktemp("broker") / "data")
        for _ in range(3):
            broker.append([2, 3, 4])
            broker.roll()
        broker.append([1, 2])
        return broker

    return make


def advance(steps: Iterator[str], count: int) -> None:
    for _ in range(count):
        next(steps)


def audited(data: Path, meanwhile: Callable[[], object] = lambda: None) -> list[Finding]:
    """What an audit finds that was planned before `meanwhile` and did its work after it."""
    units = segments_of([data])
    meanwhile()
    reports = [check_segment(unit, frozenset()) for unit in units]
    return audit_job.joined(audit_job.AuditReport(), [data], units, reports).findings


@pytest.mark.parametrize("keep", KEPT.values(), ids=KEPT)
def test_no_problem_is_named_in_the_midst_of_a_compaction(broker, keep):
    """An operator who looks at that moment must not be sent to mend a healthy partition."""
    compacting = broker()
    for step in compacting.compaction(2, keep):
        reported = json.loads(cat(tree(compacting.data), "t-0/info.json"))
        assert (step, reported["problems"]) == (step, [])


def test_an_audit_has_no_finding_whenever_a_compaction_overtakes_it(broker):
    count = len(list(broker().compaction(2, KEPT["half"])))
    for planned, done in combinations_with_replacement(range(count + 1), 2):
        compacting = broker()
        steps = compacting.compaction(2, KEPT["half"])
        advance(steps, planned)
        found = audited(compacting.data, lambda steps=steps, more=done - planned: advance(steps, more))  # type: ignore[misc]
        assert (planned, done, found) == (planned, done, [])


def test_an_audit_has_no_finding_when_retention_overtakes_it(broker):
    retaining = broker()
    assert audited(retaining.data, lambda: retaining.retain(reported=True)) == []


def test_what_retention_leaves_for_a_minute_hides_no_gap(broker):
    """Files called `.deleted` are no sign of a compaction where they end in front of the log."""
    retaining = broker()
    retaining.retain(reported=True)
    assert list(retaining.directory.glob("*.deleted"))
    lost = sorted(retaining.segments)[1]
    for kind in ("log", "index", "timeindex"):
        (retaining.directory / segment_file(lost, kind)).unlink()
    assert [finding.kind for finding in audited(retaining.data)] == ["missing-offsets"]


@pytest.mark.parametrize(("goes", "found"), [(True, []), (False, ["missing-log"])])
def test_an_index_whose_log_goes_is_no_gap_and_one_without_a_log_is(broker, goes, found):
    """Of a segment that goes the log gets its new name first."""
    deleting = broker()
    log = deleting.path(min(deleting.segments), "log")
    log.rename(log.with_suffix(".log.deleted")) if goes else log.unlink()
    assert [finding.kind for finding in audited(deleting.data)] == found
