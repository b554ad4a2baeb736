"""JSON values: one type for all of them, found by a first pass, and applied in a second.

Types meet as in Spark's own inference: whole numbers and others give others, objects are merged field by field, and
what does not fit together becomes text, in which an object or a list is its JSON; so does a whole number that
neither 64 bits nor a double hold. A value that is no JSON object, or one that columns cannot hold as it is, stays in
`valueBytes`, so that nothing is lost; if a key is twice in an object, the last one counts.

Types are found of many values at a time: a field's type is that of all its values.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import chain
from typing import Any

from kafkafs.errors import CorruptData
from kafkafs.format.schemas.shape import Shape, double_bits
from kafkafs.format.strings import compact_json, json_string
from kafkafs.tables.typed.json_parser import all_parsed, parsed

Kind = Any
"""null, "boolean", "long", "double", "string", ["list", kind] or ["object", {name: kind}]: JSON itself."""

_LONGEST = 2**63
_OTHER = "its type differs from those before it"
Convert = Callable[[Any], Any]


def kind_of(value: Any) -> Kind:
    """The type of one parsed value."""
    match value:
        case None:
            return None
        case bool():
            return "boolean"
        case int():
            return "long" if -_LONGEST <= value < _LONGEST else "double" if float(value) == value else "string"
        case float():
            return "double"
        case str():
            return "string"
        case list():
            return ["list", reduce(merged, map(kind_of, value), None)]
        case _:
            return ["object", {name: kind_of(each) for name, each in value.items()}]


def merged(one: Kind, other: Kind) -> Kind:
    """The type that holds values of both."""
    if one == other or other is None:
        return one
    if one is None:
        return other
    if isinstance(one, list) and isinstance(other, list) and one[0] == other[0]:
        if one[0] == "list":
            return ["list", merged(one[1], other[1])]
        fields = dict(one[1])
        for name, kind in other[1].items():
            fields[name] = merged(fields.get(name), kind)
        return ["object", fields]
    if {str(one), str(other)} == {"long", "double"}:
        return "double"
    return "string"


def kind_of_values(values: Sequence[bytes | None]) -> Kind:
    """The type of all of them that are objects."""
    found = [each for each in all_parsed(values) if each is not None]
    return _kind_of_all(found)


def _kind_of_all(values: Sequence[Any]) -> Kind:
    """`kind_of` of each value, `merged`."""
    by_type: dict[type, Sequence[Any]] = {}
    types = set(map(type, values)) - {type(None)}
    for kind in types:
        by_type[kind] = values if len(types) == 1 else [each for each in values if type(each) is kind]
    return reduce(merged, (_kind_of_one_type(kind, each) for kind, each in by_type.items()), None)


def _kind_of_one_type(kind: type, values: Sequence[Any]) -> Kind:
    """The kind of values that have one type in Python; some of them may be null."""
    present = [each for each in values if each is not None]
    if kind is int and (min(present) < -_LONGEST or max(present) >= _LONGEST):
        return reduce(merged, map(kind_of, present), None)
    if kind is list:
        return ["list", _kind_of_all(list(chain.from_iterable(present)))]
    if kind is dict:
        names = set[str]().union(*present)
        return [
            "object",
            {name: _kind_of_all([each[name] for each in present if name in each]) for name in sorted(names)},
        ]
    return {bool: "boolean", int: "long", float: "double", str: "string"}[kind]


def converter(kind: Kind) -> Convert:
    """Brings a parsed value into the form of a column of `shape_of(kind)`. CorruptData if that does not hold it as
    it is."""
    match kind:
        case "boolean":
            return partial(_same, bool)
        case "long":
            return _long
        case "double":
            return _double
        case "string":
            return _text
        case ["list", inner]:
            return partial(_list, converter(inner))
        case ["object", fields]:
            return partial(_object if fields else _empty, {name: converter(each) for name, each in fields.items()})
        case _:
            return partial(_same, type(None))


def _same(kind: type, value: Any) -> Any:
    if value is None or type(value) is kind:
        return value
    raise CorruptData(_OTHER)


def _long(value: Any) -> int | None:
    if value is None or (type(value) is int and -_LONGEST <= value < _LONGEST):
        return value
    raise CorruptData(_OTHER)


def _list(convert: Convert, value: Any) -> list[Any] | None:
    if value is None or type(value) is list:
        return value and [convert(each) for each in value]
    raise CorruptData(_OTHER)


def _object(fields: dict[str, Convert], value: Any) -> dict[str, Any] | None:
    """The object, whose type may have fields that it lacks, but none that it alone has."""
    if value is None:
        return None
    try:
        return {name: fields[name](each) for name, each in value.items()}
    except (KeyError, AttributeError):
        raise CorruptData(_OTHER) from None


def _empty(_: object, value: Any) -> str | None:
    if not value and type(value) in (dict, type(None)):
        return _text(value)
    raise CorruptData(_OTHER)


def _double(value: Any) -> float | None:
    """A number as a double, but for a whole one that a double would make another of."""
    if value is None or type(value) is float:
        return value
    if type(value) is int:
        number = float(value)
        if number != value:
            raise CorruptData("it has a whole number that its column would alter")
        return number
    raise CorruptData(_OTHER)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return compact_json(value)


def shape_of(kind: Kind) -> Shape:
    """The type of a kind's column. A field that was always null is text, an object without fields too."""
    match kind:
        case "boolean" | "long" | "double":
            return Shape(kind)
        case ["list", inner]:
            return Shape("array", (("item", shape_of(inner)),))
        case ["object", fields] if fields:
            return Shape("record", tuple((name, shape_of(each)) for name, each in sorted(fields.items())))
        case _:
            return Shape("string")


class Documents:
    """JSON payloads as lines of typed JSON, by one type for all of them."""

    def __init__(self, kind: Kind) -> None:
        self._kind, self._convert = kind, converter(kind)

    def line(self, payload: bytes, _: bytes | None) -> bytes:
        """A payload's line. CorruptData if it is no object of that type."""
        document = parsed(payload)
        if document is None:
            raise CorruptData("it is not a JSON object that columns can hold")
        return f'{{"value":{_typed_text(self._kind, self._convert(document))}}}\n'.encode()


def _typed_text(kind: Kind, value: Any) -> str:
    """A value that the `converter` of its type gave, as the JSON that `format.schemas.shape` describes."""
    if value is None:
        return "null"
    match kind:
        case "boolean" | "long":
            return json.dumps(value)
        case "double":
            return str(double_bits(value))
        case ["list", inner]:
            return f"[{','.join(_typed_text(inner, each) for each in value)}]"
        case ["object", fields] if fields:
            members = (f"{json_string(name)}:{_typed_text(fields[name], value.get(name))}" for name in sorted(fields))
            return f"{{{','.join(members)}}}"
        case _:
            return json_string(value)
