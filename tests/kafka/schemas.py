"""What `kafkafs/format/messages` ships of Kafka, from its jars: schema files, licence and notice, names of configs.

`python -m tests.kafka.schemas` writes it anew (`scripts/new-kafka`).
"""

import zipfile
from collections.abc import Mapping
from pathlib import Path

from tests.kafka import cache, jars

RELEASE = jars.NEWEST
SHIPPED = Path(__file__).parents[2] / "kafkafs/format/messages"
CONFIG_NAMES = Path(__file__).with_name("java") / "ConfigNames.java"
_COORDINATORS = ("group-coordinator", "transaction-coordinator", "share-coordinator")
_CLIENTS = (
    "ConsumerProtocolSubscription", "ConsumerProtocolAssignment",
    "LeaderChangeMessage", "SnapshotHeaderRecord", "SnapshotFooterRecord", "KRaftVersionRecord", "VotersRecord",
)  # fmt: skip


def schema_files() -> Mapping[str, bytes]:
    """The files below `schemas/` by their names, as they are in the jars."""
    found: dict[str, bytes] = {}
    for jar in (*_COORDINATORS, "metadata", "storage", "clients"):
        with zipfile.ZipFile(jars.jars(RELEASE) / f"kafka-{jar}-{RELEASE}.jar") as packed:
            for path in packed.namelist():
                name = path.rpartition("/")[2]
                if name.endswith(".json") and _is_wanted(jar, name.removesuffix(".json")):
                    found[f"{jar}/{name}"] = packed.read(path)
            if jar == "metadata":
                found |= {name: packed.read(name) for name in ("LICENSE", "NOTICE")}
    return found


def config_names() -> bytes:
    """The content of `configs.json`."""

    def make(place: Path) -> None:
        (place / "configs.json").write_bytes(jars.run(RELEASE, CONFIG_NAMES).stdout)

    kept = cache.once_of("config-names", (RELEASE.encode(), CONFIG_NAMES.read_bytes()), make)
    return (kept / "configs.json").read_bytes()


def _is_wanted(jar: str, name: str) -> bool:
    if jar == "clients":
        return name in _CLIENTS
    return name.startswith("Remote") if jar == "storage" else True


if __name__ == "__main__":
    for name, content in schema_files().items():
        place = SHIPPED / "schemas" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    (SHIPPED / "configs.json").write_bytes(config_names())
