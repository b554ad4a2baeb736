"""A log as text: a line for a batch and, with deep iteration, one for each record.

Batches that hold what they promise are rendered many at a time. The others go one by one: those that are damaged, those
of KRaft itself, and all where keys or values are doubles. Source: DumpLogSegments, `dumpLog` and `printControlRecord`.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from kafkafs.dump.damaged import records
from kafkafs.dump.dump_findings import GAP, Dump
from kafkafs.dump.dump_options import WHOLE
from kafkafs.dump.entries import EntryRun, UnreadableEntry
from kafkafs.dump.kafka_decoders import NUMBER_SIZES
from kafkafs.dump.rendering import Text, has_kernels, header_lines, record_lines
from kafkafs.dump.single_lines import DumpedRecord, record_line, unreadable_header
from kafkafs.errors import CorruptData, TooLarge
from kafkafs.format.batch import (
    CODEC,
    CODECS,
    HEADER_V2,
    UNCHECKED,
    VALID,
    Batch,
    Batches,
    batch_at,
    crc_holds,
    is_control,
    rows_of,
)
from kafkafs.format.control import CONTROL_KEY, ControlType, control_type, coordinator_epoch
from kafkafs.format.records import PIECE, Records, Refusal, decode
from kafkafs.format.tables import Flags, Numbers, copied


class TextLog:
    """One pass through one file.

    It keeps `_last_offset` from one run to the next: the offset of the record before, which shows missing offsets. It
    is -1 before the first record, and None if the record before was not looked at.
    """

    def __init__(self, asked: Dump) -> None:
        self._asked = asked
        self._source, self._options, self._window = asked.source, asked.options, asked.window
        self._last_offset: int | None = -1 if asked.window == WHOLE else None  # a record's, to find gaps
        self._needs_python = not has_kernels(asked.options)
        self._reports_undecoded = True

    def texts(self, run: EntryRun) -> Iterator[Text]:
        """The lines of many entries, made by kernels where they can, else one by one."""
        singly = self._needs_single_lines(run.rows)
        borders = [0, *(np.flatnonzero(np.diff(singly)) + 1).tolist(), len(singly)]
        for first, stop in pairwise(borders):
            if first == stop:
                return
            if singly[first]:
                yield from self._one_by_one(run, first, stop)
            elif self._options.is_deep:
                yield from self._decoded(run.part(first, stop))
            else:
                yield from header_lines(run.rows, first, stop)

    def odd_entry(self, entry: Batch | UnreadableEntry) -> Iterator[Text]:
        """The lines of an entry that does not look sound."""
        if isinstance(entry, UnreadableEntry):
            self._asked.problem(f"the entry at position {entry.position} is of no format there is.")
            yield unreadable_header(entry).encode() + b"\n"
            return
        data = self._source.data.read(entry.position, entry.size)
        is_whole = entry.magic < 2 or entry.size >= HEADER_V2.size
        is_valid = is_whole and crc_holds(replace(entry, magic=min(entry.magic, 2)), data)
        rows = rows_of(entry, is_valid=is_valid)
        self._asked.findings.check_crcs(rows)
        yield from self._entry(rows, data)

    def trailing(self, position: int, end: int, fatal: str) -> Iterator[bytes]:
        """The bytes at the end of the file, in which nothing begins."""
        if fatal:
            self._asked.problem(f"{fatal}.")
        else:
            yield f"Found {end - position} invalid bytes at the end of {self._source.name}\n".encode()

    def _needs_single_lines(self, rows: Batches) -> Flags:
        unknown: Flags = rows["attributes"] & CODEC >= len(CODECS)
        if not self._options.is_deep:
            return unknown
        many_controls = is_control(rows) & (rows["count"] > PIECE)
        corrupt_message = (rows["magic"] < 2) & (rows["valid"] != VALID)
        singly: Flags = unknown | corrupt_message | many_controls
        return singly | self._needs_python

    def _one_by_one(self, run: EntryRun, first: int, stop: int, *, are_followed: bool = False) -> Iterator[Text]:
        """The lines of batches [first, stop); `are_followed`: the offsets of their records were looked at already."""
        for index in range(first, stop):
            data = run.bytes_of(batch_at(run.rows, index))
            yield from self._entry(run.rows[index : index + 1], data, are_followed=are_followed)

    def _decoded(self, run: EntryRun) -> Iterator[Text]:
        unchecked = copied(run.rows)
        unchecked["valid"] = UNCHECKED  # the tool reads records whether the CRC holds or not
        next_batch = 0
        for piece in decode(run.data, run.position, unchecked, self._options.limit, self._options.memory):
            if isinstance(piece, Refusal):
                yield from self._refused(run, next_batch, piece)
                next_batch = piece.batch + 1
            elif len(shown := self._window.of(piece)):
                yield from self._many(run, next_batch, shown)
                next_batch = int(shown.rows["batch"][-1]) + 1
        yield from header_lines(run.rows, next_batch, len(run.rows))

    def _many(self, run: EntryRun, next_batch: int, shown: Records) -> Iterator[Text]:
        """The lines of many records, and of batches from `next_batch` up to theirs."""

        def singly(number: int) -> Iterator[Text]:
            return self._one_by_one(run, number, number + 1, are_followed=True)

        self._follow_many(shown.rows["offset"])
        if self._reports_undecoded and self._options.print_data_log:
            self._report_short_numbers(run, shown)
        yield from record_lines(run.rows, next_batch, shown, self._options, singly)

    def _refused(self, run: EntryRun, next_batch: int, refusal: Refusal) -> Iterator[Text]:
        """A batch whose records are not as they should be."""
        yield from header_lines(run.rows, next_batch, refusal.batch + 1)
        batch = batch_at(run.rows, refusal.batch)
        yield from self._records(batch, run.bytes_of(batch))

    def _entry(self, rows: Batches, data: bytes, *, are_followed: bool = False) -> Iterator[Text]:
        """The lines of the one batch that is in `rows`."""
        yield from header_lines(rows, 0, 1)
        batch = batch_at(rows, 0)
        if batch.codec >= len(CODECS):
            self._problem(batch, f"there is no codec {batch.codec}")
        elif self._options.is_deep:
            yield from self._records(batch, data, are_followed=are_followed)

    def _records(self, batch: Batch, data: bytes, *, are_followed: bool = False) -> Iterator[bytes]:
        try:
            for record in records(batch, data, self._options.limit, self._options.memory):
                if not self._window.has(record.offset):
                    continue
                if not are_followed:
                    self._follow(record.offset)
                control = self._control(batch, record) if batch.is_control else None
                yield record_line(batch, record, self._options, control, partial(self._undecoded, record.offset))
        except (CorruptData, TooLarge) as error:
            self._problem(batch, str(error))

    def _control(self, batch: Batch, record: DumpedRecord) -> bytes:
        try:
            return control_text(record.key, record.value)
        except CorruptData as error:
            self._problem(batch, str(error))
            return b""

    def _follow(self, offset: int) -> None:
        if self._last_offset is not None and offset != self._last_offset + 1:
            self._asked.disagree(GAP, self._last_offset, offset)
        self._last_offset = offset

    def _follow_many(self, offsets: Numbers) -> None:
        self._follow(int(offsets[0]))
        before = np.flatnonzero(np.diff(offsets) != 1)
        gaps = zip(offsets[before].tolist(), offsets[before + 1].tolist(), strict=True)
        self._asked.findings.disagree(GAP, self._source, gaps)
        self._last_offset = int(offsets[-1])

    def _report_short_numbers(self, run: EntryRun, shown: Records) -> None:
        """Kernels make lines of them and say nothing."""
        for part, decoder in (("key", self._options.decode_key), ("value", self._options.decode_value)):
            if least := NUMBER_SIZES.get(decoder):
                sizes = shown.rows[f"{part}_size"]
                short = (sizes >= 0) & (sizes < least) & ~is_control(run.rows)[shown.rows["batch"]]
                for number in np.flatnonzero(short)[:1].tolist():
                    self._undecoded(int(shown.rows["offset"][number]), f"its {part} has less than {least} bytes")

    def _undecoded(self, offset: int, reason: str) -> None:
        """No decoder accepts a record, and the tool ends there. Only the first is reported: all may be alike."""
        if self._reports_undecoded:
            self._reports_undecoded = False
            self._asked.problem(f"the record of offset {offset} cannot be decoded: {reason}.")

    def _problem(self, batch: Batch, reason: str) -> None:
        where = f"the batch at position {batch.position} with the last offset {batch.last_offset}"
        self._asked.problem(f"the records of {where} cannot all be read: {reason}.")


_KRAFT = {  # label and schema
    ControlType.LEADER_CHANGE: ("LeaderChange: ", "LeaderChangeMessage"),  # the only one with a colon
    ControlType.SNAPSHOT_HEADER: ("SnapshotHeader ", "SnapshotHeaderRecord"),
    ControlType.SNAPSHOT_FOOTER: ("SnapshotFooter ", "SnapshotFooterRecord"),
    ControlType.KRAFT_VERSION: ("KRaftVersion ", "KRaftVersionRecord"),
    ControlType.KRAFT_VOTERS: ("KRaftVoters ", "VotersRecord"),
}


def control_text(key: bytes | None, value: bytes | None) -> bytes:
    """The type of a control record and what its value holds. CorruptData if key or value are too short."""
    if key is None or len(key) < CONTROL_KEY.size:
        raise CorruptData("the key of a control record is cut")
    version, type_id = CONTROL_KEY.unpack_from(key)
    if version < 0:
        raise CorruptData(f"the key of a control record has version {version}")
    kind = control_type(key)
    if kind is ControlType.UNKNOWN:
        return f" controlType: UNKNOWN({type_id})".encode()
    if value is None:
        raise CorruptData(f"a {kind.name} record has no value")
    if kind not in _KRAFT:
        epoch = coordinator_epoch(value)
        if epoch is None or value[0] >= 0x80:
            raise CorruptData(f"the value of an {kind.name} marker cannot be read")
        return f" endTxnMarker: {kind.name} coordinatorEpoch: {epoch}".encode()
    label, schema = _KRAFT[kind]
    return f" {label}{_kraft_json(kind, schema, value)}".encode()


def _kraft_json(kind: ControlType, schema: str, value: bytes) -> str:
    """The tool reads every version as version 0 and shows it as the version that it claims to be."""
    from kafkafs.format.messages.message_json import fields_json, jackson_string  # with Kafka's schemas, for KRaft only
    from kafkafs.format.messages.topic_records import parse_fields

    fields = parse_fields("clients", schema, 0, value)
    if fields is None:
        raise CorruptData(f"the value of the {kind.name} record cannot be read")
    return fields_json("clients", schema, fields["version"], fields, jackson_string)
