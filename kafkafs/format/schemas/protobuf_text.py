"""`.proto` text as the parser takes it: what it does not know and no payload needs is left out, or written otherwise.

The parser follows the language of 2023: comments in an option's brackets, numbers that are not decimal, and words that
came with later editions are beyond it. Source: protobuf.dev, language specification; its own test files.
"""

import re

_STRING = r"""(?P<string>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)"""  # one without an end ends with its line

_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?(?:\*/|\Z)", re.S)
_OTHERWISE = re.compile(
    rf"{_STRING}"
    r"|(?P<before>=\s*(?:-\s*)?)(?P<number>0[xX][0-9A-Fa-f]+|0[0-7]+)(?=\s*[;\[,\]])"  # the parser reads decimals only
    r"|(?P<place>[;{}])\s*reserved\s[^;={]*(?=;)"  # names without quotes; nothing that is reserved is in a payload
    r"|\b(?:export|local)\s+(?=(?:message|enum)\s+\w+\s*\{)"
    r"|(?P<import>\bimport)\s+option\b",  # of files that only options need: they may be missing
    re.S,
)


def plain_text(text: str) -> str:
    """The same schema without comments, in words that the parser knows. Strings stay as they are; lines do not."""
    return _OTHERWISE.sub(_otherwise, _COMMENT.sub(lambda found: found["string"] or " ", text))


def _otherwise(found: re.Match[str]) -> str:
    if found["number"]:
        return f"{found['before']}{int(found['number'], 0 if found['number'][1] in 'xX' else 8)}"
    return found["string"] or found["place"] or found["import"] or ""
