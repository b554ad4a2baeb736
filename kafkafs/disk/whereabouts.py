"""Find the segments if the named directory is not a data directory: its neighbours, one level down and up, tell.

People name a volume (`data-0`, with `kafka-log0` in it), a partition, a topic, a file in a partition, or a mount. And
whether a place is in a directory, whatever it is called: nothing is written into data.
"""

import json
import os
import shlex
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from kafkafs.disk.directory import Directory
from kafkafs.format.names import parse_partition_name

MOST_NAMED = 3
_MOST_LOOKED_AT, _MOST_IN_BUCKET = 1000, 20
_MANIFEST = ".kafkafs/status.json"  # only a mount has this file

Name = TypeVar("Name", str, Path)
IsDataDirectory = Callable[[Path], bool]


def is_within(inner: Path, outer: Path) -> bool:
    """True if `inner`, which need not exist yet, is `outer` or is below it, through links and bind mounts too."""
    place = Path(os.path.realpath(inner))
    return any(_is_same(step, outer) for step in (place, *place.parents))


def each_once(paths: Iterable[Name]) -> list[Name]:
    """The directories, each by the path that names it first."""
    found: dict[str, Name] = {}
    for path in paths:
        found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def _is_same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def hint(path: Path, is_data_directory: IsDataDirectory) -> str:
    """Return the directory to name instead of `path`, as the end of a sentence. Return "" if nothing near it helps."""
    path = path.absolute()
    for place in (path, *list(path.parents)[:2]):
        if (source := _mounted(place)) is not None:
            return f"; {str(place)!r} is a mount by kafkafs: name what it shows, {source}"
    if inside := _inside(path, is_data_directory):
        others = ", …" if len(inside) > MOST_NAMED else ""
        return f"; name what is in it: {', '.join(repr(str(each)) for each in inside[:MOST_NAMED])}{others}"
    for place in (path, *list(path.parents)[:2]):
        if is_data_directory(place.parent):
            return _above(place, path)
    words = str(path).split(",")
    if len(words) > 1 and is_data_directory(Path(words[0])):
        return f"; write blanks between data directories, as in {shlex.join(words)}"
    return ""


def hint_in_bucket(root: Directory, address: str, is_data_directory: Callable[[str], bool]) -> str:
    """A hint for a folder of a bucket, which `root` lists: data directories above it, or one level down."""
    place, mark, query = address.partition("?")
    with root.scan() as found:
        entries = [(each.name, each.is_dir()) for each in found]
    if any(name.endswith(".log") and not is_folder for name, is_folder in entries):
        above, _, name = place.rstrip("/").rpartition("/")
        return f"; {name!r} looks like one partition: name the folder above it, {above!r}"
    folders = sorted(name for name, is_folder in entries if is_folder)[:_MOST_IN_BUCKET]
    places = [f"{place.rstrip('/')}/{name}" for name in folders]
    inside = [repr(each) for each in places if is_data_directory(f"{each}{mark}{query}")]
    others = ", …" if len(inside) > MOST_NAMED else ""
    return f"; name what is in it: {', '.join(inside[:MOST_NAMED])}{others}" if inside else ""


def _above(place: Path, path: Path) -> str:
    """`place` is in a data directory: a partition, a file, or what a topic's name was taken for; `path` is it, or
    is below it."""
    what = "it" if path == place else repr(str(place))
    if place.is_dir():
        return f"; {what} looks like one partition: name the directory above it, {str(place.parent)!r}"
    if place.exists():
        return f"; {what} is a file of a data directory: name that, {str(place.parent)!r}"
    partitions = partitions_of(place.name, os.listdir(place.parent))
    are = "are" if not partitions or " to " in partitions else "is"
    named = f"; did you mean {partitions}, which" if partitions else "; partitions"
    return f"{named} {are} in {str(place.parent)!r}: name that directory"


def partitions_of(topic: str, names: list[str]) -> str:
    """The names that are partitions of a topic: `orders-0 to orders-5`, `orders-0`, or ""."""
    parsed = filter(None, map(parse_partition_name, names))
    numbers = sorted(name.partition for name in parsed if name.topic == topic and not name.mark)
    if len(numbers) < 2:
        return "".join(f"{topic}-{number}" for number in numbers)
    return f"{topic}-{numbers[0]} to {topic}-{numbers[-1]}"


def _inside(path: Path, is_data_directory: IsDataDirectory) -> list[Path]:
    with suppress(OSError):
        names = sorted(os.listdir(path))[:_MOST_LOOKED_AT]
        return [path / name for name in names if is_data_directory(path / name)]
    return []


def _mounted(place: Path) -> str | None:
    """The data directories that a mount at this place shows."""
    try:
        found = json.loads((place / _MANIFEST).read_bytes())["dataDirectories"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return " and ".join(repr(each) for each in found)
