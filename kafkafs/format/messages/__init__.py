"""Kafka's own messages, read and written by its schemas: one reader and one writer for every type and version.

    schema          Kafka's files: schemas from its newest jars (Apache-2.0; licence beside) as values, configs
    message_values  readers of single values; `reading` combines them to the reader of a message's version
    writing         the way back, by the same schemas: fields -> bytes
    topic_records   `parse_record`: a record of an internal topic -> `Message` or `Unreadable`
    message_json    a message as JSON, as Kafka's tool prints it; without its secrets, as decoded views show it

A *structure* is what the schema calls struct, its *fields* come as a dict in the schema's order.
"""
