"""Pictures as HTML and SVG, drawn without a script: bars with their words beside them, and columns over time.

Records over time are split by topic: an axis with times, one with counts. Some clocks are at 1970, and one such
record would squeeze all others into one column: what is far from nearly all is not drawn, but named beside the axis.

No chart library draws them. Most of this module decides what is shown; the drawing is `_column` and a template. Plotly
would put a script of 4.8 MB into the page. Pygal made 276 KB of SVG of 120 columns of 6 topics, and took 0.09 s for it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.environment import TemplateModule
from markupsafe import Markup

from kafkafs.spark.profile.figures import Volume, volume_of


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: its name, its length, and the text at its end."""

    name: str
    value: float
    label: str


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
            number = f"{seconds / length:,.1f}".removesuffix(".0")
            return f"{number} {unit}" + ("" if number == "1" else "s")
    return "no time"


def counted(count: int, one: str, more: str | None = None) -> str:
    """`1 record`, `2,000 records`: a number and what it counts."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def minute(milliseconds: int | None) -> Markup:
    """A time to the minute for a table, in which the clock may be below the day."""
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


MOST_TOPICS = 6
"""Topics with a colour of their own; the others share one."""

_COLUMNS, _HEIGHT, _WIDTH = 200, 160, 1000
_OUTSIDE = 0.001  # share of the records that may stand apart, on each side
_FAR = 5  # times the span of the others


@dataclass(frozen=True, slots=True)
class Axis:
    """The steps [first, last] that are drawn, and the records before and behind them."""

    first: int
    last: int
    before: int
    behind: int


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A topic's part of a column, in the chart's own units; its number is that of its colour."""

    number: int
    left: float
    top: float
    width: float
    height: float
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    """All that is to be drawn and said: scale, times at both ends, what is not drawn, topics by colour."""

    label: str
    shapes: Sequence[Rectangle]
    scale: Sequence[int]
    ends: tuple[str, str]
    outside: str
    topics: Sequence[str]


def over_time(volumes: Mapping[str, Volume], step_s: int) -> Markup:
    """The chart of topics' volumes in steps of `step_s` seconds."""
    total = _total(volumes.values())
    if not total:
        return rendered("nothing", "No record has a timestamp.")
    window = window_of(total)
    bundle = -(-(window.last - window.first + 1) // _COLUMNS)
    ranked = sorted(volumes, key=lambda topic: (-sum(records for records, _ in volumes[topic].values()), topic))
    shown = {topic: volumes[topic] for topic in ranked[:MOST_TOPICS]}
    if rest := ranked[MOST_TOPICS:]:
        shown[f"{len(rest):,} more"] = _total([volumes[topic] for topic in rest])
    columns = [_bundled(each, window, bundle) for each in shown.values()]
    count = (window.last - window.first) // bundle + 1
    totals = [tuple(sum(each.get(at, (0, 0))[what] for each in columns) for what in (0, 1)) for at in range(count)]
    highest = max(records for records, _ in totals)
    length_s = step_s * bundle
    shapes = [
        shape for at in range(count)
        for shape in _column(at, columns, list(shown), count, highest, window, (step_s, bundle))
    ]  # fmt: skip
    largest = max(size for _, size in totals)
    label = (
        f"up to {counted(highest, 'record')} in {duration(length_s)}: {highest / length_s:,.1f} records/s;"
        f" up to {amount(largest / length_s)}/s"
    )
    ends = moment(window.first * step_s), moment((window.last + 1) * step_s)
    chart = Chart(label, shapes, (highest, highest // 2, 0), ends, _outside(total, window, step_s), list(shown))
    return rendered("columns", chart, _WIDTH, _HEIGHT)


def window_of(total: Volume) -> Axis:
    """The drawn range: nearly all records, and those near them."""
    steps = sorted(total)
    left = sum(records for records, _ in total.values()) * _OUTSIDE
    low, high = _inner(steps, total, left), _inner(steps[::-1], total, left)
    room = _FAR * (high - low + 1)
    first = next(step for step in steps if step >= low - room)
    last = next(step for step in reversed(steps) if step <= high + room)
    before = sum(total[step][0] for step in steps if step < first)
    return Axis(first, last, before, sum(total[step][0] for step in steps if step > last))


def _inner(steps: Sequence[int], total: Volume, left: float) -> int:
    """The first step that is not among the few records at this side."""
    passed = 0
    for step in steps:
        passed += total[step][0]
        if passed > left:
            return step
    return steps[-1]


def _total(volumes: Iterable[Volume]) -> Volume:
    return volume_of(item for volume in volumes for item in volume.items())


def _bundled(volume: Volume, window: Axis, bundle: int) -> Volume:
    inside = (item for item in volume.items() if window.first <= item[0] <= window.last)
    return volume_of(((step - window.first) // bundle, each) for step, each in inside)


def _column(
    at: int, columns: Sequence[Volume], topics: Sequence[str], count: int, highest: int, window: Axis,
    steps: tuple[int, int],
) -> list[Rectangle]:  # fmt: skip
    """One column: a part for each topic, the largest at the bottom."""
    wide, top, shapes = _WIDTH / count, float(_HEIGHT), []
    step_s, bundle = steps
    for number, (topic, volume) in enumerate(zip(topics, columns, strict=True)):
        records, size = volume.get(at, (0, 0))
        if not records:
            continue
        height = max(1.0, _HEIGHT * records / highest)
        top = max(top - height, 0)
        title = (
            f"{moment((window.first + at * bundle) * step_s)}, {topic}: {counted(records, 'record')}, {amount(size)}"
        )
        shapes.append(Rectangle(number, at * wide, top, max(wide * 0.86, 0.8), height, title))
    return shapes


def _outside(total: Volume, window: Axis, step_s: int) -> str:
    parts = []
    if window.before:
        parts.append(f"{_are(window.before)} older, the oldest of {moment(min(total) * step_s)}")
    if window.behind:
        parts.append(f"{_are(window.behind)} newer, the newest of {moment(max(total) * step_s)}")
    return "; ".join(parts)


def _are(records: int) -> str:
    return f"{counted(records, 'record')} {'is' if records == 1 else 'are'}"
