"""`.proto` text to the descriptors that Google's library takes; the library itself cannot read such text.

`proto_schema_parser` makes a tree of the text, in Python and without files, as a sandbox wants it (protoc and protox
read and write files). Names stay as they are written: the library finds out what they mean. Only options that change
the meaning of bytes are taken. A file that is not provided is not imported. Its types are then reported as missing by
name.
"""

import base64
import re
import threading
from collections.abc import Collection, Iterable
from typing import Any

from antlr4.error.ErrorListener import ErrorListener
from google.protobuf import (
    any_pb2,
    api_pb2,
    descriptor_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    source_context_pb2,
    struct_pb2,
    timestamp_pb2,
    type_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from proto_schema_parser import ast
from proto_schema_parser.parser import Parser

from kafkafs.errors import CorruptData

TEXT_BYTES = 128 << 10
"""Longer `.proto` text is refused: parsing takes 20 us a byte."""

_parsing = threading.Lock()  # the parser's state is shared and made as it goes

_WELL_KNOWN = (
    any_pb2, source_context_pb2, type_pb2, api_pb2, descriptor_pb2, duration_pb2, empty_pb2, field_mask_pb2, struct_pb2,
    timestamp_pb2, wrappers_pb2,
)  # fmt: skip

_SCALARS = {
    name: getattr(FieldDescriptorProto, f"TYPE_{name.upper()}")
    for name in (
        "double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "bytes", "uint32",
        "sfixed32", "sfixed64", "sint32", "sint64",
    )
}  # fmt: skip
_MAX_FIELD = (1 << 29) - 1
_OPTIONAL = FieldDescriptorProto.LABEL_OPTIONAL
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}\s*")


def add_well_known(pool: DescriptorPool) -> set[str]:
    """Adds Google's own files to a pool: their names."""
    for module in _WELL_KNOWN:
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    return {module.DESCRIPTOR.name for module in _WELL_KNOWN}


def read_file(name: str, text: str) -> FileDescriptorProto:
    """The descriptor of a `.proto` text, or of the base64 of one, as Python's clients register it. CorruptData."""
    if len(text) > TEXT_BYTES:
        raise CorruptData(f"the schema has more than {TEXT_BYTES} characters")
    if _BASE64.fullmatch(text):
        return _serialized(name, text)
    try:
        with _parsing:
            tree = Parser(setup_lexer=_strict, setup_parser=_strict).parse(plain_text(text))
        return _file(name, tree)
    except RecursionError:
        raise CorruptData("the schema is nested too deep") from None
    except CorruptData:
        raise
    except Exception as error:  # a stranger's text, and a parser that raises what it likes
        raise CorruptData(f"the schema is not .proto text: {' '.join(str(error).split())[:200]}") from None


def keep_imports(file: FileDescriptorProto, available: Collection[str]) -> None:
    """Drops imports of files that nobody provides: what is missed of them is missed by name."""
    kept = [name for name in file.dependency if name in available]
    named = [file.dependency[at] for at in file.public_dependency if 0 <= at < len(file.dependency)]
    public = [kept.index(name) for name in named if name in available]
    del file.dependency[:], file.public_dependency[:], file.weak_dependency[:]
    file.dependency.extend(kept)
    file.public_dependency.extend(public)


def make_safe(messages: Iterable[DescriptorProto]) -> None:
    """Refuses the entries of maps that are none, with CorruptData: the library takes them and falls over payloads.

    Fields get their own names for those in JSON, which nobody is shown: the default ones of two may be the same.
    """
    for message in messages:
        if message.options.map_entry:
            _check_entry(message)
        for field in message.field:
            field.json_name = field.name
        make_safe(message.nested_type)


def has_maps(file: FileDescriptorProto) -> bool:
    """True if there are maps in a file's messages, or may be in Google's files that it imports."""
    with_maps = {"google/protobuf/struct.proto", "google/protobuf/any.proto"}
    return not with_maps.isdisjoint(file.dependency) or any(map(_is_or_has_map, file.message_type))


def _is_or_has_map(message: DescriptorProto) -> bool:
    return message.options.map_entry or any(map(_is_or_has_map, message.nested_type))


def _check_entry(message: DescriptorProto) -> None:
    fields = [(field.name, field.number, field.label) for field in message.field]
    if fields != [("key", 1, _OPTIONAL), ("value", 2, _OPTIONAL)] or message.extension_range or message.oneof_decl:
        raise CorruptData(f"the schema has a map whose entries, {message.name[:100]!r}, are not keys and values")


def _serialized(name: str, text: str) -> FileDescriptorProto:
    try:
        file = FileDescriptorProto.FromString(base64.b64decode(text.strip(), validate=True))
    except (ValueError, DecodeError):
        raise CorruptData("the schema is neither .proto text nor a descriptor in base64") from None
    file.name = name
    return file


class _RaisingErrors(ErrorListener):  # type: ignore[misc]
    """The parser would say on standard error what is wrong, and go on with what it understood."""

    def syntaxError(self, *where: Any) -> None:
        """CorruptData with the line and column of the first thing that is wrong."""
        _, _, line, column, *_ = where
        raise CorruptData(f"the schema is not .proto text: line {line}, column {column}")


def _strict(part: Any) -> None:
    part.removeErrorListeners()
    part.addErrorListener(_RaisingErrors())


def _file(name: str, tree: ast.File) -> FileDescriptorProto:
    file = FileDescriptorProto(name=name, syntax=tree.syntax or "proto2")
    if tree.edition:
        file.syntax, file.edition = "editions", descriptor_pb2.Edition.Value(f"EDITION_{tree.edition}")
    for one in tree.file_elements:
        if isinstance(one, ast.Package):
            file.package = one.name
        elif isinstance(one, ast.Import):
            if one.name not in file.dependency:
                if one.public:
                    file.public_dependency.append(len(file.dependency))
                file.dependency.append(one.name)
        elif isinstance(one, ast.Message):
            _message(file.message_type.add(), one, file)
        elif isinstance(one, ast.Enum):
            _enum(file.enum_type.add(), one)
        elif isinstance(one, ast.Extension):
            _extension(file.extension, file.message_type, one, file)
        elif isinstance(one, ast.Option):
            _feature(file.options, one)
    return file


def _message(message: DescriptorProto, tree: ast.Message | ast.Group, file: FileDescriptorProto) -> None:
    message.name = tree.name
    entries: list[DescriptorProto] = []  # last, since they do not stand in the text, where messages are counted
    for one in tree.elements:
        if isinstance(one, ast.Field):
            _field(message.field.add(), one)
        elif isinstance(one, ast.MapField):
            entries.append(_map(message, one))
        elif isinstance(one, ast.Group):
            _group(message.field.add(), message.nested_type.add(), one, file)
        elif isinstance(one, ast.OneOf):
            _oneof(message, one, file)
        elif isinstance(one, ast.Message):
            _message(message.nested_type.add(), one, file)
        elif isinstance(one, ast.Enum):
            _enum(message.enum_type.add(), one)
        elif isinstance(one, ast.Extension):
            _extension(message.extension, message.nested_type, one, file)
        elif isinstance(one, ast.ExtensionRange):
            for text in one.ranges:
                start, end = _range(text)
                message.extension_range.add(start=start, end=end + 1)
        elif isinstance(one, ast.Option):
            _message_option(message, one)
    message.nested_type.extend(entries)
    if file.syntax == "proto3":
        _optional(message, tree)


def _message_option(message: DescriptorProto, option: ast.Option) -> None:
    if option.name in ("message_set_wire_format", "map_entry") and _word(option.value) == "true":
        setattr(message.options, option.name, True)  # the latter is what a registry writes of a descriptor
    _feature(message.options, option)


def _optional(message: DescriptorProto, tree: ast.Message | ast.Group) -> None:
    """A proto3 field with `optional` distinguishes null from the default: it is its own oneof, behind the others."""
    marked = {
        one.name
        for one in tree.elements
        if isinstance(one, ast.Field) and one.cardinality == ast.FieldCardinality.OPTIONAL
    }
    taken = {one.name for part in (message.field, message.oneof_decl, message.nested_type) for one in part}
    for field in message.field:
        if field.name in marked:
            field.proto3_optional, field.oneof_index = True, len(message.oneof_decl)
            name = f"_{field.name}"
            while name in taken:  # as protoc does
                name = f"X{name}"
            taken.add(name)
            message.oneof_decl.add(name=name)


def _field(field: FieldDescriptorProto, tree: ast.Field) -> None:
    field.name, field.number = tree.name, tree.number
    field.label = _label(tree.cardinality)
    _type(field, tree.type)
    for option in tree.options:
        if option.name == "packed":
            field.options.packed = _word(option.value) == "true"
        _feature(field.options, option)


def _label(cardinality: ast.FieldCardinality | None) -> Any:
    name = "OPTIONAL" if cardinality is None else cardinality.value
    return FieldDescriptorProto.Label.Value(f"LABEL_{name}")


def _type(field: FieldDescriptorProto, name: str) -> None:
    """A scalar, or the name of a message or an enum: which of both, the library finds out."""
    if name in _SCALARS:
        field.type = _SCALARS[name]
    else:
        field.type_name = name


def _map(message: DescriptorProto, tree: ast.MapField) -> DescriptorProto:
    """Adds the field; a map is a list of entries, messages of a key and a value: what those are."""
    name = "".join(part[:1].upper() + part[1:] for part in tree.name.split("_")) + "Entry"
    message.field.add(
        name=tree.name, number=tree.number, label=FieldDescriptorProto.LABEL_REPEATED,
        type=FieldDescriptorProto.TYPE_MESSAGE, type_name=name,
    )  # fmt: skip
    entry = DescriptorProto(name=name)
    entry.options.map_entry = True
    for number, (part, kind) in enumerate((("key", tree.key_type), ("value", tree.value_type)), 1):
        field = entry.field.add(name=part, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL)
        _type(field, kind)
    return entry


def _group(field: FieldDescriptorProto, message: DescriptorProto, tree: ast.Group, file: FileDescriptorProto) -> None:
    field.name, field.number, field.label = tree.name.lower(), tree.number, _label(tree.cardinality)
    field.type, field.type_name = FieldDescriptorProto.TYPE_GROUP, tree.name
    _message(message, tree, file)


def _oneof(message: DescriptorProto, tree: ast.OneOf, file: FileDescriptorProto) -> None:
    index = len(message.oneof_decl)
    message.oneof_decl.add(name=tree.name)
    for one in tree.elements:
        if isinstance(one, ast.Field):
            field = message.field.add()
            _field(field, one)
            field.oneof_index = index
        elif isinstance(one, ast.Group):
            field = message.field.add()
            _group(field, message.nested_type.add(), one, file)
            field.oneof_index = index


def _enum(enum: EnumDescriptorProto, tree: ast.Enum) -> None:
    enum.name = tree.name
    for one in tree.elements:
        if isinstance(one, ast.EnumValue):
            enum.value.add(name=one.name, number=one.number)
        elif isinstance(one, ast.Option):
            if one.name == "allow_alias" and _word(one.value) == "true":
                enum.options.allow_alias = True
            _feature(enum.options, one)


def _extension(fields: Any, messages: Any, tree: ast.Extension, file: FileDescriptorProto) -> None:
    for one in tree.elements:
        if isinstance(one, ast.Field):
            field = fields.add(extendee=tree.typeName)
            _field(field, one)
        elif isinstance(one, ast.Group):
            field = fields.add(extendee=tree.typeName)
            _group(field, messages.add(), one, file)


def _range(text: str) -> tuple[int, int]:
    """`5`, `5 to 9`, `5 to max`."""
    start, _, end = text.partition(" to ")
    return int(start, 0), int(start, 0) if not end else _MAX_FIELD if end.strip() == "max" else int(end, 0)


def _word(value: object) -> str:
    return (
        value.name
        if isinstance(value, ast.Identifier)
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )


def _feature(options: Any, option: ast.Option | ast.MessageLiteralField) -> None:
    """`features.x = Y` or `features = {x: Y}` of an edition: which fields know null and how they are written."""
    if option.name == "features" and isinstance(option.value, ast.MessageLiteral):
        for one in option.value.elements:
            if isinstance(one, ast.MessageLiteralField):
                _feature(options, ast.MessageLiteralField(f"features.{one.name}", one.value))
    elif option.name.startswith("features."):
        name = option.name.removeprefix("features.")
        field = options.features.DESCRIPTOR.fields_by_name.get(name)
        if field is not None and field.enum_type is not None:
            setattr(options.features, name, field.enum_type.values_by_name[_word(option.value)].number)


_STRING = r"""(?P<string>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)"""  # one without an end ends with its line

_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?(?:\*/|\Z)", re.S)
_OTHERWISE = re.compile(
    rf"{_STRING}"
    r"|(?P<before>=\s*)(?:(?P<minus>-)\s*)?(?P<number>0[xX][0-9A-Fa-f]+|0[0-7]+|[1-9][0-9]*)(?=\s*[;\[,\]{])"
    r"|(?P<place>[;{}])\s*reserved\s[^;={]*(?=;)"  # names without quotes; nothing that is reserved is in a payload
    r"|\b(?:export|local)\s+(?=(?:message|enum)\s+\w+\s*\{)"
    r"|(?P<import>\bimport)\s+option\b",  # imports files that only options need: they may be missing
    re.S,
)


def plain_text(text: str) -> str:
    """The schema `text` in words that the parser knows. Strings stay as they are; lines do not.

    The parser follows the language of 2023: comments in an option's brackets, numbers that are not decimal, and words
    that came with later editions are beyond it. It leaves out, or rewrites, what it does not know and no payload needs.
    Source: protobuf.dev, language specification; its own test files.
    """
    return _OTHERWISE.sub(_otherwise, _COMMENT.sub(lambda found: found["string"] or " ", text))


def _otherwise(found: re.Match[str]) -> str:
    if found["number"]:
        number = found["number"]
        value = int(number, 0 if number[1:2] in ("x", "X") else 8 if number[0] == "0" else 10)
        return f"{found['before']}{found['minus'] or ''}{value}"  # the parser reads decimals only, their sign close by
    return found["string"] or found["place"] or found["import"] or ""
