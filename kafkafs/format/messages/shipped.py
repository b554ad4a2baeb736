"""The files that come with this package: Kafka's schemas and names of configs, made by `scripts/make-schemas`.

They are read when this is imported, for a mount's daemon can open none later (2 ms); the rest of the package parses
what it needs when it needs it.
"""

from collections.abc import Mapping
from pathlib import Path

_PLACE = Path(__file__).parent

SCHEMAS: Mapping[str, Mapping[str, str]] = {
    jar.name: {file.stem: file.read_text("utf-8") for file in jar.iterdir()}
    for jar in (_PLACE / "schemas").iterdir()
    if jar.is_dir()
}
"""The text of each schema by its jar (`kafka-<this>-4.3.1.jar`) and its name."""

CONFIGS = (_PLACE / "configs.json").read_text("utf-8")
"""JSON: the names of the configs that are no passwords, by what they belong to."""
