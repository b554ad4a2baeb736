"""A search through files with records, one by one, by processes of their own: no log start, no order of offsets and no
choice of replicas leaves a record out.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

import numpy as np

from kafkafs.disk.data_file import DataFile
from kafkafs.disk.forked import Serve
from kafkafs.disk.in_order import Job, OrderRules, in_order
from kafkafs.format.batch import FRAME_SIZE, LARGEST_HEADER, data_batches, parse_batch
from kafkafs.format.records import Records, Refusal, decode, is_left_out, stored_limit
from kafkafs.format.tables import chosen
from kafkafs.log.places import Between
from kafkafs.log.segment import BatchRun, Damage, batches_of
from kafkafs.search.record_files import RecordFile
from kafkafs.search.results import AHEAD, Done, SearchTask, Trouble, reported_errors, size_of_lines, tell_found
from kafkafs.search.results import Event as FoundEvent
from kafkafs.search.search_units import OPTIONS
from kafkafs.search.selection import FieldMaker


class VanishedFile(NamedTuple):
    """A file that has another name by now, or is deleted: nothing of it was read."""

    partition: str


Event = FoundEvent | VanishedFile
"""The `partition` of an event is the file's path."""


def search_files(files: Sequence[RecordFile], task: SearchTask, processes: int | None = None) -> Iterator[Event]:
    """Yield the results, in order within each file, and file by file within a directory."""
    jobs = (Job(os.path.dirname(file.path), number) for number, file in enumerate(files))
    rules = OrderRules[Event](lambda event: isinstance(event, Done), size_of_lines, AHEAD)
    count = processes or len(os.sched_getaffinity(0))
    with closing(in_order(jobs, _searcher(files, task), count, rules)) as events:
        for _, event in events:
            yield event


def _searcher(files: Sequence[RecordFile], task: SearchTask) -> Serve[int, Event]:
    """The work of one process."""

    def searched(number: int, tell: Callable[[Event], None]) -> None:
        file = files[number]
        with reported_errors(file.path, tell):
            opened = file.open()
            if opened is None:
                tell(VanishedFile(file.path))
            else:
                _search_one(file, opened, task, tell)
        tell(Done(file.path, file.size))

    return searched


def first_member(path: str) -> str:
    """The member of a line that names the file. A byte that is no text becomes `?`."""
    text = path.encode("utf-8", "replace").decode()
    return f'"path":{json.dumps(text, ensure_ascii=False)},'


def _search_one(file: RecordFile, opened: DataFile, task: SearchTask, tell: Callable[[Event], None]) -> None:
    first = first_member(file.path)
    fields = task.fields_of(file.name, first) if task.fields_of else None
    found = _selected(file, opened, task, fields, lambda sentence: tell(Trouble(file.path, sentence)))
    tell_found(file.path, found, task.lines_of(file.name, first) if task.lines_of else None, task.most, tell)


def _selected(
    file: RecordFile, opened: DataFile, task: SearchTask, fields: FieldMaker | None, tell: Callable[[str], None]
) -> Iterator[Records]:
    """The records of a file that are in the window and selected. Batches that cannot have a match are not decoded."""
    size = opened.size
    largest = stored_limit(OPTIONS.max_batch)
    walked = file.remote.walk_whole(size) if file.remote is not None else batches_of(opened, True, largest)
    for item in walked:
        if isinstance(item, Damage):
            if not _is_end(file, opened, item, size):
                tell(f"{file.path}: {item}")
            continue
        rows = data_batches(item.rows)
        if len(rows) and not is_left_out(rows, item.position + len(item.data), OPTIONS.max_batch):
            rows = task.selection.batches(BatchRun(item.data, item.position, rows))
        for piece in decode(item.data, item.position, rows, OPTIONS.max_batch, OPTIONS.memory):
            if isinstance(piece, Refusal):
                tell(f"{file.path}: {piece.error}")
            elif len(kept := _within(piece, task.window)):
                found = task.selection.of(kept, fields)
                if len(found):
                    yield found
                del kept, found
            del piece


def _is_end(file: RecordFile, opened: DataFile, damage: Damage, size: int) -> bool:
    """True if the bytes are how a file of its kind may end: a leftover torn, a closed log with a few zeros, the last
    log with anything but a whole batch."""
    if damage.end < size:
        return False
    if file.is_leftover:
        return True
    if file.is_last:
        header = parse_batch(opened.read(damage.position, min(LARGEST_HEADER, damage.size)), 0, damage.position)
        return header is None or header.end > size
    return damage.size <= FRAME_SIZE and not any(opened.read(damage.position, damage.size))


def _within(records: Records, window: Between) -> Records:
    """The records in the window, each by its own offset and time."""
    rows = records.rows
    kept = np.ones(len(rows), bool)
    bounds = (
        ("offset", window.from_offset, window.to_offset),
        ("timestamp", window.from_time, window.to_time),
    )
    for column, first, behind in bounds:
        if isinstance(first, int):
            kept &= rows[column] >= first
        if isinstance(behind, int):
            kept &= rows[column] < behind
    return records if kept.all() else Records(records.data, chosen(rows, np.flatnonzero(kept)))
