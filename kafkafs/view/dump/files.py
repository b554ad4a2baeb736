"""What a file is, by its name, and its dump. Source: DumpLogSegments, `main`."""

from collections.abc import Callable, Iterator

from kafkafs.view.dump.findings import Findings
from kafkafs.view.dump.indexes import dump_offset_index, dump_time_index
from kafkafs.view.dump.log import dump_log
from kafkafs.view.dump.options import Options
from kafkafs.view.dump.source import Source
from kafkafs.view.dump.tables import producer_snapshot, transaction_index

BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"
OFFSET_DIGITS, EPOCH_DIGITS = 20, 10
Dump = Callable[[Source, Options, Findings], Iterator[bytes]]


def is_dumpable(name: str) -> bool:
    """Whether a file of that name is of a kind that has a dump."""
    return _suffix(name) in _DUMPS


def dump(source: Source, options: Options, findings: Findings) -> Iterator[bytes]:
    """The text of one file, in pieces. The first line names it; an unknown kind has no other, and is a finding."""
    yield f"Dumping {source.path}\n".encode("utf-8", "surrogateescape")
    kind = _DUMPS.get(_suffix(source.name))
    if kind is None:
        findings.unknown(source)
        return
    yield from kind(source, options, findings)


def _suffix(name: str) -> str:
    _, dot, suffix = name.rpartition(".")
    return dot + suffix


def _segment(source: Source, options: Options, findings: Findings) -> Iterator[bytes]:
    base = source.base_offset
    if base is None:
        findings.problem(source, "its name holds no offset, so it may be no segment of Kafka's.")
    else:
        yield f"Log starting offset: {base}\n".encode()
    yield from dump_log(source, options, findings)


def _checkpoint(source: Source, options: Options, findings: Findings) -> Iterator[bytes]:
    if source.name == BOOTSTRAP_CHECKPOINT:
        yield b"KRaft bootstrap snapshot\n"
    else:
        offset, _, rest = source.name.partition("-")
        epoch = rest.partition(".")[0]
        if len(offset) == OFFSET_DIGITS and len(epoch) == EPOCH_DIGITS and (offset + epoch).isdecimal():
            yield f"Snapshot end offset: {int(offset)}, epoch: {int(epoch)}\n".encode()
        else:
            findings.problem(source, "its name holds no offset and epoch, so it may be no snapshot of Kafka's.")
    yield from dump_log(source, options, findings)


def _transactions(source: Source, _options: Options, findings: Findings) -> Iterator[bytes]:
    return transaction_index(source, findings)


def _producers(source: Source, _options: Options, findings: Findings) -> Iterator[bytes]:
    return producer_snapshot(source, findings)


_DUMPS: dict[str, Dump] = {
    ".log": _segment,
    ".checkpoint": _checkpoint,
    ".index": dump_offset_index,
    ".timeindex": dump_time_index,
    ".txnindex": _transactions,
    ".snapshot": _producers,
}
