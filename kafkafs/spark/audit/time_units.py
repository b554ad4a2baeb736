"""Timestamps in another unit than milliseconds: a broker takes them, and lookups by time then lead astray.

Each batch counts by its largest timestamp, so one finding for a partition and unit has their number.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from kafkafs.format.times import OTHER_UNITS
from kafkafs.spark.audit.findings import CheckedFile, Finding
from kafkafs.spark.audit.log_check import ValidBatches


class OddBatches(NamedTuple):
    """Batches of one segment with times in one unit: how many, and timestamp, position and offset of the first."""

    batches: int
    timestamp: int
    position: int
    offset: int


OddTimes = Mapping[str, OddBatches]
"""By unit."""


def odd_times(valid: ValidBatches) -> OddTimes:
    """The batches of a segment whose times are probably not milliseconds."""
    times, found = valid.max_timestamps, {}
    for unit, (first, end) in OTHER_UNITS.items():
        rows = np.flatnonzero((times >= first) & (times < end))
        if len(rows):
            at = int(rows[0])
            place = times[at], valid.positions[at], valid.base_offsets[at]
            found[unit] = OddBatches(len(rows), *map(int, place))
    return found


def check_units(segments: Sequence[tuple[CheckedFile, OddTimes, int]]) -> list[Finding]:
    """One finding for each unit of a partition, at its first batch. A segment comes with its number of batches."""
    findings, total = [], sum(batches for _, _, batches in segments)
    for unit in OTHER_UNITS:
        odd = [(where, units[unit]) for where, units, _ in segments if unit in units]
        if not odd:
            continue
        where, first = odd[0]
        count = sum(each.batches for _, each in odd)
        findings.append(where.finding(
            "time-unit", f"times look like {unit} in {count:,} of {total:,} batches, first {first.timestamp}; Kafka"
            " counts milliseconds", position=first.position, offset=first.offset,
        ))  # fmt: skip
    return findings
