"""The words behind `-o`: one list, from which they are parsed, refused and documented."""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from kafkafs.disk.objects import place_of
from kafkafs.errors import UsageError, did_you_mean
from kafkafs.log.read_options import Isolation, ReadOptions, TierSource, isolation

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
ALL = 2**63 - 1  # more than any log has
_COMMA = re.compile(r"(?<!\\),")
LARGEST_BATCH = 1024 << 30  # that `max_batch` may let through: beyond any machine's memory, and far below 64 bits


@dataclass(frozen=True, slots=True)
class MountOptions:
    """The options of a `mount`: `reading` goes to the log, the rest is about the mount itself."""

    reading: ReadOptions = field(default_factory=ReadOptions)
    allow_other: bool = field(default_factory=lambda: os.geteuid() == 0)


@dataclass(frozen=True, slots=True)
class Word:
    """One option: `name` or `name=value`, what it means, and how it changes the options."""

    form: str
    meaning: str
    apply: Callable[[MountOptions, str], MountOptions]
    values: tuple[str, ...] = ()  # all that may be behind the "=", where those are few

    @property
    def name(self) -> str:
        """The part before the `=`."""
        return self.form.partition("=")[0]


def _reading(options: MountOptions, **changes: Any) -> MountOptions:
    return replace(options, reading=replace(options.reading, **changes))


def _corrupt(options: MountOptions, value: str) -> MountOptions:
    if value != "skip":
        raise UsageError(f"corrupt={value!r} is not known; the only choice is corrupt=skip")
    return _reading(options, corrupt_skip=True)


def _max_batch(options: MountOptions, value: str) -> MountOptions:
    size = _size("max_batch", value, "512M")
    if size > LARGEST_BATCH:
        raise UsageError(f"max_batch={value[:40]!r} is more than any batch takes; write {LARGEST_BATCH >> 30}G at most")
    return _reading(options, max_batch=size)


def _exact(options: MountOptions, value: str) -> MountOptions:
    sizes = {"all": ALL, "0": 0}
    size = sizes[value] if value in sizes else min(ALL, _size("exact", value, "64M, exact=all or exact=0"))
    return _reading(options, exact=size)


def _size(name: str, value: str, example: str) -> int:
    """The bytes that an option's value says; UsageError if it is no size."""
    number, unit = (value[:-1], value[-1:].upper()) if value[-1:].isalpha() else (value, "")
    if not (number.isascii() and number.isdigit()) or unit not in UNITS or not number.strip("0"):
        raise UsageError(
            f"{name}={value[:40]!r} is not a size; write bytes, or a number with K, M or G, as in {name}={example}"
        )
    return int(number[:30]) * UNITS[unit]


def _tiered_key(options: MountOptions, value: str) -> MountOptions:
    keys = options.reading.tiered.keys if options.reading.tiered is not None else ()
    return _of_tier(options, keys=(*keys, TierSource.parse_key(value)))


def _of_tier(options: MountOptions, **changes: Any) -> MountOptions:
    return _reading(options, tiered=replace(options.reading.tiered or TierSource(""), **changes))


def _index_dir(options: MountOptions, value: str) -> MountOptions:
    path = Path(value)
    try:
        is_there = path.is_dir()
    except OSError as error:  # a directory above it may not be entered, or a name is too long
        raise UsageError(f"index_dir={value!r} cannot be opened: {error.strerror}") from error
    if not is_there:
        raise UsageError(f"index_dir={value!r} is not a directory; `kafkafs reindex DATA_DIR --index-dir D` makes one")
    return _reading(options, index_dir=path.absolute())


def _cache(options: MountOptions, value: str) -> MountOptions:
    if value != "keep":
        raise UsageError(f"cache={value!r} is not known; the only choice is cache=keep")
    return _reading(options, cache_keep=True)


def tier_of(texts: Iterable[str]) -> TierSource | None:
    """The tier in the `-o` arguments of a command that takes no other options; UsageError for those."""
    reading = parse(texts).reading
    if replace(reading, tiered=None) != ReadOptions():
        raise UsageError("of the options of a mount, this command takes only tiered=, tiered_key= and tiered_cache=")
    return reading.tiered


WORDS = (
    Word(
        "isolation=LEVEL", "read_uncommitted (default) or read_committed, for decoded views",
        lambda options, value: _reading(options, isolation=isolation("isolation", value)), get_args(Isolation),
    ),
    Word("corrupt=skip", "decoded ranges skip corrupt batches instead of failing", _corrupt),
    Word("max_batch=SIZE", "largest batch a decoded view unpacks: bytes, or with K, M, G (default 256M)", _max_batch),
    Word(
        "exact=SIZE", "largest decoded range that is a file with a size: bytes, K, M, G, 0 or all (default 8M)", _exact
    ),
    Word("index_dir=DIR", "use the indexes that `kafkafs reindex` rebuilt there", _index_dir),
    Word(
        "tiered=SOURCE", "the tier that has older segments: a directory, s3://bucket/prefix, ...",
        lambda options, value: _of_tier(options, place=place_of(value)),
    ),
    Word("tiered_key=ID:FILE", "a private key (PEM) that Aiven's plug-in encrypted segments for", _tiered_key),
    Word(
        "tiered_cache=SIZE", "memory for chunks of remote segments (default 64M)",
        lambda options, value: _of_tier(options, cache_size=_size("tiered_cache", value, "256M")),
    ),
    Word("cache=keep", "let the kernel keep what was read in its page cache", _cache),
    Word(
        "allow_other", "let all users in, each as far as the files' modes allow (default for root)",
        lambda options, _: replace(options, allow_other=True),
    ),
    Word(
        "noallow_other", "let only the mounting user in (default for others)",
        lambda options, _: replace(options, allow_other=False),
    ),
)  # fmt: skip


def completions() -> list[str]:
    """The words that a shell offers behind `-o`: whole options, or up to the `=` if the value is the user's own."""
    offered = []
    for word in WORDS:
        is_whole = "=" not in word.form or word.form.partition("=")[2].islower()
        offered += [f"{word.name}={value}" for value in word.values] or [word.form if is_whole else f"{word.name}="]
    return offered


_BY_NAME = {word.name: word for word in WORDS}

# Options that mount(8) and fstab(5) may pass on: true of this mount anyway, or meant for another program.
_GRANTED = {
    "ro", "defaults", "nodev", "nosuid", "noexec", "noatime", "nodiratime", "norelatime", "nostrictatime",
    "relatime", "lazytime", "nolazytime", "async", "silent", "loud", "nomand", "iversion", "noiversion", "symfollow",
    "default_permissions", "auto", "noauto", "user", "nouser", "users", "owner", "group", "nofail", "_netdev",
}  # fmt: skip
_REFUSED = {
    "rw": "the mount is read-only, nothing in a Kafka data directory is ever written",
    "remount": "unmount, then mount with the new options",
    "sync": "nothing is ever written",
    "dirsync": "nothing is ever written",
    "mand": "nothing is ever locked",
    "suid": "files are data here, never programs",
    "dev": "files are data here, never devices",
    "exec": "files are data here, never programs",
    "nosymfollow": "earliest and latest are links, which the kernel would still follow",
    "atime": "reading leaves no trace",
    "diratime": "reading leaves no trace",
    "strictatime": "reading leaves no trace",
}


def is_known(word: str) -> bool:
    """True if the option is accepted or refused for a reason of its own, rather than unknown."""
    name = word.partition("=")[0]
    return name in _BY_NAME or name in _REFUSED or name in _GRANTED or name.startswith(("x-", "X-", "comment"))


def separated(texts: Iterable[str]) -> list[str]:
    """The words that commas separate, as they are written: a comma behind a backslash is part of a word."""
    return [word for text in texts for word in _COMMA.split(text) if word]


def parse(texts: Iterable[str]) -> MountOptions:
    """The options in the `-o` arguments, later ones winning. Raises UsageError for what is unknown or refused."""
    options = MountOptions()
    for word in (word.replace(r"\,", ",") for word in separated(texts)):
        name, equals, value = word.partition("=")
        known = _BY_NAME.get(name)
        if known is not None and ("=" in known.form) == bool(value) == bool(equals):
            options = known.apply(options, value)
        elif known is not None:
            raise UsageError(f"the option is written {known.form}, not {word!r}")
        elif name in _REFUSED:
            raise UsageError(f"the option {name!r} is refused: {_REFUSED[name]}")
        elif not is_known(word):
            forms = ", ".join(word.form for word in WORDS)
            raise UsageError(f"unknown option {word!r}; known are {forms}{did_you_mean(name, _BY_NAME)}")
    if options.reading.tiered is not None and not options.reading.tiered.place:
        raise UsageError("tiered_key= and tiered_cache= need a tier: add tiered=SOURCE")
    return options
