"""Kafka's files as values: bytes in, frozen values out. Nothing here opens a file; `log/` brings the bytes.

Nouns: a log consists of *entries*, back to back. An entry is a record batch (v2) or an outermost message (v0, v1); both
are called *batch* above this layer. An *index* maps relative offsets or timestamps to positions at which a scan may
start. A parser takes a buffer and a position; a truncated tail is a result, never an exception.

A log:

    batch            the header of one batch, or of many as a table; walks from batch to batch; writes a batch
    records          batches -> `Records`, rows of RECORD over their bytes, by kernels
    codecs           compressed bytes, in Kafka's frames, unpacked within bounds
    control          the records that brokers write between the records of clients
    memory           a limit on the memory of all large batches together; large buffers that are used again
    kernels          compiled loops, of `native`
    tables, varints  whole rows of tables, moved quickly; a batch's numbers of variable length

Files beside a log:

    names            the names of partition directories, and of each kind of file
    index            offset index and time index: sorted entries
    bounded, trace   a bounded cache of lookups' findings; the listener to a lookup's steps
    transaction_index  the transactions that were aborted
    producer_snapshot, checkpoints   the files that brokers write for themselves
    java_properties  `meta.properties` and `server.properties`
    key_index        keys as sorted numbers, and the keys of a segment as a file
    tiers            the content of a remote tier

Text that people see and write:

    times            points in time as people write them
    jsonl            records and headers as lines; `fields`: the schemas that keys and values name
    merged_lines     the lines of several partitions as one text, by time
    strings          the text in lines, and in the dump
    differences      compares records side by side
    known_topics     MirrorMaker's records and windowed keys, by a topic's name; `connect_secrets`: Connect's secrets

    decoding         records as lines with decoded keys and values. It uses the two packages below; nothing else here
                     uses these two
    messages         Kafka's own messages, by Kafka's schemas
    schemas          other people's values, by their schemas
"""
