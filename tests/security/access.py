"""Who may open what: asked of the kernel, as that user, of a path on disk and of the path in a mount alike."""

import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

_ASK = 'while IFS= read -r path; do if : <"$path"; then echo 1; else echo 0; fi; done 2>/dev/null'


@dataclass(frozen=True)
class User:
    """Somebody: a name for messages, and what the kernel knows of him."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...] = ()

    def may_open(self, paths: Sequence[Path]) -> list[bool]:
        """Whether each of the paths, files or directories, can be opened to read."""
        done = subprocess.run(
            ["bash", "-c", _ASK],
            input="".join(f"{path}\n" for path in paths),
            capture_output=True,
            text=True,
            timeout=300,
            user=self.uid,
            group=self.gid,
            extra_groups=self.groups,
            cwd="/",
            check=True,
        )
        return [answer == "1" for answer in done.stdout.split()]


@dataclass(frozen=True)
class Place:
    """One thing in a mount, and the files or directories on disk that it is made of."""

    shown: Path
    made_of: tuple[Path, ...]


def compare(users: Iterable[User], places: Sequence[Place]) -> tuple[list[str], list[str], int]:
    """(granted by the mount and not by the disk, refused by the mount alone, how many were granted)."""
    leaks, refusals, granted = [], [], 0
    parts = [path for place in places for path in place.made_of]
    for user in users:
        shown = user.may_open([place.shown for place in places])
        on_disk = dict(zip(parts, user.may_open(parts), strict=True))
        for place, open_here in zip(places, shown, strict=True):
            open_there = all(on_disk[path] for path in place.made_of)
            granted += open_here
            if open_here and not open_there:
                leaks.append(f"{user.name}: {place.shown}")
            if open_there and not open_here:
                refusals.append(f"{user.name}: {place.shown}")
    return leaks, refusals, granted
