"""Pictures as HTML and SVG, without scripts: bars with their words beside them, and columns over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape

_HEIGHT, _WIDTH = 160, 1000


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: its name, its length, and what stands at its end."""

    name: str
    value: float
    told: str


def bars(rows: Sequence[Bar], kind: str = "") -> str:
    """Horizontal bars, the longest as wide as the page."""
    longest = max((row.value for row in rows), default=0) or 1
    lines = [
        f'<li><span class="name">{escape(row.name)}</span>'
        f'<span class="track">{_length(row.value / longest, kind)}</span>'
        f'<span class="told">{escape(row.told)}</span></li>'
        for row in rows
    ]
    return f'<ul class="bars">{"".join(lines)}</ul>' if lines else '<p class="none">Nothing to show.</p>'


def _length(share: float, kind: str) -> str:
    """The bar itself; nothing for nothing."""
    return f'<span class="bar {kind}" style="width:{100 * share:.2f}%"></span>' if share else ""


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


def amount(size: float) -> str:
    """Bytes for people."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            return f"{size:,.0f} {unit}" if unit == "B" or size >= 100 else f"{size:,.1f} {unit}"
        size /= 1000
    raise AssertionError("the last unit takes all")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that scrolls sideways where it is too wide; all but the first column are numbers."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
