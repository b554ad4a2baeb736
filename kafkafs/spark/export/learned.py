"""The results of an export's first pass, kept beside its files until the plan has the types of all topics.

A pass over the values of a large topic takes minutes. The process that has looked through a range writes down what it
found, so that a run goes on where an earlier one was killed. The plan, which was saved before, names the same ranges.
"""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from kafkafs.errors import KafkafsError
from kafkafs.spark.export.export_plan import file_of
from kafkafs.spark.export.output import Output
from kafkafs.tables.typed.json_values import Kind
from kafkafs.tables.typed.kinds import Infer, Mapped, Pass

_PLACE = "_kafkafs_export.types/"


def forget(out: Output) -> None:
    """Removes the results: the plan has the types."""
    for name in out.sizes():
        if name.startswith(_PLACE):
            out.remove(name)


def remembered(out: Output, mapped: Mapped, passes: Sequence[Pass], infer: Infer) -> Iterable[Kind]:
    """Make passes as `mapped` does, but for those whose results are in `out`."""
    known = {name: kinds[0] for name in out.sizes() if (kinds := _read(out, name))}
    made = iter(mapped([each for each in passes if _name(each) not in known], _RecordedPass(out, infer)))
    return [known[_name(each)] if _name(each) in known else next(made) for each in passes]


@dataclass(frozen=True, slots=True)
class _RecordedPass:
    """Makes a pass, and writes down its result. An error of the writing costs a later run some time, and no more."""

    out: Output
    infer: Infer

    def __call__(self, each: Pass) -> Kind:
        kind = self.infer(each)
        with suppress(KafkafsError):
            self.out.write_json(_name(each), [kind])
        return kind


def _name(each: Pass) -> str:
    return _PLACE + file_of(each.range).removesuffix(".parquet") + ".json"


def _read(out: Output, name: str) -> list[Kind]:
    """The result that a file has, alone in a list. Nothing if it is no such file."""
    if not name.startswith(_PLACE):
        return []
    try:
        found = json.loads(out.read(name) or b"")
    except (ValueError, RecursionError, KafkafsError):
        return []
    return found if isinstance(found, list) and len(found) == 1 else []
