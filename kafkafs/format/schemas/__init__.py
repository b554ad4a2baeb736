"""Schemas of values: the text of a schema in, something that decodes payloads to JSON text out.

`avro_names` reads an Avro schema's named types, `avro_program` compiles one to a program for the kernel
`put_avro`; `protobuf` does the same with Google's library, on descriptors that `protobuf_files` makes. `decoders` puts
them behind one door. All input is a stranger's: each bounds size, depth and time, and says why it refuses.
"""
