"""Schemas of values: the text of a schema in, something that decodes payloads to JSON text out.

    decoders         one door to all that follows: a schema's text, and its `reference`s -> a `Decoder`
    avro_program     compiles an Avro schema to a program for the kernel `put_avro`; `avro_names` reads its named types
    avro_typed       the same for columns of a prescribed schema, with `avro_defaults` for fields that data lack;
                     `shape`: the columns of a schema's data
    protobuf         Google's library, on descriptors that `protobuf_files` makes; `protobuf_maps`: the order of entries
    decoder_table    the decoders that one partition's keys and values have asked for so far

All input is a stranger's: each bounds size, depth and time, and says why it refuses.
"""
