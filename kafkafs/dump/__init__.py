"""Print what `kafka-dump-log.sh` of Kafka 4.4.0 prints, byte for byte, for every kind of file that it understands.

    dump_source, dump_options    one file to dump with its neighbours; the wanted part of it, such as an `OffsetWindow`
    dump_findings     mismatches, printed after all files
    file_dump         the entry for `cli` and the mount: dumps a file by its kind, and a log run by run
    text_log          a run of batches as text; `json_log`: the same as JSON
    rendering         makes most lines by kernels; `single_lines` makes the lines of records that `damaged` reads: it
                      goes on in batches that other code refuses
    seeking           finds the start of the wanted part of a log
    entries           runs, and single headers as Kafka's tool reads them, even if their values make no sense
    index_dump        indexes and the producer snapshot, entry by entry; `index_checks` compares indexes with the log
    kafka_decoders    a key or value as text; `internal_records`: the records of Kafka's own topics

Text is UTF-8 whatever the locale. If Kafka's tool ends with an exception, the dump has the same text up to there, and
then goes on with all that can still be shown. Source: DumpLogSegments.
"""
