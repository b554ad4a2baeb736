"""Text as JSON strings, escaped as everywhere in lines: what Python's json does, U+007F to U+009F, and surrogates."""

import json
import re

_SPECIAL = re.compile("[\x7f-\x9f\ud800-\udfff]")


def json_string(text: str) -> str:
    """The text in quotes. What stands alone of a surrogate pair is escaped, since UTF-8 cannot hold it."""
    return escape_controls(json.dumps(text, ensure_ascii=False))


def escape_controls(text: str) -> str:
    """JSON text with those characters escaped that stand in its strings and that a terminal would obey."""
    return _SPECIAL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
