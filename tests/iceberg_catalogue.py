"""The configuration of pyiceberg in a test. The library reads its own once, when it is imported: hence the patch."""

from pathlib import Path
from typing import Any

import pytest


def configure(monkeypatch: pytest.MonkeyPatch, config: Any) -> None:
    """From now on pyiceberg has this configuration, whatever an earlier test had it read."""
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG.config", config)


def configure_file(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    """A catalogue in a file below `place`, as an environment names it."""
    (place / "warehouse").mkdir()
    settings = {
        "type": "sql", "uri": f"sqlite:///{place}/catalogue.db", "warehouse": f"file://{place}/warehouse",
    }  # fmt: skip
    configure(monkeypatch, {"catalog": {"default": settings}})
