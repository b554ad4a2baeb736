"""A Hadoop of this machine: a NameNode and a DataNode, real ones, and what a client of theirs has: HADOOP_HOME.

The servers come by Maven, their client jars with Spark. libhdfs is in Hadoop's own archives only, which no registry
has; its C sources are in the Rust package `hdfs-sys`, and one call of the compiler makes it.
"""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from tests.kafka import cache
from tests.kafka.jars import maven
from tests.mounting import run, wait_until

SOURCES = "hdfs_3_3"
JARS = Path(pyspark.__file__).parent / "jars"
JAVA_HOME = Path(shutil.which("javac") or "/nowhere").resolve().parents[1]
SERVERS = ("namenode.NameNode", "datanode.DataNode")
PROPERTY = "<property><name>{}</name><value>{}</value></property>"


def release() -> str:
    """Hadoop's, of Spark's own client jars."""
    return next(JARS.glob("hadoop-client-api-*.jar")).stem.rpartition("-")[2]


def servers() -> Path:
    """The directory of the servers' jar, 56 MB."""
    artifact = f"org.apache.hadoop:hadoop-client-minicluster:{release()}"
    return cache.once(
        cache.root() / "jars" / f"hadoop-{release()}",
        lambda place: maven("Hadoop", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={place}"),
    )


def library() -> Path:
    """The directory of libhdfs.so."""

    def make(place: Path) -> None:
        (place / "src").mkdir()
        (place / "src/lib.rs").touch()
        package = '[package]\nname="jar"\nversion="0.1.0"\n[dependencies]\nhdfs-sys="0.3"\n'
        (place / "Cargo.toml").write_text(package)
        run("cargo", "vendor", "-q", place / "crates", "--manifest-path", place / "Cargo.toml", timeout=200)
        every = place / "crates/hdfs-sys/libhdfs"
        sources = every / SOURCES
        include = (JAVA_HOME / "include", JAVA_HOME / "include/linux", every, sources, sources / "include",
                   sources / "os", sources / "os/posix")  # fmt: skip
        java = JAVA_HOME / "lib/server"
        run("gcc", "-shared", "-fPIC", "-O2", "-w", "-fcommon", *(f"-I{each}" for each in include),
            *sources.glob("*.c"), *sources.glob("os/posix/*.c"), "-o", place / "libhdfs.so", f"-L{java}", "-ljvm",
            f"-Wl,-rpath,{java}", timeout=100)  # fmt: skip

    return cache.once(cache.root() / "libhdfs", make)


@contextmanager
def running(place: Path) -> Iterator[dict[str, str]]:
    """Both servers; the environment of a client that has `hadoop` and libhdfs, and whose fs.defaultFS is this one."""
    settings, home = place / "conf", place / "home"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    _configure(settings, place, port)
    classpath = f"{settings}:{':'.join(map(str, JARS.glob('*.jar')))}"
    _make_home(home, classpath)
    java = ("java", "-Xmx256m", "-cp", f"{classpath}:{servers()}/*")
    run(*java, _main(SERVERS[0]), "-format", "-nonInteractive", timeout=60)
    with ExitStack() as stack:
        for server in SERVERS:
            said = stack.enter_context(open(place / f"{server}.log", "w"))
            process = stack.enter_context(subprocess.Popen([*java, _main(server)], stdout=said, stderr=said))
            stack.callback(process.terminate)
        storage = place / "data/data/current"
        wait_until(lambda: any(storage.glob("BP-*/current/VERSION")), timeout=60)
        bare = {name: value for name, value in os.environ.items() if name != "CLASSPATH"}
        yield bare | {"HADOOP_HOME": str(home), "JAVA_HOME": str(JAVA_HOME), "HDFS": f"hdfs://127.0.0.1:{port}"}


def _main(server: str) -> str:
    return f"org.apache.hadoop.hdfs.server.{server}"


def _configure(settings: Path, place: Path, port: int) -> None:
    settings.mkdir()
    anywhere = "127.0.0.1:0"
    core = {"fs.defaultFS": f"hdfs://127.0.0.1:{port}"}
    hdfs = {
        "dfs.namenode.name.dir": f"file://{place}/data/name",
        "dfs.datanode.data.dir": f"file://{place}/data/data",
        "dfs.replication": "1",
        "dfs.namenode.http-address": anywhere,
        "dfs.datanode.address": anywhere,
        "dfs.datanode.http.address": anywhere,
        "dfs.datanode.ipc.address": anywhere,
    }
    for name, given in (("core", core), ("hdfs", hdfs)):
        text = "".join(PROPERTY.format(*each) for each in given.items())
        (settings / f"{name}-site.xml").write_text(f"<configuration>{text}</configuration>")


def _make_home(home: Path, classpath: str) -> None:
    (home / "bin").mkdir(parents=True)
    (home / "lib").mkdir()
    (home / "lib/native").symlink_to(library())
    command = home / "bin/hadoop"
    command.write_text(f"#!/bin/sh\n[ \"$*\" = 'classpath --glob' ] && echo '{classpath}'\n")
    command.chmod(0o755)
