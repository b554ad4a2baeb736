"""The files that come with this package: Kafka's schemas and names of configs, made by `scripts/new-kafka`.

They are read when this is imported, for a mount's daemon can open none later (2 ms); the rest of the package parses
what it needs when it needs it.
"""

import re
from collections.abc import Mapping
from pathlib import Path

_PLACE = Path(__file__).parent

_NAME = re.compile(r'"name": "(\w+)"')


def _by_name(jar: Path) -> Mapping[str, str]:
    """The schemas of a jar by their own names, which come first in them: one file is called otherwise."""
    texts = [file.read_text("utf-8") for file in jar.iterdir()]
    return {found[1]: text for text in texts if (found := _NAME.search(text))}


SCHEMAS: Mapping[str, Mapping[str, str]] = {
    jar.name: _by_name(jar) for jar in (_PLACE / "schemas").iterdir() if jar.is_dir()
}
"""The text of each schema by its jar (`kafka-<this>-VERSION.jar`) and its name."""

CONFIGS = (_PLACE / "configs.json").read_text("utf-8")
"""JSON: the names of the configs that are no passwords, by what they belong to."""
