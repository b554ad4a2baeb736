"""The names under `by-key/`: a name in, a key and what is wanted of it out.

    name     = key , [ suffix ]
    key      = its bytes; %XX stands for the byte of that number
    suffix   "" .jsonl .decoded.jsonl .value .explain .history.jsonl

A name that ends in a suffix is a key with that suffix, the longest there is: a key that ends in one itself has its last
dot written as `%2E`. The other suffixes that begin so (`.follow.jsonl`, `.batches.jsonl`) lead nowhere here. The empty
key has no raw name. A malformed `%` is no name. A name may be of any length here; in a mount NAME_MAX bounds it.
"""

import os
import re
from typing import NamedTuple

from kafkafs.view.grammar import LONGEST_FIRST, Suffix

HISTORY = ".history.jsonl"
_SUFFIXES = (HISTORY, *(text for text, suffix in LONGEST_FIRST if suffix is not Suffix.KEY))
_ENCODED = re.compile(rb"%([0-9A-Fa-f]{2})?")


class KeyName(NamedTuple):
    """A key, and the suffix behind it."""

    key: bytes
    suffix: str


def parse_key_name(name: str) -> KeyName | None:
    """What `name` asks for in `by-key/`, None where it is no name there."""
    encoded = os.fsencode(name)
    suffix = next(each for each in _SUFFIXES if name.endswith(each))
    stem = encoded[: len(encoded) - len(suffix)]
    if not (stem or suffix):
        return None
    parts = _ENCODED.split(stem)
    if None in parts:
        return None
    decoded = (part if number % 2 == 0 else bytes([int(part, 16)]) for number, part in enumerate(parts))
    return KeyName(b"".join(decoded), suffix)


def printable(key: bytes) -> str:
    """The key as a name that a terminal shows as it is: whatever it would not is written as %XX."""
    text = key.decode("utf-8", "surrogateescape")
    return "".join(c if c.isprintable() and c not in "%/" else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogateescape"))
