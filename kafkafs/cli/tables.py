"""Tables for people: columns side by side, and sizes with a unit. Lines of JSON for programs."""

from collections.abc import Collection, Iterable, Sequence

from kafkafs.format.strings import compact_json

_UNITS = "KMGTPE"


def aligned(table: Sequence[Sequence[str]], numbers: Collection[int]) -> Iterable[str]:
    """A line for each row; the columns of `numbers` stand to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        texts = [
            text.rjust(width) if number in numbers else text.ljust(width)
            for number, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(texts).rstrip()


def human(size: int) -> str:
    """A size with a unit of 1024, rounded up: one decimal below ten, none above."""
    if size < 1024:
        return str(size)
    unit = 0
    while size > 1023 * 1024 ** (unit + 1) and unit + 1 < len(_UNITS):
        unit += 1
    whole = 1024 ** (unit + 1)
    tenths = -(-size * 10 // whole)
    return f"{tenths // 10}.{tenths % 10}{_UNITS[unit]}" if tenths < 100 else f"{-(-size // whole)}{_UNITS[unit]}"


def json_line(value: object) -> str:
    """One line of JSON. A byte of a file's name that is no text becomes `?`."""
    return compact_json(value).encode("utf-8", "replace").decode()
