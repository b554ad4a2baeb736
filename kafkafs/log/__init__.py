"""Logs on disk: data directories, partitions, segments; the records at an offset or a time; visibility.

    data_directory   one entry of `log.dirs`: its partitions and checkpoints
    partition        a partition's directory. It changes, and `log()` returns the newest `Log`; `listing`: its files
    log              a `Log`: the segments at one moment, with their start and end offsets; it is immutable
    segment          a `Segment`: its files (`segment_files`), its indexes (`segment_indexes`), and a check that they
                     are unchanged
    batch_runs       reads from a trusted position: `BatchRun`s of whole, valid batches, and the `Damage` between them;
                     `resync` finds the next batch behind invalid bytes
    scattered        all valid batches of a file, also if their offsets are not in order
    gaps             missing offsets inside a remote segment
    refetching       fetches bytes again that arrived damaged from a remote tier
    large_batches    checks the CRC of a large batch in pieces; remembers large batches that are valid
    lookup           a point lookup: the record or batch at an offset or a time. It searches a segment for an offset
                     (`segment_search`) or for a time (`time_search`)
    closing_entries  the largest timestamp of a closed segment, if its indexes prove it
    newest_data      the newest batch of data, as headers tell
    many_lookups     many point lookups at once: offsets to timestamps, times to offsets
    equal_bytes      passes over the stretch in which two logs have the same bytes
    extents          a raw range: the bytes of batches, protected against truncation
    look             a `Look`: a log as one reader sees it. Its `Reader`s read sequentially; `lookup` finds a point
    places           the places that a query can name: a point or a range, by offset or by time
    reading          `records` reads a window of offsets to its end, also if the broker changes the log meanwhile
    retries          the two retry loops for vanished files: `ask_again` for a query, `resume` for a sequential read
    visible          the records that an isolation level shows; `outcomes`: how transactions end; `hidden_markers`: ends
                     that damage may hide; `overlaps`: offsets that batch headers do not give; `log_overlaps`
                     finds them in a log
    transaction_events   the transactions that batches begin and end, followed for checks and repairs
    producers        a broker's producer state at a log's end; `producer_snapshots`:
                     the broker's snapshots of that state, at the start of a segment
    lineage          `went_on`: compares two looks: the log grew, was rolled, was compacted, or is another one;
                     `difference`: the same for looks of two processes
    rebuilding       rebuilds a segment's indexes
    tail             the present end of the last segment's log
    log_end          finds the end of a log that was not closed cleanly, without reading the rest of it
    health           problems of a partition that its small files and its first and last batches show
    disks_together   the data directories that are read together: one disk may have the metadata of another's tier
    replicas         one partition in the data directories of several brokers; `divergence`: the first difference
    tier             segments that a broker has moved to a remote tier; `tiered`: the log start of such a topic
    read_options     options of a reader; `topic_choice`: selects the topics of a command
    recognition      tells a broker's data directory from other directories
    checkpoint_files, meta_properties   files of a data directory outside its partitions

`lookup` has the steps of a lookup, which `.explain` shows. docs/code.md draws them, from the name of a file on.

Indexes are hints everywhere: they save reads, and each entry is checked against the log before it is used. Only
`kafkafs.disk` opens files.
"""
