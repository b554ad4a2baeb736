"""Jars of Spark's ecosystem, by Maven: what recipes write with, and what typed columns are compared with."""

from pathlib import Path

from tests.kafka import cache, jars

AVRO = ("org.apache.spark", "spark-avro_2.13", "4.2.0")
DELTA = ("io.delta", "delta-spark_4.2_2.13", "4.4.0")


def avro() -> Path:
    """The jar of Spark's own `from_avro`."""
    artifact = f"-Dartifact={':'.join(AVRO)}"

    def fetch(place: Path) -> None:
        jars.maven("Spark's Avro", "dependency:copy", artifact, f"-DoutputDirectory={place}")

    (jar,) = cache.once(cache.root() / "jars" / AVRO[1], fetch).glob("*.jar")
    return jar


def delta() -> list[Path]:
    """Delta's jars."""

    def fetch(place: Path) -> None:
        jars._copy_dependencies("Delta Lake", [DELTA], place)

    return sorted(cache.once(cache.root() / "jars" / DELTA[1], fetch).glob("*.jar"))
