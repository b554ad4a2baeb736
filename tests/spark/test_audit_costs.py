"""What an audit asks of a disk for each partition: there can be 100,000."""

from kafkafs.spark.audit.audit_job import AuditReport, joined
from kafkafs.spark.audit.segment_check import SegmentReport, check_segment
from kafkafs.spark.segment_units import segments_of
from kafkafs.tables import locations
from tests.counting import opened
from tests.log.making import made, write_partition


def test_a_partition_of_one_segment_is_listed_once_for_both(tmp_path):
    """Once behind the plan, in whatever process that is."""
    write_partition(tmp_path, {0: [made(0, [1000])]})
    (unit,) = segments_of([tmp_path])
    reports: list[SegmentReport] = []
    locations.open_directories.close()
    names = opened(lambda: reports.append(check_segment(unit, frozenset())))
    assert (names["t-0"], names["leader-epoch-checkpoint"]) == (1, 1)
    locations.open_directories.close()
    found: list[AuditReport] = []
    names = opened(lambda: found.append(joined(AuditReport(), [tmp_path], [unit], reports)))
    assert (names["t-0"], names["leader-epoch-checkpoint"], found[0].partitions) == (0, 0, 1)
