"""Timing that can be compared: the contestants take turns, so that what else the machine does hits all of them."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """Several measurements of one thing."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def least(self) -> float:
        return min(self.values)

    @property
    def most(self) -> float:
        return max(self.values)

    def over(self, other: "Spread") -> "Spread":
        """The ratio to `other`, round by round."""
        return Spread(tuple(ours / theirs for ours, theirs in zip(self.values, other.values, strict=True)))


@dataclass(frozen=True)
class Result:
    """One line of the report: kafkafs beside a peer. The goal is for the ratio, or for the value without a peer."""

    section: str
    what: str
    unit: str
    ours: Spread
    peer: str = ""
    theirs: Spread | None = None
    goal: float | None = None
    at_most: bool = False

    @property
    def judged(self) -> Spread:
        """What the goal is about."""
        return self.ours if self.theirs is None else self.ours.over(self.theirs)

    @property
    def is_met(self) -> bool | None:
        """Whether the median keeps the goal; None without one."""
        if self.goal is None:
            return None
        return self.judged.median <= self.goal if self.at_most else self.judged.median >= self.goal


def seconds(action: Callable[[], object]) -> float:
    """How long one call takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def rate(count: int, action: Callable[[], object]) -> Callable[[], float]:
    """A measurement: how many millions a second of the `count` things that one call does."""
    return lambda: count / seconds(action) / 1e6


def in_turns(contestants: Mapping[str, Callable[[], float]], rounds: int, *, warm: bool = True) -> dict[str, Spread]:
    """What each contestant measures of itself, `rounds` times in turns; a first round may warm up and not count."""
    found: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(-warm, rounds):
        for name, contestant in contestants.items():
            value = contestant()
            if number >= 0:
                found[name].append(value)
    return {name: Spread(tuple(values)) for name, values in found.items()}
