"""How Parquet stores each column of an export: its encoding, and whether its pages have statistics.

A dictionary pays if values repeat. `encoding` decides that for each leaf by a sample of the first rows of the file:
keys, names of headers and typed columns may or may not repeat. Offsets and timestamps are stored as differences.
Statistics let a reader skip row groups. Keys, plain values and headers have none: nobody compares them.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkafs.tables.arrow import numbers_column

_SAMPLE = 1 << 13
"""Rows by which a dictionary is decided."""

_REPEATS = 4
"""A value of the sample must be there so often, on average."""

_DIFFERENCES = ("offset", "timestamp")
_ALWAYS = ("topic", "partition", "timestampType")
_WITHOUT_STATISTICS = ("key", "value", "valueBytes")  # as bytes; of valueBytes the number of nulls is asked for


def settings(compression: str, rows: pa.Table) -> dict[str, object]:
    """The arguments of a `ParquetWriter` for a file that begins with these rows."""
    leaves = [leaf for each in rows.schema for leaf in _leaves(each.name, each.type)]
    return {
        "compression": compression,
        "use_dictionary": [*(name for name in _ALWAYS if name in rows.schema.names), *_repeating(rows)],
        "column_encoding": {name: "DELTA_BINARY_PACKED" for name in _DIFFERENCES if name in rows.schema.names},
        "write_statistics": [path for path, kind in leaves if _has_statistics(path, kind)],
    }


def _has_statistics(path: str, kind: pa.DataType) -> bool:
    if path == "valueBytes":
        return True
    return not path.startswith("headers.") and not (path in _WITHOUT_STATISTICS and pa.types.is_binary(kind))


def _leaves(path: str, kind: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    """The columns of Parquet that one of Arrow becomes, by their paths."""
    if pa.types.is_struct(kind):
        for field in kind.fields:
            yield from _leaves(f"{path}.{field.name}", field.type)
    elif pa.types.is_map(kind):
        yield from _leaves(f"{path}.key_value.key", kind.key_type)
        yield from _leaves(f"{path}.key_value.value", kind.item_type)
    elif pa.types.is_list(kind):
        yield from _leaves(f"{path}.list.element", kind.value_type)
    else:
        yield path, kind


def _repeating(rows: pa.Table) -> Iterator[str]:
    """The leaves of a sample for which a dictionary pays."""
    places = numbers_column(np.linspace(0, max(rows.num_rows - 1, 0), _SAMPLE).astype(np.int64), pa.int64())
    for name in rows.schema.names:
        kind = rows.schema.field(name).type
        is_payload = name in ("value", "valueBytes") and pa.types.is_binary(kind)
        if name in (*_DIFFERENCES, *_ALWAYS) or is_payload:
            continue
        column = rows.column(name)
        sample = column if rows.num_rows <= _SAMPLE else column.take(places)
        yield from _repeating_in(name, sample.combine_chunks())


def _repeating_in(path: str, sample: pa.Array) -> Iterator[str]:
    kind = sample.type
    if isinstance(sample, pa.ChunkedArray):
        sample = pa.concat_arrays(sample.chunks) if sample.num_chunks else pa.nulls(0, kind)
    if pa.types.is_struct(kind):
        for field, each in zip(kind.fields, sample.flatten(), strict=True):
            yield from _repeating_in(f"{path}.{field.name}", each)
    elif pa.types.is_map(kind):
        yield from _repeating_in(f"{path}.key_value.key", sample.keys)
        yield from _repeating_in(f"{path}.key_value.value", sample.items)
    elif pa.types.is_list(kind):
        yield from _repeating_in(f"{path}.list.element", sample.flatten())
    elif not pa.types.is_boolean(kind) and _repeats(sample):
        yield path


def _repeats(sample: pa.Array) -> bool:
    there = len(sample) - sample.null_count
    try:
        return bool(there > 0 and pc.count_distinct(sample).as_py() * _REPEATS <= there)
    except pa.ArrowNotImplementedError:
        return False
