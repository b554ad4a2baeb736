"""The table of ratios, for people and for programs."""

import json
import platform
from collections.abc import Sequence
from pathlib import Path

from tests.bench.measure import Result, Spread

_HEADINGS = ("what", "unit", "kafkafs", "(min..max)", "beside", "that", "ratio", "(min..max)", "goal", "")


def table(results: Sequence[Result]) -> str:
    """A line for each result, in columns."""
    rows = [_HEADINGS, *map(_row, results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _row(result: Result) -> tuple[str, ...]:
    theirs, ratio = result.theirs, result.judged if result.theirs else None
    goal = "" if result.goal is None else f"{'<=' if result.at_most else '>='} {_number(result.goal)}"
    met = {None: "", True: "met", False: "NOT MET"}[result.is_met]
    return (
        f"{result.section}: {result.what}", result.unit, _number(result.ours.median), _range(result.ours),
        result.peer, _number(theirs.median) if theirs else "",
        _number(ratio.median) if ratio else "", _range(ratio) if ratio else "", goal, met,
    )  # fmt: skip


def _range(spread: Spread) -> str:
    return f"({_number(spread.least)}..{_number(spread.most)})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def write_json(results: Sequence[Result], path: Path) -> None:
    """All measurements, and where they were taken."""
    lines = [
        {
            "section": result.section, "what": result.what, "unit": result.unit, "kafkafs": result.ours.values,
            "peer": result.peer or None, "peerValues": result.theirs.values if result.theirs else None,
            "ratio": result.judged.median if result.theirs else None, "goal": result.goal, "met": result.is_met,
        }
        for result in results
    ]  # fmt: skip
    machine = {"kernel": platform.release(), "processor": platform.machine(), "python": platform.python_version()}
    path.write_text(json.dumps({"machine": machine, "results": lines}, indent=1) + "\n")
