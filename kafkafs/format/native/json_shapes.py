"""Hash the shapes of JSON values: what is left of a value without its texts and numbers.

A shape is the value's names and brackets in their order, and a letter for each leaf. Equal leaves in a row of an array
are one letter. Whole numbers that a double may alter have a letter of their own. Two values of the same shape have the
same type, so that one of them has to be parsed.

A value is odd if Python's parser has to see it: no object, a name with an escape, half of a surrogate pair, a whole
number that 64 bits do not hold, the whole number -0, or too deep.
"""

import cython

from kafkafs.format.native.json_text import (
    JSON_ARRAY,
    JSON_BEHIND,
    JSON_CLOSED,
    JSON_FIRST,
    JSON_NAME,
    JSON_OBJECT,
    JSON_VALUE,
    STRING_ESCAPES,
    STRING_SURROGATES,
    json_number,
    json_string,
    json_word,
    past_space,
)
from kafkafs.format.native.layout import *
from kafkafs.format.native.primitives import *
from kafkafs.format.native.siphash import siphash

_MOST_DIGITS = 19
_EXACT = 1 << 53  # up to that a double is the same number
_LARGEST = (1 << 63) - 1
_LEAF_WHOLE, _LEAF_LONG, _LEAF_DOUBLE = 0x57, 0x4C, 0x44
_LEAF_TEXT, _LEAF_WORD, _LEAF_NULL = 0x53, 0x42, 0x4E


@native
def _number_leaf(data: Span, at: Int, end: Int) -> Int:
    """The letter of the number in [at, end); 0 if it is a whole one that needs more than 64 bits, or -0."""
    for place in range(at, end):
        code = load_u8(data, place)
        if code == 0x2E or code | 32 == 0x65:
            return _LEAF_DOUBLE
    first = at + 1 if load_u8(data, at) == 0x2D else at
    if end - first > _MOST_DIGITS or (first > at and load_u8(data, first) == 0x30):
        return 0
    number: Word = 0
    for place in range(first, end):
        number = number * 10 + load_u8(data, place) - 48
    if number > _LARGEST:
        return 0
    return _LEAF_WHOLE if number <= _EXACT else _LEAF_LONG


@native
def _leaf(data: Span, at: Int, end: Int) -> tuple[Int, Int]:
    """(place behind the leaf at `at`, its letter); the letter is 0 where there is none, or an odd one."""
    code = load_u8(data, at)
    if code == 0x22:
        behind, found = json_string(data, at + 1, end)
        return behind, 0 if behind < 0 or found & STRING_SURROGATES else _LEAF_TEXT
    if code == 0x2D or 48 <= code <= 57:
        behind = json_number(data, at, end)
        return behind, 0 if behind < 0 else _number_leaf(data, at, behind)
    behind = json_word(data, at, end)
    return behind, 0 if behind < 0 else _LEAF_NULL if code == 0x6E else _LEAF_WORD


@native
def _shape(data: Span, at: Int, end: Int, out: Span) -> Int:
    """Writes the shape of the value in [at, end) behind SHAPE_DEPTH bytes of `out`: its end there; 0 if it is odd.

    A shape is no longer than its value. The bytes before it have the brackets that are open.
    """
    to: Int = SHAPE_DEPTH
    depth: Int = 0
    state: Int = JSON_VALUE
    if at >= end or load_u8(data, at) != JSON_OBJECT:
        return SHAPE_ODD
    while True:
        at, _ = past_space(data, at, end)
        if at >= end:
            return to if state == JSON_BEHIND and depth == 0 else SHAPE_ODD
        code = load_u8(data, at)
        bracket = load_u8(out, depth - 1) if depth > 0 else 0
        if depth > 0 and code == bracket + JSON_CLOSED and state in (JSON_BEHIND, JSON_FIRST):
            depth -= 1
            store_8(out, to, code)
            to += 1
            at += 1
            state = JSON_BEHIND
        elif state == JSON_BEHIND:
            if depth == 0 or code != 0x2C:
                return SHAPE_ODD
            state = JSON_NAME if bracket == JSON_OBJECT else JSON_VALUE
            at += 1
        elif bracket == JSON_OBJECT and state != JSON_VALUE:
            if code != 0x22:
                return SHAPE_ODD
            behind, found = json_string(data, at + 1, end)
            if behind < 0 or found & STRING_ESCAPES:
                return SHAPE_ODD
            copy_bytes(out, to, data, at, behind - at)
            to += behind - at
            at, _ = past_space(data, behind, end)
            if at >= end or load_u8(data, at) != 0x3A:
                return SHAPE_ODD
            at += 1
            state = JSON_VALUE
        elif code in (JSON_OBJECT, JSON_ARRAY):
            if depth == SHAPE_DEPTH:
                return SHAPE_ODD
            store_8(out, depth, code)
            store_8(out, to, code)
            depth += 1
            to += 1
            at += 1
            state = JSON_FIRST
        else:
            at, letter = _leaf(data, at, end)
            if letter == 0:
                return SHAPE_ODD
            if bracket != JSON_ARRAY or load_u8(out, to - 1) != letter:
                store_8(out, to, letter)
                to += 1
            state = JSON_BEHIND


def hash_json_shapes(
    record_table: object, count: Int, source: object, of_keys: Int, seed: object, scratch: object, target: object
) -> int:
    """Kernel: a hash (int64) of the shape of each row's key or value, SHAPE_ODD for odd ones; answers how many are odd.

    The seed has 16 bytes; `scratch` has SHAPE_DEPTH and as many as the longest key or value.
    """
    rows, data, seeds, out, hashes = span(record_table), span(source), span(seed), room(scratch), room(target)
    key_0: Word = load_i64(seeds, 0) & ALL
    key_1: Word = load_i64(seeds, 8) & ALL
    odd: Int = 0
    with cython.nogil:
        for index in range(count):
            row = record_at(rows, index)
            at = row.key_at if of_keys else row.value_at
            size: Int = row.key_size if of_keys else row.value_size
            end = _shape(data, at, at + size, out) if size > 0 else SHAPE_ODD
            first: Word = SHAPE_ODD
            if end > 0:
                first, _ = siphash(out, SHAPE_DEPTH, end - SHAPE_DEPTH, key_0, key_1)
            store_64(hashes, index * 8, first)
            odd += 1 if first == SHAPE_ODD else 0
    return odd
