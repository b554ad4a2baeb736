"""What `kafka-dump-log.sh` of Kafka 4.4.0 prints, byte for byte, for every kind of file that it understands.

    source, options    one file to dump with its neighbours; what of it is wanted
    findings   what does not agree, told after all files
    files      the kind of a file by its name: what `cli` and the mount call
    log        a log in `runs`, of a `window`, shown as text (`text_log`) or as JSON (`json_log`)
    rendering  most lines, by kernels; `lines` one by one, of records that `damaged` reads where others give up
    entries    headers as Kafka's tool takes them, whatever they say
    indexes, tables     the offset and time index; the transaction index and the producer snapshot, as named fields
    decoders, control   a key or value, a control record as text; `internal_records`, `remote_log`: those of Kafka's own
                        topics

Text is UTF-8 whatever the locale. Where Kafka's tool ends with an exception, the same text stands up to there, and what
can still be shown follows. Source: DumpLogSegments.
"""
