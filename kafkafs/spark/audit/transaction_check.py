"""A segment's transaction index against the abort markers in its log. Sources: TransactionIndex, AbortedTxn."""

import numpy as np

from kafkafs.format.transaction_index import DTYPE, ENTRY_SIZE
from kafkafs.log.segment import Segment
from kafkafs.spark.audit.findings import Finding, Where
from kafkafs.spark.audit.log_check import LogTable


def check_transaction_index(segment: Segment, where: Where, table: LogTable, clean: bool) -> list[Finding]:
    """What is wrong with the transaction index, or with its absence."""
    data = segment.read_beside(segment.files["txnindex"].name) if "txnindex" in segment.files else b""
    rows = np.frombuffer(data, DTYPE, len(data) // ENTRY_SIZE)
    findings: list[Finding] = []
    growing = segment.next_base is None and not clean
    if len(data) % ENTRY_SIZE and not growing:
        findings.append(where.finding(
            "index-length", f"its {len(data)} bytes are no multiple of {ENTRY_SIZE}", position=len(rows) * ENTRY_SIZE
        ))  # fmt: skip
    before = segment.base_offset - 1
    for slot, row in enumerate(rows):
        reason = _wrong(row, before, table)
        if reason:
            findings.append(where.finding(
                "transaction-index-entry", f"entry {slot}, producer {row['producer_id']} from offset {row['first']} to"
                f" {row['last']}: {reason}", position=slot * ENTRY_SIZE, offset=int(row["last"]), slot=slot,
            ))  # fmt: skip
        before = max(before, int(row["last"]))
    named = {int(row["last"]) for row in rows}
    for producer, offset, had_data in table.aborts:
        if had_data and offset not in named and not (growing and len(data) % ENTRY_SIZE):
            findings.append(where.finding(
                "transaction-index-missing", f"producer {producer} aborted at offset {offset}, and no entry tells",
                offset=offset,
            ))  # fmt: skip
    return findings


def _wrong(row: "np.void", before: int, table: LogTable) -> str:
    first, last, stable = int(row["first"]), int(row["last"]), int(row["last_stable"])
    if row["version"] != 0:
        return f"its version is {row['version']}, and only 0 is known"
    if last <= before:
        return "it does not come behind the entry before it"
    if first > last:
        return "it ends before it begins"
    if stable > last + 1:
        return f"its last stable offset {stable} lies behind it"
    producer = table.markers.get(last)
    if producer is None:
        return "the log has no abort marker there" if not table.damaged else ""
    return "" if producer == int(row["producer_id"]) else f"the abort marker there is of producer {producer}"
