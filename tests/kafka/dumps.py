"""What Kafka's own DumpLogSegments prints of a data directory's files, in every mode that `kafkafs dump` has to match.

One gzipped JSON file, `dumps.json.gz`: {mode: {"options": [...], "files": {"<partition directory>/<file>": output},
"crashes": {file: last lines of the tool's stderr}, "reports": [stderr of each run]}}. An output begins at its
`Dumping ...` line. The tool was run inside the data directory, so that its paths are relative ones. It is the release's
own, where that is new enough to have all options.
"""

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.kafka import jars

OLDEST_TOOL = "4.3.1"
TOOL = "org.apache.kafka.tools.DumpLogSegments"
INDEXES = (".index", ".timeindex")
KINDS = (".log", *INDEXES, ".txnindex", ".snapshot", ".checkpoint")
PADDED = ("disorder-0", "empty-0", "one-record-0", "segments-disorder-0", "transactions-0", "v0-gzip-0", "v1-lz4-0")
MAX_BYTES = 1000
CRASH_LINES = 3

# mode: its options, the kinds of file it is for, and the directories (all where empty)
MODES: Mapping[str, tuple[Sequence[str], Sequence[str], Sequence[str]]] = {
    "plain": ((), KINDS, ()),
    "deep": (("--deep-iteration",), (".log",), ()),
    "print": (("--print-data-log",), (".log", ".checkpoint"), ()),
    "skip-metadata": (("--print-data-log", "--skip-record-metadata"), (".log",), ()),
    "max-bytes": (("--max-bytes", str(MAX_BYTES)), (".log",), ()),
    "verify": (("--verify-index-only",), INDEXES, ()),
    "sanity": (("--index-sanity-check",), INDEXES, ()),
    "offsets": (("--offsets-decoder",), (".log",), ("__consumer_offsets-0",)),
    "transactions": (("--transaction-log-decoder",), (".log",), ("__transaction_state-0",)),
    "metadata": (("--cluster-metadata-decoder",), (".log", ".checkpoint"), ("__cluster_metadata-0",)),
}


def record(data: Path, place: Path, release: str, padded: bool) -> None:
    """Writes to the file `place` what the tool prints of `data`, a throw-away copy: it may create indexes there.

    Where the indexes are `padded`, only some of them: the tool takes a tenth of a second for each.
    """
    outputs = {}
    for mode, (options, kinds, directories) in MODES.items():
        if padded:  # a running broker's other files are the same as a stopped one's
            kinds, directories = INDEXES if mode == "plain" else (), PADDED
        files = _files(data, kinds, directories)
        if files:
            outputs[mode] = {"options": options, **_dump(data, files, options, max(release, OLDEST_TOOL))}
    place.write_bytes(gzip.compress(json.dumps(outputs, ensure_ascii=False).encode(), compresslevel=6, mtime=0))


def _files(data: Path, kinds: Sequence[str], directories: Sequence[str]) -> list[str]:
    return [
        str(file.relative_to(data))
        for file in sorted(data.glob("*/*"))
        if file.suffix in kinds
        and (not directories or file.parent.name in directories)
        and not (file.suffix in INDEXES and file.stat().st_size == 0)  # an empty index crashes the tool
    ]


def _dump(data: Path, files: Sequence[str], options: Sequence[str], release: str) -> dict[str, Any]:
    """Runs the tool over many files at once, and again over those behind one that it crashed on."""
    outputs: dict[str, str] = {}
    crashes: dict[str, str] = {}
    reports: list[str] = []
    waiting = list(files)
    while waiting:
        done = jars.run(release, TOOL, "--files", ",".join(waiting), *options, check=False, cwd=data)
        finished = _split(done.stdout.decode(), waiting)
        outputs |= finished
        complaint = _reported(done.stderr.decode().replace(str(data), ""))
        if done.returncode == 0:
            return {"files": outputs, "crashes": crashes, "reports": [*reports, complaint]}
        crashed = list(finished)[-1] if finished else waiting[0]
        outputs.pop(crashed, None)
        crashes[crashed] = "\n".join(complaint.splitlines()[:CRASH_LINES])
        waiting = waiting[waiting.index(crashed) + 1 :]
    return {"files": outputs, "crashes": crashes, "reports": reports}


def _reported(stderr: str) -> str:
    """The tool's own words, without those of its logging."""
    return "".join(line for line in stderr.splitlines(keepends=True) if not line.startswith("SLF4J"))


def _split(output: str, files: Sequence[str]) -> dict[str, str]:
    """Each file's share of the output, in order, as far as the tool came."""
    starts: list[tuple[str, int]] = []
    at = 0
    for file in files:
        at = output.find(f"Dumping {file}\n", at)
        if at < 0:
            break
        starts.append((file, at))
    ends = [start for _, start in starts[1:]] + [len(output)]
    return {file: output[start:end] for (file, start), end in zip(starts, ends, strict=True)}
