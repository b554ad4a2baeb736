"""Logs on disk: data directories, partitions, segments; what stands at an offset or a time, and what is visible.

    data_directory   one entry of `log.dirs`: its partitions and checkpoints
    partition        a partition's directory, which lives: it gives the newest `Log`; `listing`: what it holds, by name
    log              a `Log`: the segments at one moment, where they begin and end; it never changes
    segment          a `Segment`: its files (`segment_files`), its indexes, and whether they are as they were
    batch_runs       from a trusted place on: `BatchRun`s of whole, valid batches, and the `Damage` between them
    scattered        all valid batches of a file, in whatever order their offsets are
    gaps             offsets that are missing inside a segment from a tier
    large_batches    a check of their CRC in pieces, and those that are known to be sound
    lookup           a point: the record or batch at an offset or a time
    closing_entries  the largest timestamp of a closed segment, where its indexes prove it
    many_lookups     many points at once: offsets to timestamps, times to offsets
    extents          a raw range: the bytes of batches, sealed against truncation
    look             a `Look`: a log as one reader sees it; its `Reader`s read straight on, or at a point by `lookup`
    places           what a query can name: a point or a range, by offset or by time
    reading          `records`: a window of offsets, read to its end while the broker changes the log
    retries          the two loops that try again if files vanish: `ask_again` for a question, `resume` for a reading
    visible          what of all that an isolation level shows; `outcomes` knows how transactions end, `overlaps` which
                     offsets headers do not tell
    producers        what a broker knows of producers; whose transactions are open at a log's end; `producer_snapshots`:
                     what it noted of them where a segment begins
    lineage          `went_on`: did a log grow, was it rolled, compacted, or is it another? `difference`: the same in
                     another process
    rebuilding       a segment's indexes made anew
    log_end          the end of a log that was not closed cleanly, without a look at the rest of it
    health           what is wrong with a partition, as far as its small files and its borders tell
    replicas         one partition in the data directories of several brokers; `divergence`: where two of them part
    tier             segments that a broker has moved to a remote tier; `tiered`: where the log of such a topic begins
    read_options     what a reader can choose; `topic_choice`: which topics a command is to look at
    checkpoint_files, meta_properties   the files beside partitions

The way of a lookup, here of a time; an offset enters one step later. It is the only one, and `.explain` shows it:

    Lookup.first_at(timestamp)
      |  Lookup._segments_reaching          the segments whose largest timestamp is at or after it, one by one
      |
      +  segment_search.batches_at_or_after time index entry -> offset
      |  segment_search.scan_start          offset index entry -> position, held against the log
      |  Segment.walk                       batches from there on, each checked
      |  Visible.record_at_or_after         is it shown? then decoded
      v
    Found

Indexes are hints everywhere: they save reading, and what they say is checked against the log before it counts. Files
are opened by `kafkafs.disk` alone.
"""
