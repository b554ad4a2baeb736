"""Kafka's files as values: bytes in, frozen values out. Nothing here opens a file; `log/` brings the bytes.

Nouns: an *entry* is what a log holds back to back, a record batch (v2) or an outermost message (v0, v1); both are
called *batch* above this layer. An *index* maps relative offsets or timestamps to where a scan may start.
A parser takes a buffer and a position; a truncated tail is a result, never an exception.

A log:

    batch            the header of one batch, or of many as a table; the walk from one to the next; one that is written
    records          batches -> `Records`, rows of RECORD over their bytes, by kernels
    codecs           compressed bytes, in Kafka's frames, unpacked within bounds
    control          the records that brokers write between those of clients
    memory           what large batches may take together; large buffers that are used again
    kernels          compiled loops, of `native`
    tables, varints  whole rows of tables, moved quickly; a batch's numbers of variable length

Files beside a log:

    names            which directory is a partition, which file is what
    index            offset index and time index: sorted entries
    bounded, trace   findings of lookups that may be forgotten, never too many; the listener that hears their steps
    transaction_index  the transactions that were aborted
    producer_snapshot, checkpoints   the files that brokers write for themselves
    java_properties  `meta.properties` and `server.properties`
    key_index        keys as sorted numbers, and those of a segment as a file
    tiers            what is in a remote tier

Text that people see and write:

    times            points in time as people write them
    jsonl            records and headers as lines; `fields`: which schemas their keys and values name
    merged_lines     the lines of several partitions as one text, by time
    strings          the text in lines, and in the dump
    differences      records side by side: which are alike
    known_topics     MirrorMaker's records and windowed keys, by a topic's name; `connect_secrets`: what Connect hides

    decoding         records as lines with decoded keys and values, above
    messages         Kafka's own schemas, and
    schemas          those of strangers, neither of which anything else here knows
"""
