/* What the kernels' Cython has no word for: memory with its size, loads and stores at any place of it, sixteen bytes at
 * once, CRC-32C. `primitives.py` is the same in Python, function by function, and says what each does;
 * the build declares them to Cython by their heads here.
 *
 * With KAFKAFS_CHECKED each access is checked and a wrong one ends the process: that build is for tests.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

typedef long long Int;
typedef unsigned long long Word;
typedef struct {
    unsigned char *at;
    Int nbytes;
} Span;

#define HERE static inline __attribute__((always_inline, unused))

#ifdef KAFKAFS_CHECKED
static unsigned char *place(Span span, Int at, Int count)
{
    if (at < 0 || count < 0 || count > span.nbytes - at) {
        fprintf(stderr, "kafkafs: a kernel reached for bytes [%lld, +%lld) of %lld\n", at, count, span.nbytes);
        abort();
    }
    return span.at + at;
}
#else
HERE unsigned char *place(Span span, Int at, Int count)
{
    (void)count;
    return span.at + at;
}
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BE16 __builtin_bswap16
#define BE32 __builtin_bswap32
#define BE64 __builtin_bswap64
#else
#error "the kernels are for machines that store the low byte first"
#endif

#define LOAD(name, type, swap)                          \
    HERE Int name(Span span, Int at)                    \
    {                                                   \
        type value;                                     \
        memcpy(&value, place(span, at, sizeof value), sizeof value); \
        return (type)swap(value);                       \
    }
#define STORE(name, type)                               \
    HERE void name(Span span, Int at, Int value)        \
    {                                                   \
        type narrow = (type)value;                      \
        memcpy(place(span, at, sizeof narrow), &narrow, sizeof narrow); \
    }

LOAD(load_u8, uint8_t, )
LOAD(load_i8, int8_t, )
LOAD(load_i16, int16_t, )
LOAD(load_i32, int32_t, )
LOAD(load_u32, uint32_t, )
LOAD(load_i64, int64_t, )
LOAD(load_i16be, int16_t, BE16)
LOAD(load_i32be, int32_t, BE32)
LOAD(load_u32be, uint32_t, BE32)
LOAD(load_i64be, int64_t, BE64)
STORE(store_8, uint8_t)
STORE(store_16, uint16_t)
STORE(store_32, uint32_t)
STORE(store_64, uint64_t)

/* --- buffers of Python. The caller has the object until the kernel returns, and numpy's arrays and bytes do not move. */

static Span buffer_of(PyObject *object, int flags)
{
    Py_buffer view;
    Span span = {0, 0};
    if (PyObject_GetBuffer(object, &view, flags) == 0) {
        span.at = view.buf;
        span.nbytes = view.len;
        PyBuffer_Release(&view);
    }
    return span;
}
HERE Span span(PyObject *object) { return buffer_of(object, PyBUF_SIMPLE); }
HERE Span room(PyObject *object) { return buffer_of(object, PyBUF_WRITABLE); }

/* --- numbers */

HERE Int shift_right(Int value, Int by) { return (Int)((Word)value >> by); }
HERE Int divide(Int value, Int by) { return (Int)((Word)value / (Word)by); }
HERE Int floor_divide(Int value, Int by) { return value / by - (value % by < 0); }
HERE Int population(Int value) { return __builtin_popcountll(value); }
HERE Int trailing_zeros(Int value) { return __builtin_ctzll(value); }
HERE Int leading_zeros(Word value) { return __builtin_clzll(value); }

HERE Int round_to_odd(Word high, Word low, Word factor)
{
    unsigned __int128 product = (unsigned __int128)high * factor + (Word)((unsigned __int128)low * factor >> 64);
    return (Int)((Word)(product >> 64) | ((Word)product > 1));
}

HERE Int widen_float(Int bits)
{
    int32_t narrow = (int32_t)bits;
    float single;
    double wide;
    memcpy(&single, &narrow, 4);
    wide = single;
    memcpy(&bits, &wide, 8);
    return bits;
}

HERE Int narrow_double(Int bits)
{
    double wide;
    float single;
    int32_t narrow;
    memcpy(&wide, &bits, 8);
    single = (float)wide;
    memcpy(&narrow, &single, 4);
    return narrow;
}

HERE Int double_of(Int value)
{
    double wide = (double)value;
    memcpy(&value, &wide, 8);
    return value;
}

/* --- bytes */

HERE Int put(Span out, Int to, const char *text)
{
    size_t size = __builtin_strlen(text);
    memcpy(place(out, to, size), text, size);
    return to + size;
}

HERE void copy_16(Span out, Int to, Span data, Int at) { memcpy(place(out, to, 16), place(data, at, 16), 16); }

HERE void copy_bytes(Span out, Int to, Span data, Int at, Int count)
{
    memcpy(place(out, to, count), place(data, at, count), count);
}

HERE Int same_bytes(Span data, Int at, Span other, Int other_at, Int count)
{
    return memcmp(place(data, at, count), place(other, other_at, count), count) == 0;
}

#ifdef __SSE2__
HERE __m128i sixteen(Span data, Int at) { return _mm_loadu_si128((const __m128i *)place(data, at, 16)); }

HERE Int equal_16(Span data, Int at, Int byte)
{
    return _mm_movemask_epi8(_mm_cmpeq_epi8(sixteen(data, at), _mm_set1_epi8((char)byte)));
}

HERE Int specials(Span data, Int at)    /* 0x20 to 0x7E become the lowest signed numbers */
{
    __m128i moved = _mm_add_epi8(sixteen(data, at), _mm_set1_epi8(0x60));
    return _mm_movemask_epi8(_mm_cmpgt_epi8(moved, _mm_set1_epi8((char)(0x7E + 0x60))));
}
#else
HERE Int equal_16(Span data, Int at, Int byte)
{
    Int found = 0;
    for (int i = 0; i < 16; i++)
        found |= (Int)(load_u8(data, at + i) == byte) << i;
    return found;
}

HERE Int specials(Span data, Int at)
{
    Int found = 0;
    for (int i = 0; i < 16; i++)
        found |= (Int)((uint8_t)(load_u8(data, at + i) - 0x20) > 0x5E) << i;
    return found;
}
#endif

HERE Int quoted(Span data, Int at) { return equal_16(data, at, '"') | equal_16(data, at, '\\'); }

HERE void escape_8(Span out, Int to, Span data, Int at, Int chosen, Span patterns)
{
    unsigned char *pattern = place(patterns, chosen * 16, 16), *target = place(out, to, 16);
#ifdef __SSSE3__
    __m128i bytes = _mm_set_epi64x(0x5C5C5C5C5C5C5C5CLL, load_i64(data, at));
    _mm_storeu_si128((__m128i *)target, _mm_shuffle_epi8(bytes, _mm_loadu_si128((const __m128i *)pattern)));
#else
    unsigned char bytes[9], made[16];
    memcpy(bytes, place(data, at, 8), 8);
    bytes[8] = '\\';
    for (int i = 0; i < 16; i++)
        made[i] = bytes[pattern[i]];
    memcpy(target, made, 16);
#endif
}

HERE Int crc_step(Int crc, Int word, Span registers)
{
#ifdef __SSE4_2__
    (void)registers;
    return (Int)_mm_crc32_u64((Word)crc, (Word)word);
#else
    Word state = (Word)crc ^ (Word)word;
    for (int i = 0; i < 8; i++)
        state = (Word)load_u32(registers, (state & 255) * 4) ^ state >> 8;
    return (Int)state;
#endif
}
