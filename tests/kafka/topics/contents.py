"""Keys, values and headers of every shape that a decoded view has to give back unharmed."""

import random

from tests.kafka.broker import Broker
from tests.kafka.writer import START_MS, Record, Topic, Writer

LARGE_BYTES = 200_000
TEXTS = [
    "plain",
    "",
    "zażółć gęślą jaźń",
    "Ελλάδα",
    "日本語",
    "🦀🚀",
    "e\u0301 combining",
    "\u202eright to left",
    "\ufeffmark",
    'quote " backslash \\ slash /',
    "tab\tline\nreturn\rend",
    "\0nul\0",
    "\x1b[31mred\x1b[0m",
    "\x7f\x80\x85\x9f",
    "\u2028\u2029",
    "\ud7ff\ue000\uffff",
    "\U0010ffff",
    "</script><!--",
    '{"json": [1, null, "x"]}',
    " spaces ",
]
BYTES = [
    b"\xff",
    b"\xc3",
    b"\xc3\x28",
    b"\xc0\x80",
    b"\xe2\x82",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xf8\x88\x80\x80\x80",
    b"ok \xfe\xff",
    b"\x00\x00\x00\x01",
    bytes(range(256)),
    b"\x82SNAPPY\x00",
    b"\x1f\x8b\x08",
]


def topics(release: str) -> dict[str, Topic]:
    """`headers`, `nulls`, `binary`, `large`, and a topic whose name has every punctuation a name may have."""
    return {name: Topic() for name in ("headers", "nulls", "binary", "large", "dots.and-dashes_1")}


def write(broker: Broker) -> None:
    """Each shape in a batch of its own and again in one batch with all others, plain and compressed."""
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        writer = Writer(broker, codec)
        for topic, shapes in (("headers", _headers()), ("nulls", _nulls()), ("binary", _binary())):
            writer.batch(topic, shapes)
            if codec == "none":
                for shape in shapes:
                    writer.batch(topic, [shape])
        writer.batch("large", _large(codec))
        writer.batch("dots.and-dashes_1", [Record(b"in " + codec.encode())])


def _headers() -> list[Record]:
    many = [(f"header-{number}", b"%d" % number) for number in range(130)]
    headers: list[list[tuple[str, bytes | None]]] = [
        [("one", b"1")],
        [("twice", b"first"), ("twice", b"second"), ("twice", b"first")],
        [("empty", b""), ("null", None), ("", b"empty key"), ("", None)],
        [("ключ", "значение".encode()), ("binary", b"\xff\x00\x80"), ("control\n\x1b", b"\x00")],
        [("long", b"x" * 300), ("k" * 200, b"long key")],
        [*many],
    ]
    return [
        Record(b"with %d headers" % len(each), b"key", START_MS + number * 1000, each)
        for number, each in enumerate(headers)
    ] + [Record(None, None, START_MS + 99_000, [("only", b"headers")])]


def _nulls() -> list[Record]:
    shapes = [None, b"", b"x"]
    return [
        Record(value, key, START_MS + 1000 * number)
        for number, (key, value) in enumerate((key, value) for key in shapes for value in shapes)
    ]


def _binary() -> list[Record]:
    contents = [text.encode(errors="surrogatepass") for text in TEXTS] + BYTES
    one_byte = [bytes([value]) for value in range(256)]
    return [
        Record(content, contents[-number - 1], START_MS + 1000 * number) for number, content in enumerate(contents)
    ] + [Record(b"a" + each + b"b", each, START_MS + 500_000 + each[0]) for each in one_byte]


def _large(codec: str) -> list[Record]:
    rng = random.Random(codec)
    half_random = rng.randbytes(LARGE_BYTES // 20) * 10 + b"z" * (LARGE_BYTES // 2)
    text = b"".join(b"line %d of the large value\n" % number for number in range(LARGE_BYTES // 28))
    small = Record(b"small", b"key")
    return [small, Record(half_random, b"binary"), Record(text, b"text"), small]
