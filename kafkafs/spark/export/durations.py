"""Durations in Parquet, which has no type for them: whole microseconds, and the type in the file's footer.

Arrow writes its types there by itself, and Spark's types are added here. So both read a duration. Other readers find
a number of microseconds. Source of the form: the footers that Spark writes.
"""

import json

import pyarrow as pa

_KEY = "org.apache.spark.sql.parquet.row.metadata"
_NAMES = [
    (pa.types.is_boolean, "boolean"), (pa.types.is_int32, "integer"), (pa.types.is_int64, "long"),
    (pa.types.is_uint64, "decimal(20,0)"), (pa.types.is_float32, "float"), (pa.types.is_float64, "double"),
    (pa.types.is_binary, "binary"), (pa.types.is_string, "string"), (pa.types.is_date32, "date"),
    (pa.types.is_duration, "interval day to second"),
]  # fmt: skip


def with_durations(columns: pa.Schema) -> pa.Schema:
    """Return the columns as a file names them: with Spark's types if there is a duration, else as they are."""
    if not any(_has_duration(each.type) for each in columns):
        return columns
    return columns.with_metadata({_KEY: json.dumps(_struct(list(columns)))})


def _has_duration(kind: pa.DataType) -> bool:
    inner = [kind.field(number).type for number in range(kind.num_fields)]
    return pa.types.is_duration(kind) or any(map(_has_duration, inner))


def _struct(fields: list[pa.Field]) -> dict[str, object]:
    made = [{"name": each.name, "type": _spark(each.type), "nullable": True, "metadata": {}} for each in fields]
    return {"type": "struct", "fields": made}


def _spark(kind: pa.DataType) -> object:
    """A type as Spark writes it down."""
    if pa.types.is_struct(kind):
        return _struct(kind.fields)
    if pa.types.is_list(kind):
        return {"type": "array", "elementType": _spark(kind.value_type), "containsNull": True}
    if pa.types.is_map(kind):
        inner = {"keyType": _spark(kind.key_type), "valueType": _spark(kind.item_type)}
        return {"type": "map", **inner, "valueContainsNull": True}
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return next(name for is_one, name in _NAMES if is_one(kind))
