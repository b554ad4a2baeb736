# What `primitives.h` has, for Cython. The rows of `layout` and the constants of each file come before this and after
# it: `build` writes them.

cdef extern from "primitives.h":
    ctypedef long long Int
    ctypedef unsigned long long Word
    ctypedef struct Span:
        Int nbytes

    Span span(object) except *
    Span room(object) except *

    Int load_u8(Span, Int) noexcept nogil
    Int load_i8(Span, Int) noexcept nogil
    Int load_i16(Span, Int) noexcept nogil
    Int load_i32(Span, Int) noexcept nogil
    Int load_u32(Span, Int) noexcept nogil
    Int load_i64(Span, Int) noexcept nogil
    Int load_i16be(Span, Int) noexcept nogil
    Int load_i32be(Span, Int) noexcept nogil
    Int load_u32be(Span, Int) noexcept nogil
    Int load_i64be(Span, Int) noexcept nogil
    void store_8(Span, Int, Int) noexcept nogil
    void store_16(Span, Int, Int) noexcept nogil
    void store_32(Span, Int, Int) noexcept nogil
    void store_64(Span, Int, Int) noexcept nogil

    Int shift_right(Int, Int) noexcept nogil
    Int divide(Int, Int) noexcept nogil
    Int floor_divide(Int, Int) noexcept nogil
    Int population(Int) noexcept nogil
    Int trailing_zeros(Int) noexcept nogil
    Int leading_zeros(Word) noexcept nogil
    Int round_to_odd(Word, Word, Word) noexcept nogil
    Int widen_float(Int) noexcept nogil
    Int narrow_double(Int) noexcept nogil
    Int double_of(Int) noexcept nogil

    Int put(Span, Int, const char *) noexcept nogil
    void copy_16(Span, Int, Span, Int) noexcept nogil
    void copy_bytes(Span, Int, Span, Int, Int) noexcept nogil
    bint same_bytes(Span, Int, Span, Int, Int) noexcept nogil
    Int equal_16(Span, Int, Int) noexcept nogil
    Int specials(Span, Int) noexcept nogil
    Int quoted(Span, Int) noexcept nogil
    void escape_8(Span, Int, Span, Int, Int, Span) noexcept nogil
    Int crc_step(Int, Int, Span) noexcept nogil
