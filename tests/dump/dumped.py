"""One file's dump by kafkafs and by Kafka's own tool, for comparisons. The tool gets throw-away copies only."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafkafs.cli.dump_arguments import TOPICS
from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.dump.dump_findings import Findings
from kafkafs.dump.dump_options import WHOLE, DumpOptions, OffsetWindow
from kafkafs.dump.dump_source import Source
from kafkafs.dump.file_dump import dump
from kafkafs.dump.internal_records import record_decoder
from tests.kafka import cache, jars

TOOL = "org.apache.kafka.tools.DumpLogSegments"
OPTIONS: dict[str, dict[str, Any]] = {
    "--deep-iteration": {"deep_iteration": True},
    "--print-data-log": {"print_data_log": True},
    "--skip-record-metadata": {"skip_record_metadata": True},
    "--verify-index-only": {"verify_index_only": True},
    "--index-sanity-check": {"index_sanity_check": True},
}


@dataclass
class Dumped:
    """What stands on standard output, and what is told besides: problems at once, findings at the end."""

    text: str
    problems: list[str] = field(default_factory=list)
    report: list[str] = field(default_factory=list)


def options_of(flags: Sequence[str], release: str = jars.NEWEST) -> DumpOptions:
    """kafkafs' options for the flags of the tool, on a disk of that release."""
    chosen: dict[str, Any] = {}
    for flag, value in zip(flags, [*flags[1:], ""], strict=False):
        if flag == "--max-bytes":
            chosen["max_bytes"] = int(value)
        chosen |= OPTIONS.get(flag, {})
        topic = TOPICS.get(flag.removeprefix("--").removesuffix("-decoder"))
        if topic is not None:
            decode = record_decoder(topic, names_states=release == jars.NEWEST)
            chosen |= {"print_data_log": True, "decode_record": decode}
    return DumpOptions(**chosen)


def source_of(directory: Path, name: str) -> Source:
    """A file as `kafkafs dump` would be given it from inside of `directory`."""
    root = LocalDirectory(str(directory))
    folder = os.path.dirname(name)
    return Source(name, str(directory / name), lambda name: root.open_now(os.path.join(folder, name)))


def dumped(directory: Path, name: str, options: DumpOptions, window: OffsetWindow = WHOLE) -> Dumped:
    """kafkafs' dump of one file."""
    findings = Findings()
    answer = Dumped("")
    findings.report = answer.problems.append
    answer.text = b"".join(dump(source_of(directory, name), options, findings, window)).decode()
    answer.report = list(findings.lines())
    return answer


@dataclass
class ToolOutput:
    """What the tool printed of one file. Where it `crashed`, that is what came before."""

    text: str
    crashed: bool


def by_the_tool(directory: Path, names: Sequence[str], *flags: str) -> dict[str, ToolOutput]:
    """The tool's output for each file, run again behind each one that ends it.

    What it made of the same files with the same flags is kept: each run is a JVM.
    """
    files = sorted(file for file in directory.rglob("*") if file.is_file())
    contents = (each for file in files for each in (os.fsencode(file.relative_to(directory)), file.read_bytes()))
    asked = json.dumps([jars.NEWEST, TOOL, list(names), flags]).encode()

    def make(place: Path) -> None:
        outputs = _run_the_tool(directory, names, *flags)
        reported = {name: [output.text, output.crashed] for name, output in outputs.items()}
        (place / "outputs.json").write_text(json.dumps(reported))

    kept = cache.once_of("dumps", (asked, *contents), make)
    return {name: ToolOutput(*output) for name, output in json.loads((kept / "outputs.json").read_text()).items()}


def _run_the_tool(directory: Path, names: Sequence[str], *flags: str) -> dict[str, ToolOutput]:
    outputs: dict[str, ToolOutput] = {}
    left = list(names)
    while left:
        done = jars.run(jars.NEWEST, TOOL, "--files", ",".join(left), *flags, check=False, cwd=directory)
        texts = _split(done.stdout.decode(), left)
        assert texts, done.stderr.decode()
        for name, text in zip(left, texts, strict=False):
            outputs[name] = ToolOutput(text, crashed=False)
        outputs[left[len(texts) - 1]].crashed = done.returncode != 0
        left = left[len(texts) :]
    return outputs


def _split(output: str, names: Sequence[str]) -> list[str]:
    starts: list[int] = []
    for name in names:
        at = output.find(f"Dumping {name}\n", starts[-1] + 1 if starts else 0)
        if at < 0:
            break
        starts.append(at)
    return [output[start:stop] for start, stop in zip(starts, [*starts[1:], len(output)], strict=True)]
