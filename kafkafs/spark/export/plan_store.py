"""The plan of an export in its place, and how it gets the types of its topics. All of it happens under a claim.

A first pass over the values of a large topic takes minutes, so its results are kept beside the files (`learned`) until
the plan has the types. The plan is saved before, and names the ranges that they are of.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from kafkafs.cluster.registry import Registry
from kafkafs.spark.export import export_plan, learned
from kafkafs.spark.export.export_plan import GONE, ExportPlan, Request
from kafkafs.spark.export.output import Output
from kafkafs.spark.export.tallies import TALLIES
from kafkafs.spark.jobs import nothing
from kafkafs.tables.ranges import data_loss
from kafkafs.tables.typed.json_values import Kind
from kafkafs.tables.typed.kinds import Mapped, Pass, kinds, reader_schemas
from kafkafs.tables.typed.reader_schema import TIMES


@dataclass(frozen=True, slots=True)
class FirstPass:
    """Finds the types of the topics of a plan whose values have none yet, as words that the plan keeps."""

    request: Request
    registry: Registry
    shared: Callable[[], Registry]
    mapped: Mapped
    fresh: set[str] = field(default_factory=set)
    """The topics whose types it has found."""

    def is_due(self, plan: ExportPlan) -> bool:
        """True if there are such topics."""
        return self.request.value != "bytes" and bool(plan.new_units())

    def remembered(self, out: Output) -> "FirstPass":
        """The pass without the ranges whose results are in `out`."""
        return replace(self, mapped=partial(learned.remembered, out, self.mapped))

    def types(self, plan: ExportPlan) -> dict[str, object]:
        """The type of each topic."""
        request, units = self.request, plan.new_units()
        lost = data_loss(fail=True, advice=GONE)
        passes = [Pass(unit.range, unit.weight, "value", request.isolation, lost) for unit in units]
        found: dict[str, object] = {}
        if request.value == "json":
            found |= kinds(self.mapped, passes, Pass.kind)
        elif request.value == "registry":
            topics, infer = {each.topic for each in passes}, partial(_infer, self.shared)
            readers = reader_schemas(self.mapped, self.registry, topics, "value", passes, infer)
            times = ("Timestamp",) if request.for_iceberg else TIMES  # an Iceberg table has no type for a Duration
            found |= {topic: replace(each, times=each.times and times).words() for topic, each in readers.items()}
        self.fresh.update(found)
        return found


def _infer(registry: Callable[[], Registry], each: Pass) -> Kind:
    return each.registered_kind(registry())


class PlanStore:
    """The place of the one plan of an export below its output. `LedPlans` has a plan for each partition."""

    counts = TALLIES
    """The name of the file with `Tallies`."""

    def __init__(self, out: Output, request: Request, still_ours: Callable[[], None] = nothing) -> None:
        """`still_ours` raises an error if another process has taken over the claim."""
        self.out, self.request, self.still_ours = out, request, still_ours

    def settle_types(self, plan: ExportPlan, first: FirstPass) -> None:
        """Gives the plan the types of all topics that have none yet, and saves what is new in it."""
        is_due = first.is_due(plan)
        if is_due:
            self.save(plan)  # with the ranges whose results `learned` keeps
            plan.value_types |= first.remembered(self.out).types(plan)
        if is_due or not plan.is_saved:
            self.save(plan)
        if is_due:
            learned.forget(self.out)

    def save(self, plan: ExportPlan) -> None:
        """Writes the plan down, as long as that is this process's part."""
        self.still_ours()
        export_plan.save(self.out, self.request, plan)

    def is_ours(self, name: str) -> bool:
        """True for a half written file that no other run may be writing."""
        return bool(name)
