"""What a processor can do and numba has no word for: loads and stores at any address, 16 bytes at once, CRC-32C.

Every address and every value is an int64, so that no kernel meets numba's rules for mixed integers. Nothing here checks
an address: a kernel compares with the end of its buffer first. Each word is one or a few LLVM instructions and works on
every machine; `crc_step` and `escape_8` are one instruction on x86-64 and a slower row of them elsewhere.
"""

import platform
from collections.abc import Callable
from typing import Any, TypeVar, cast

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])
Builder = Any  # llvmlite's IRBuilder carries no types
Word = Callable[..., int]

X86 = platform.machine() in ("x86_64", "AMD64")
_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
_VECTOR = ir.VectorType(_BYTE, 16)
_INT = types.int64


def inlined(function: Function) -> Function:
    """A part of kernels that is compiled into each of its callers."""
    return cast(Function, njit(error_model="numpy", forceinline=True)(function))


def called(function: Function) -> Function:
    """A part of kernels that stays a function of its own: it is large, or its callers take it rarely."""
    return cast(Function, njit(error_model="numpy")(function))


def word(arity: int, emit: Callable[..., Any], result: Any = _INT) -> Word:
    """An intrinsic over `arity` int64s from a function that emits its instructions: `emit(builder, *values)`."""

    def codegen(_context: Any, builder: Builder, _signature: Any, values: Any) -> Any:
        """What numba asks for: the value that was emitted, its idea of None for a word that has none."""
        made = emit(builder, *values)
        return ir.Constant(ir.LiteralStructType([]), None) if made is None else made

    names = ", ".join("abcdef"[:arity])
    scope: dict[str, Any] = {"signature": result(*[_INT] * arity), "codegen": codegen}
    exec(f"def word(typing, {names}): return signature, codegen", scope)
    return cast(Word, intrinsic(scope["word"]))


def _load(bits: int, *, signed: bool = True, big_endian: bool = False) -> Word:
    def emit(builder: Builder, address: Any) -> Any:
        """At any address, aligned or not; widened to an int64, by its sign if it has one."""
        kind = ir.IntType(bits)
        value = builder.load(builder.inttoptr(address, kind.as_pointer()))
        value.align = 1
        if big_endian and bits > 8:
            value = builder.bswap(value)
        if bits == 64:
            return value
        return (builder.sext if signed else builder.zext)(value, _WORD)

    return word(1, emit)


def _store(bits: int) -> Word:
    def emit(builder: Builder, address: Any, value: Any) -> None:
        """The lowest bits of an int64 in the machine's order, to any address."""
        kind = ir.IntType(bits)
        narrow = value if bits == 64 else builder.trunc(value, kind)
        builder.store(narrow, builder.inttoptr(address, kind.as_pointer())).align = 1

    return word(2, emit, types.void)


load_u8, load_i8 = _load(8, signed=False), _load(8)
load_i16be, load_i32be, load_i64be = _load(16, big_endian=True), _load(32, big_endian=True), _load(64, big_endian=True)
load_u32 = _load(32, signed=False)
load_u32be = _load(32, signed=False, big_endian=True)
load_u16 = _load(16, signed=False)
load_i16, load_i32, load_i64 = _load(16), _load(32), _load(64)
store_8, store_16, store_32, store_64 = _store(8), _store(16), _store(32), _store(64)

shift_right = word(2, lambda b, value, by: b.lshr(value, by))
"""Logical: zeros come in from above."""

divide = word(2, lambda b, value, by: b.udiv(value, by))
"""Of numbers that are not negative, without Python's care for signs."""

swap_bytes = word(1, lambda b, value: b.bswap(value))
population = word(1, lambda b, value: b.ctpop(value))
trailing_zeros = word(1, lambda b, value: b.cttz(value, ir.Constant(ir.IntType(1), 0)))
leading_zeros = word(1, lambda b, value: b.ctlz(value, ir.Constant(ir.IntType(1), 0)))


def _round_to_odd(builder: Builder, high: Any, low: Any, factor: Any) -> Any:
    wide = ir.IntType(128)
    high, low, factor = (builder.zext(value, wide) for value in (high, low, factor))
    by_64 = ir.Constant(wide, 64)
    product = builder.add(builder.mul(high, factor), builder.lshr(builder.mul(low, factor), by_64))
    inexact = builder.icmp_unsigned(">", builder.trunc(product, _WORD), ir.Constant(_WORD, 1))
    return builder.or_(builder.trunc(builder.lshr(product, by_64), _WORD), builder.zext(inexact, _WORD))


round_to_odd = word(3, _round_to_odd)
"""(high, low, factor): a number of 128 bits times one of 64, its top 64 bits, the last one set where bits were lost."""


def _widen(builder: Builder, bits: Any) -> Any:
    single = builder.bitcast(builder.trunc(bits, ir.IntType(32)), ir.FloatType())
    return builder.bitcast(builder.fpext(single, ir.DoubleType()), _WORD)


widen_float = word(1, _widen)
"""The bits of a double with the value of the float whose 32 bits are given."""


def _narrow(builder: Builder, bits: Any) -> Any:
    single = builder.fptrunc(builder.bitcast(bits, ir.DoubleType()), ir.FloatType())
    return builder.sext(builder.bitcast(single, ir.IntType(32)), _WORD)


narrow_double = word(1, _narrow)
"""The 32 bits, with their sign, of the float next to the double whose bits are given."""

double_of = word(1, lambda b, value: b.bitcast(b.sitofp(value, ir.DoubleType()), _WORD))
"""The bits of the double next to a whole number."""


def _vector_at(builder: Builder, address: Any) -> Any:
    value = builder.load(builder.inttoptr(address, _VECTOR.as_pointer()))
    value.align = 1
    return value


def _copy_16(builder: Builder, target: Any, source: Any) -> None:
    value = _vector_at(builder, source)
    builder.store(value, builder.inttoptr(target, _VECTOR.as_pointer())).align = 1


copy_16 = word(2, _copy_16, types.void)
"""Copies 16 bytes from the second address to the first."""


def _put(_typing: Any, at: Any, text: Any) -> Any:
    if not isinstance(text, types.StringLiteral):
        return None
    content = text.literal_value.encode("ascii")

    def codegen(_context: Any, builder: Builder, _signature: Any, values: Any) -> Any:
        """As few stores as there can be: of 8 bytes, then of what is left."""
        done = 0
        while done < len(content):
            width = next(width for width in (8, 4, 2, 1) if width <= len(content) - done)
            kind = ir.IntType(8 * width)
            place = builder.inttoptr(builder.add(values[0], ir.Constant(_WORD, done)), kind.as_pointer())
            piece = int.from_bytes(content[done : done + width], "little")
            builder.store(ir.Constant(kind, piece), place).align = 1
            done += width
        return builder.add(values[0], ir.Constant(_WORD, done))

    return _INT(at, text), codegen


put: Word = cast(Word, intrinsic(prefer_literal=True)(_put))
"""Writes a literal ASCII string at the address: the address behind it."""


def _copy_bytes(builder: Builder, target: Any, source: Any, count: Any) -> None:
    pointer = _BYTE.as_pointer()
    kinds = [pointer, pointer, _WORD]
    function = builder.module.declare_intrinsic("llvm.memcpy", kinds)
    places = [builder.inttoptr(address, pointer) for address in (target, source)]
    builder.call(function, [*places, count, ir.Constant(ir.IntType(1), 0)])


copy_bytes = word(3, _copy_bytes, types.void)
"""(target, source, count): memcpy."""


def splat(value: int) -> Any:
    """A vector of sixteen times one byte."""
    return ir.Constant(_VECTOR, [value] * 16)


def mask_of(test: Callable[[Builder, Any], Any]) -> Word:
    """An intrinsic that tests the 16 bytes at an address at once: bit i of its answer belongs to byte i."""

    def emit(builder: Builder, address: Any) -> Any:
        """The test's sixteen bits, as an int64."""
        bits = builder.bitcast(test(builder, _vector_at(builder, address)), ir.IntType(16))
        return builder.zext(bits, _WORD)

    return word(1, emit)


def _equal_16(builder: Builder, address: Any, byte: Any) -> Any:
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), builder.trunc(byte, _BYTE), ir.Constant(_WORD, 0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), 16), [0] * 16)
    every = builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), lanes)
    same = builder.icmp_unsigned("==", _vector_at(builder, address), every)
    return builder.zext(builder.bitcast(same, ir.IntType(16)), _WORD)


equal_16 = word(2, _equal_16)
"""Which of the 16 bytes at an address are a certain one: bit i of the answer belongs to byte i."""


def _table(builder: Builder, name: str, content: bytes) -> Any:
    """The address of constant bytes that come with the kernel."""
    module = builder.module
    if name not in module.globals:
        made = ir.GlobalVariable(module, ir.ArrayType(_BYTE, len(content)), name)
        made.linkage, made.global_constant = "internal", True
        made.initializer = ir.Constant(ir.ArrayType(_BYTE, len(content)), bytearray(content))
        made.align = 16
    return builder.ptrtoint(module.globals[name], _WORD)


def constant(name: str, content: bytes) -> Word:
    """An intrinsic without arguments: the address of a constant table."""
    return word(0, lambda builder: _table(builder, name, content))


def _shuffled(builder: Builder, value: Any, places: Any) -> Any:
    """The vector whose byte i is byte places[i] of `value`."""
    if X86:
        return _machine_call(builder, "llvm.x86.ssse3.pshuf.b.128", _VECTOR, value, places)
    chosen = value
    for lane in range(16):
        place = builder.extract_element(places, ir.Constant(_WORD, lane))
        picked = builder.extract_element(value, builder.and_(builder.zext(place, _WORD), ir.Constant(_WORD, 15)))
        chosen = builder.insert_element(chosen, picked, ir.Constant(_WORD, lane))
    return chosen


def _escape_patterns() -> bytes:
    """For each set of 8 bytes to be escaped: which of bytes 0 to 7, or a backslash (8), stands at each place."""
    table = bytearray()
    for chosen in range(256):
        row = [place for i in range(8) for place in ([8, i] if chosen >> i & 1 else [i])]
        table += bytes(row + [0] * (16 - len(row)))
    return bytes(table)


def _escape_8(builder: Builder, target: Any, source: Any, chosen: Any) -> None:
    value = builder.load(builder.inttoptr(source, _WORD.as_pointer()))
    value.align = 1
    slashes = ir.Constant(ir.VectorType(_WORD, 2), [0, int.from_bytes(b"\\" * 8, "little")])
    # two words, not sixteen bytes: LLVM would put in the backslashes one by one
    both = builder.bitcast(builder.insert_element(slashes, value, ir.Constant(_WORD, 0)), _VECTOR)
    table = _table(builder, "escape_patterns", _escape_patterns())
    pattern = _vector_at(builder, builder.add(table, builder.shl(chosen, ir.Constant(_WORD, 4))))
    builder.store(_shuffled(builder, both, pattern), builder.inttoptr(target, _VECTOR.as_pointer())).align = 1


escape_8 = word(3, _escape_8, types.void)
"""(target, source, chosen): 8 bytes with a backslash before each chosen one (bit i for byte i). Writes 16 bytes."""


def _machine_call(builder: Builder, name: str, result: Any, *values: Any) -> Any:
    kind = ir.FunctionType(result, [value.type for value in values])
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(function, values)


def _crc_table() -> bytes:
    """For each byte: the register after it, as the Castagnoli polynomial (reflected) has it."""
    table = bytearray()
    for crc in range(256):
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table += crc.to_bytes(8, "little")
    return bytes(table)


def _crc_step(builder: Builder, crc: Any, value: Any) -> Any:
    if X86:
        return _machine_call(builder, "llvm.x86.sse42.crc32.64.64", _WORD, crc, value)
    state = builder.xor(crc, value)
    table, low = _table(builder, "crc32c_bytes", _crc_table()), ir.Constant(_WORD, 255)
    for _ in range(8):
        at = builder.add(table, builder.shl(builder.and_(state, low), ir.Constant(_WORD, 3)))
        entry = builder.load(builder.inttoptr(at, _WORD.as_pointer()))
        state = builder.xor(entry, builder.lshr(state, ir.Constant(_WORD, 8)))
    return state


crc_step = word(2, _crc_step)
"""The CRC-32C register after eight more bytes."""
