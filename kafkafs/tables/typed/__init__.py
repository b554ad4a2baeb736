"""Keys and values as columns of a type in place of bytes, for `kafkafs export` and the data source's `key` and `value`.

The driver settles the types, executors make the columns:

    kinds           driver   for each topic: one type for all that are JSON, by a pass over them, or its reader schema
    reader_schema   both     a *reader schema*, Avro's word: the one of the registry that a topic's columns follow
    typed_field     both     one value with such a type; executors make its columns
    typed_columns   executor a batch with its typed columns; a second column beside each has the values that do not fit
    registered      executor `registry`: by the schema that each value names, lines of typed JSON as Arrow columns
    json_column     executor `json`: values that are JSON text, by Arrow's JSON reader or by Python's
    json_values     both     types of JSON, and values as columns of a type hold them
    json_parser     both     JSON objects, by Python's parser
    json_shapes     executor the type of many JSON values, by a parse of one value of each shape
    protobuf_typed  executor Protobuf as lines of typed JSON; `protobuf_times` are its times
"""
