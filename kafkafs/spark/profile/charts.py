"""Pictures as HTML and SVG, drawn without a script: bars with their words beside them, and columns over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.environment import TemplateModule
from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: its name, its length, and what stands at its end."""

    name: str
    value: float
    told: str


def bars(rows: Sequence[Bar], kind: str = "") -> Markup:
    """Horizontal bars, the longest as wide as the page."""
    longest = max((row.value for row in rows), default=0) or 1
    return rendered("bars", rows, longest, kind)


def moment(seconds: int) -> str:
    """A time in UTC, or its seconds where no calendar has it."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return f"@{seconds}"


def duration(seconds: int) -> str:
    """A length of time, about, in its largest unit."""
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        if seconds >= length:
            told = f"{seconds / length:,.1f}".removesuffix(".0")
            return f"{told} {unit}" + ("" if told == "1" else "s")
    return "no time"


def counted(count: int, one: str, more: str | None = None) -> str:
    """`1 record`, `2,000 records`: a number and what it counts."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def minute(milliseconds: int | None) -> Markup:
    """A time to the minute for a cell, in which the clock may stand below the day."""
    if milliseconds is None:
        return Markup("-")
    day, _, clock = moment(milliseconds // 1000)[:16].partition(" ")
    return Markup("<time>{}</time> <time>{}</time>").format(day, clock)


def amount(size: float) -> str:
    """Bytes for people."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            return f"{size:,.0f} {unit}" if unit == "B" or size >= 100 else f"{size:,.1f} {unit}"
        size /= 1000
    raise AssertionError("the last unit takes all")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    """A table that scrolls sideways where it is too wide; all but the first column are numbers.

    A click on a column's name sorts it (`templates/sorting.js`)."""
    return rendered("table", head, rows)


def rendered(piece: str, *values: object) -> Markup:
    """The HTML of one piece, by its macro's name."""
    return Markup(getattr(_pieces(), piece)(*values))


@cache
def _pieces() -> TemplateModule:
    loader = PackageLoader("kafkafs.spark.profile")
    names = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return names.get_template("pieces.html").module
