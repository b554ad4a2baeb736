"""The source of the compiled kernels: loops over bytes and tables, in Cython's pure Python. `format.kernels` has them.

A kernel takes buffers and numbers and answers with numbers; it allocates nothing, raises nothing, and touches nothing
outside of its buffers, whatever they hold. What Python calls are the functions that are neither `@native` nor
`@inlined`: they take the spans of buffers, let go of the interpreter lock, and hold the outermost loop.

    machine                what kernels are written with, in Python; in C it is `machine.h`, declared in `machine.pxi`
    layout                 tables and constants that kernels share with what calls them
    varint, checksum       numbers of variable length; the CRCs
    headers, runs          batches to rows of BATCH, and which of those are decoded alike
    records, messages      those batches to rows of RECORD, of v2 and of v0 and v1
    columns, needle, differences, keys, siphash, sketch   what is done with rows: Arrow, searches, comparisons, indexes
    numbers, text, lines, batch_lines, java_text, dump    rows to lines
    merging                lines of several partitions to one text
    avro (decimals, doubles, calendar), json_text, cells, decoded_lines   keys and values by their schemas
"""

MODULES = {
    "_records": (
        *("varint", "checksum", "headers", "records", "messages", "runs", "columns", "differences"),
        *("siphash", "keys", "sketch", "needle"),
    ),
    "_lines": ("varint", "numbers", "text", "lines", "batch_lines", "java_text", "dump", "merging"),
    "_cells": (
        *("varint", "numbers", "text", "lines", "calendar", "decimals", "doubles", "avro", "json_text"),
        *("cells", "decoded_lines"),
    ),
}
"""The compiled modules, and which files each is made of. What two need is in both, so that it is inlined there."""
