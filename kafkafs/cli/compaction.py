"""`kafkafs export --compact`: small files of an export put together."""

import argparse
import sys
from dataclasses import replace

from kafkafs.cli.spark_command import SparkProgress
from kafkafs.errors import UsageError
from kafkafs.spark.export.claims import claimed
from kafkafs.spark.export.compacting import compact
from kafkafs.spark.export.export_plan import PLAN
from kafkafs.spark.export.output import output


def run_compaction(arguments: argparse.Namespace) -> int:
    """Puts small files together, and says how many there were."""
    from kafkafs.cli.parser import build  # it imports the modules of all commands

    alone = vars(build(["export"]).parse_args(["export", "--compact", arguments.compact]))
    others = sorted(name for name, value in vars(arguments).items() if alone.get(name) != value)
    if others:
        raise UsageError(f"--compact takes nothing else: leave out {', '.join(map(_typed, others))}")
    out = output(arguments.compact)
    if out.local is not None and (out.local / PLAN).exists():
        out = replace(out, mode=(out.local / PLAN).stat().st_mode & 0o666)
    with SparkProgress("compact", "looking") as progress, claimed(out) as claim:
        done = compact(out, progress, claim.check)
    print(f"{done.rows:,} records of {done.before:,} files are in {done.after:,} files now, in {out}", file=sys.stderr)
    return 0


def _typed(name: str) -> str:
    """An argument as the usage writes it."""
    return "DATA_DIR" if name == "data_dirs" else f"--{name.replace('_', '-')}"
