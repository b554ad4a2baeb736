"""The source of the compiled kernels: loops over bytes and tables, in Cython's pure Python. `format.kernels` has them.

A kernel takes buffers and numbers and answers with numbers; it allocates nothing, raises nothing, and touches nothing
outside of its buffers, whatever they hold. Python calls the functions that are neither `@native` nor `@inlined`. They
take the spans of buffers, release the interpreter lock, and hold the outermost loop. All that `primitives` and `layout`
have is imported everywhere: it is the language that kernels are written in.

    primitives             the operations of kernels, in Python; the same in C (`.h`), declared to Cython (`.pxi`)
    layout                 tables and constants that kernels share with their callers
    varint, checksum, siphash   numbers of variable length; the CRCs; a hash with a key
    headers                batches to rows of BATCH; finds rows that are decoded alike
    indexing               rows of BATCH to the entries of a segment's indexes
    v2_records, legacy_records   batches of v2, and of v0 and v1, to rows of RECORD
    columns, needle, differences, keys   work on rows: Arrow, searches, comparisons, indexes
    text, json_lines, batch_lines, dump_lines   rows to lines
    merging                lines of several partitions to one text
    avro (avro_values), json_text, decoded_lines   keys and values by their schemas
    json_shapes            the shapes of JSON values, hashed
"""

MODULES = {
    "_records": (
        "varint", "checksum", "siphash", "headers", "indexing", "v2_records", "legacy_records", "columns",
        "differences", "keys", "needle",
    ),
    "_lines": ("varint", "text", "json_lines", "batch_lines", "dump_lines", "merging"),
    "_fields": (
        "varint", "text", "json_lines", "avro_values", "avro", "json_text", "decoded_lines",
        "siphash", "json_shapes",
    ),
}  # fmt: skip
"""The compiled modules, each with its source files. A file that two modules need is in both, so that it is inlined in
both."""
