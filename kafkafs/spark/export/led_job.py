"""An export of the partitions that one broker led, beside the exports of other machines.

A run claims its partitions, and exports them as one. It asks again at the end for partitions
that another run had claimed. If that run still works then, this one ends with an error that names it.
"""

from dataclasses import dataclass, field

from kafkafs.errors import UsageError
from kafkafs.spark.export.claims import OutputClaim
from kafkafs.spark.export.export_job import Exported, export
from kafkafs.spark.export.export_plan import Request
from kafkafs.spark.export.led_plans import LedPlans
from kafkafs.spark.export.output import Output
from kafkafs.spark.export.settling import check_names
from kafkafs.spark.jobs import Engine, Progress, no_progress
from kafkafs.tables.led import LedPartitions
from kafkafs.tables.offsets import TopicPartition, names

_SHOWN = 3


@dataclass(slots=True)
class LedExported:
    """The result of a run, and sentences about what it left out."""

    done: Exported = field(default_factory=lambda: Exported(0, 0, 0, 0))
    warnings: list[str] = field(default_factory=list)


def export_led(
    engine: Engine,
    out: Output,
    request: Request,
    led: LedPartitions,
    claim: OutputClaim,
    progress: Progress = no_progress,
) -> LedExported:
    """Writes what is missing of the partitions. UsageError for what others write at the same time."""
    result, left = LedExported(warnings=list(led.warnings)), set(led.locations)
    check_names(request, led.locations if led.named is None else led.named)
    plans = LedPlans(out, request, claim)
    while left:
        busy = claim.claim(str(name) for name in left)
        held = sorted(name for name in left if str(name) not in busy)
        if not held:
            raise UsageError(_busy(out, left, busy))
        plans.check()
        settled = plans.settle(led, held)
        result.done += export(engine, plans, settled, progress)
        result.warnings += settled.gone
        claim.release(map(str, held))
        left -= set(held)
    return result


def _busy(out: Output, left: set[TopicPartition], busy: dict[str, str]) -> str:
    some = sorted(left)[:_SHOWN]
    more = f" and {len(left) - _SHOWN:,} more" if len(left) > _SHOWN else ""
    return (
        f"another export writes {names(some)}{more} to {str(out)!r}: {busy[str(some[0])]}; the same command goes on"
        " after its end"
    )
