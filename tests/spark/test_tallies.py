"""Counts of what earlier runs wrote, remembered."""

import json

import pytest

from kafkafs.spark.export import parquet
from kafkafs.spark.export.output import output
from kafkafs.spark.export.tallies import TALLIES, Tallies
from tests.spark.test_parquet import in_order, unit


@pytest.fixture(params=["", "day"])
def written(request, tmp_path):
    """A unit that is written, its output, and the size of its mark."""
    from dataclasses import replace

    each, out = replace(unit(tmp_path / "data", in_order(3)), by=request.param), output(str(tmp_path / "out"))
    parquet.write(each, out, "read_uncommitted", "none", parquet.columns_of(each, {}))
    return each, out, out.sizes()[each.mark]


@pytest.fixture
def asked(monkeypatch) -> list[str]:
    """The files that were opened."""
    found: list[str] = []
    for name in ("counts", "files_of"):
        asks = getattr(parquet, name)

        def once(out, what, asks=asks):
            found.append(getattr(what, "mark", what))
            return asks(out, what)

        monkeypatch.setattr(parquet, name, once)
    return found


def test_a_later_run_opens_no_earlier_file(written, asked):
    each, out, size = written
    tallies = Tallies(out)
    first = tallies.files_of(each, size)
    assert asked == [each.mark]
    assert sum(one.rows for one in first.values()) == 9
    tallies.save()
    later = Tallies(out)
    assert later.files_of(each, size) == first
    assert asked == [each.mark]
    later.forget(each)
    assert later.files_of(each, size) == first
    assert len(asked) == 2


@pytest.mark.parametrize("text", ["", "[]", "{", '{"x":3}', '{"x":[1,{"y":"z"}]}', "[" * 99_999, "null"])
def test_a_memory_that_is_none_is_no_memory(text, written):
    each, out, size = written
    with out.writing(TALLIES) as file:
        file.write(text.encode())
    assert sum(one.rows for one in Tallies(out).files_of(each, size).values()) == 9


def test_a_file_of_another_size_or_of_another_name_is_asked_again(written, asked):
    each, out, size = written
    for mark, content in ((each.mark, [size + 1, {each.file: [7]}]), (each.mark, [size, {"/etc/x": [7]}])):
        with out.writing(TALLIES) as file:
            file.write(json.dumps({mark: content}).encode())
        assert sum(one.rows for one in Tallies(out).files_of(each, size).values()) == 9
    assert len(asked) == 2
