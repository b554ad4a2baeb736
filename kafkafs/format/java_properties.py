"""Java's properties files, `meta.properties` and `server.properties`: a key and a value a line.
Source: Properties.load.

A line ends with its newline, unless an odd number of backslashes precedes it. `=`, `:` or a blank ends a key.
"""

import re

_LINE = re.compile(r"((?:\\.|[^\s=:\\])*)\s*[=:]?\s*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> dict[str, str]:
    """All keys with their values; if a key is there twice, the last value."""
    found = {}
    for line in _logical_lines(text):
        parts = _LINE.fullmatch(line)
        if parts is not None:
            found[_plain(parts[1])] = _plain(parts[2]).strip()
    return found


def _logical_lines(text: str) -> list[str]:
    lines: list[str] = []
    goes_on = False
    for line in re.split(r"\r\n|\n|\r", text):
        line = line.lstrip(" \t\f")
        if not goes_on and (not line or line[0] in "#!"):
            continue
        whole = lines.pop() + line if goes_on else line
        goes_on = (len(whole) - len(whole.rstrip("\\"))) % 2 == 1
        lines.append(whole[:-1] if goes_on else whole)
        if not lines[-1]:  # only a backslash: the next line starts a new entry
            del lines[-1]
            goes_on = False
    return lines


def _plain(text: str) -> str:
    def letter(found: re.Match[str]) -> str:
        word = found[1]
        return chr(int(word[1:], 16)) if len(word) > 1 else _LETTERS.get(word, word)

    return _ESCAPE.sub(letter, text)
