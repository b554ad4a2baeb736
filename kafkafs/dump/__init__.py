"""Print what `kafka-dump-log.sh` of Kafka 4.4.0 prints, byte for byte, for every kind of file that it understands.

    dump_source, dump_options    one file to dump with its neighbours; what of it is wanted, such as an `OffsetWindow`
    dump_findings     mismatches, printed after all files
    file_dump         the kind of a file by its name: what `cli` and the mount call; a log goes run by run
    text_log          a run shown as text; `json_log` as JSON
    rendering         most lines, by kernels; `single_lines` of records that `damaged` reads where others give up
    seeking           where the part of a log that is wanted begins
    entries           runs, and single headers as Kafka's tool takes them, whatever they say
    index_dump        indexes and the producer snapshot, entry by entry; `index_checks`: held against the log
    kafka_decoders    a key or value as text; `internal_records` those of Kafka's own topics

Text is UTF-8 whatever the locale. If Kafka's tool ends with an exception, the dump has the same text up to there, and
then goes on with all that can still be shown. Source: DumpLogSegments.
"""
