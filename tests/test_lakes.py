"""The commands and programs of docs/lakes.md, as they stand there, on the sample: each reader finds each record."""

import re
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.utils.config import Config

from tests.iceberg_catalogue import configure
from tests.pages import DOCS, Session, blocks

PAGE = DOCS / "lakes.md"
RECORDS, LAST = 35, 34  # of the sample's topic `orders`


@pytest.fixture
def lake(session: Session, monkeypatch: pytest.MonkeyPatch) -> Session:
    """The page's directories, and the page's own configuration of a catalogue."""
    session.names["/data/"] = f"{session.scratch}/"
    (session.scratch / "warehouse").mkdir()
    (settings,) = blocks(PAGE, "yaml")
    (session.scratch / ".pyiceberg.yaml").write_text(session.real(settings))
    monkeypatch.setenv("PYICEBERG_HOME", str(session.scratch))
    configure(monkeypatch, Config().config)
    return session


def commands() -> list[str]:
    """The page's commands in their order."""
    return [line for block in blocks(PAGE, "sh") for line in block.splitlines()]


def rows_of(found: Any) -> int:
    """The number of rows of what an expression of the table of readers gives."""
    if hasattr(found, "to_table"):
        return int(found.to_table().num_rows)
    return len(found.collect()) if hasattr(found, "collect") else len(found)


def test_the_commands_run_in_their_order(lake):
    for command in commands():
        if command.startswith("pip "):
            continue  # tests/packaging/test_install.py installs extras
        printed = lake.run(command)
        assert "kafkafs: " not in printed, (command, printed)
        assert "statistics" not in printed, "pyiceberg's own log"
        if command.startswith("duckdb"):
            assert re.search(rf"\b0\b.*\b{RECORDS}\b.*\b{LAST}\b", printed), printed
    scope: dict[str, Any] = {}
    for program in blocks(PAGE, "python"):
        exec(lake.real(program).replace("partition == 3", "partition == 0"), scope)
    assert isinstance(scope["orders"], pa.Table)
    assert scope["orders"].num_rows == RECORDS
    assert scope["counts"] == [(0, RECORDS)]


def test_each_reader_of_the_table_reads(lake):
    lake.run(commands()[0])
    table = re.findall(r"^\| ([^|]*) \| `(.*)` \|$", PAGE.read_text(), re.M)
    readers = {name: code for name, code in table if "/data/orders" in code}
    assert len(readers) == 5
    import pandas as pd
    import polars as pl
    import pyarrow.dataset

    scope = {"pd": pd, "pl": pl, "pyarrow": pyarrow}
    for name, code in readers.items():
        if name == "DuckDB":
            found = duckdb.execute(lake.real(code).replace("partition = 3", "partition = 0")).fetchall()
            assert len(found) == RECORDS
        elif name != "Spark":  # tests/spark/test_stand_alone.py
            assert rows_of(eval(lake.real(code), dict(scope))) == RECORDS, name
