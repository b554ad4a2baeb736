"""Kafka's jars by Maven: a throw-away project that depends on one release, and a copy of all it needs."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests import class_archives
from tests.kafka import cache

ZOOKEEPER_RELEASE = "2.8.0"  # the worked example's; the last that writes formats v0 and v1 on request
KRAFT_RELEASES = ("3.9.1", "4.3.1", "4.4.0")
RELEASES = (ZOOKEEPER_RELEASE, *KRAFT_RELEASES)
APICURIO_RELEASE = "2.6.5.Final"
SPARK_CONNECTOR = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.1",
)
NEWEST = RELEASES[-1]  # whose DumpLogSegments is the truth for `kafkafs dump`, and whose schemas are shipped
ENDS = (ZOOKEEPER_RELEASE, NEWEST)  # enough for what takes long, and what all releases have alike

FETCH_TIMEOUT_S = 300
TOOL_TIMEOUT_S = 300
HEAP = "-Xmx512m"
QUICK_START = (*class_archives.QUICK_START, "-Djava.awt.headless=true")

DEPENDENCY = """<dependency>
<groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>
</dependency>"""
PROJECT = """<project><modelVersion>4.0.0</modelVersion>
<groupId>kafkafs.tests</groupId><artifactId>jars</artifactId><version>1</version>
<dependencies>{dependencies}</dependencies></project>
"""


def jars(release: str) -> Path:
    """The directory that holds every jar of Kafka `release`, fetched on first use (about 10 s and 50 MB)."""
    return cache.once(cache.root() / "jars" / release, lambda place: _fetch(release, place))


def streams() -> Path:
    """The directory of Kafka Streams' jar alone: its RocksDB, 70 MB, is only for state."""
    return cache.once(cache.root() / "jars" / f"{NEWEST}-streams", _fetch_streams)


def serializers() -> Path:
    """The directory of Apicurio's Avro serializer with all it needs (23 MB): it writes Confluent's wire format, whose
    own serializers no public Maven repository of the usual kind has."""
    return cache.once(cache.root() / "jars" / f"apicurio-{APICURIO_RELEASE}", _fetch_serializers)


def file_connectors(release: str) -> Path:
    """The directory of the jar of Connect's connectors for files. Connect itself is among `jars`."""
    return cache.once(cache.root() / "jars" / f"{release}-connect-file", lambda place: _fetch_file(release, place))


def connector() -> Path:
    """The directory of the jars of Spark's own Kafka source."""
    return cache.once(cache.root() / "jars" / "spark-connector", _fetch_connector)


def command(release: str, main_class: str | Path, *args: str | Path, options: Sequence[str] = ()) -> list[str]:
    """The command line that runs `main_class` of Kafka `release`."""
    classpath, archive = f"{jars(release)}/*", class_archives.options(class_archives.of_kafka(release))
    return ["java", HEAP, *QUICK_START, *archive, *options, "-cp", classpath, str(main_class), *map(str, args)]


def run(
    release: str, main_class: str | Path, *args: str | Path, check: bool = True, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Runs one of Kafka's tools to its end; its output is UTF-8 whatever this machine's locale is."""
    utf8 = ("-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8", "-Dstderr.encoding=UTF-8")
    done = subprocess.run(
        command(release, main_class, *args, options=utf8),
        cwd=cwd,
        env=os.environ | {"LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TOOL_TIMEOUT_S,
    )
    if check and done.returncode:
        raise RuntimeError(f"{main_class} of Kafka {release} failed: {done.stderr.decode(errors='replace')[-2000:]}")
    return done


def _fetch(release: str, place: Path) -> None:
    _copy_dependencies(f"Kafka {release}", _dependencies(release), place)


def _copy_dependencies(what: str, needed: Sequence[tuple[str, str, str]], place: Path) -> None:
    dependencies = [DEPENDENCY.format(group=group, name=name, version=version) for group, name, version in needed]
    project = place / "pom.xml"
    project.write_text(PROJECT.format(dependencies="".join(dependencies)))
    maven(what, "-f", str(project), "dependency:copy-dependencies", f"-DoutputDirectory={place}")


def _fetch_streams(place: Path) -> None:
    artifact = f"-Dartifact=org.apache.kafka:kafka-streams:{NEWEST}"
    maven("Kafka Streams", "dependency:copy", artifact, f"-DoutputDirectory={place}")


def _fetch_file(release: str, place: Path) -> None:
    artifact = f"-Dartifact=org.apache.kafka:connect-file:{release}"
    maven("Connect's file connectors", "dependency:copy", artifact, f"-DoutputDirectory={place}")


def _fetch_connector(place: Path) -> None:
    for artifact in SPARK_CONNECTOR:
        maven("Spark's Kafka source", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={place}")


def _fetch_serializers(place: Path) -> None:
    needed = [
        ("io.apicurio", "apicurio-registry-serdes-avro-serde", APICURIO_RELEASE),
        ("org.slf4j", "slf4j-nop", "2.0.16"),
    ]
    _copy_dependencies(f"Apicurio {APICURIO_RELEASE}", needed, place)


def maven(what: str, *words: str) -> None:
    """Runs Maven; RuntimeError with what it said where it fails."""
    done = subprocess.run(
        ["mvn", "-q", "-B", *words],
        timeout=FETCH_TIMEOUT_S,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"Maven cannot fetch {what}: {done.stdout[-2000:]}")


def _dependencies(release: str) -> list[tuple[str, str, str]]:
    needed = [("org.apache.kafka", "kafka_2.13", release)]
    if release == ZOOKEEPER_RELEASE:
        needed.append(("org.slf4j", "slf4j-log4j12", "1.7.30"))
    else:
        needed.append(("org.apache.kafka", "kafka-tools", release))
    return needed
