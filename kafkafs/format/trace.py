"""The voice that explains a lookup: which only `.explain` listens to."""

from collections.abc import Callable, Sequence

from kafkafs.format.index import OffsetIndex, Probe, TimeIndex

Trace = Callable[[str], None]
"""Hears what a lookup does, a sentence a step; lines behind the first say more of that step."""


def no_trace(_: str) -> None:
    """The `Trace` of lookups that need no explanation."""


_WARM = (
    "the warm section, the last 8,192 bytes of the index, which is searched first: most lookups go to the end of a log,"
    " so its pages stay in memory"
)


def list_probes(
    index: OffsetIndex | TimeIndex, probes: Sequence[Probe], entry: Callable[[Probe], str], sides: tuple[str, str]
) -> str:
    """Below a step: each look of the binary search in an index; `sides`: how an entry stands to what is looked for, if
    the search goes on from there, and if not."""
    if not probes:
        return ""
    first = index.first_warm_slot
    where = f"all {index.entries} are in" if first == 0 else f"{first} to {index.entries - 1} are"
    lines = [f"slots are numbered from 0; {where} {_WARM}"]
    for number, probe in enumerate(probes, start=1):
        zone = "warm" if probe.slot >= first else "cold"
        lines.append(f"probe {number}: slot {probe.slot} ({zone}): {entry(probe)}, {sides[not probe.is_reached]}")
    return "".join(f"\n     {line}" for line in lines)
