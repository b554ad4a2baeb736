"""What `kafka-dump-log.sh` of Kafka 4.3.1 prints, byte for byte, for every kind of file that it understands.

    source     one file to dump, its neighbours and how it is called
    options    what of it is wanted
    findings   what does not agree, told after all files
    files      the kind of a file by its name: what `cli` and the mount call
    log        batches and records: most by a kernel, damaged ones by `damaged`
    indexes, tables    the offset and time index; the transaction index and the producer snapshot
    decoders, control  a key or value, a control record as text

Text is UTF-8 whatever the locale. Where Kafka's tool ends with an exception, the same text stands up to there, and what
can still be shown follows. Source: DumpLogSegments of 4.3.1.
"""
