"""Finding records by what they hold: keys, and text.

    partition_keys   where a partition's last record with a key is, and all of them
    key_indexes      a `KeyIndex`: where a key may be in one part of the log. It hints; the record's own key decides.
                     `KeyIndexes`: those that `reindex --keys` made, a file for each segment
    segment_keys     those of a segment that was scanned
    cleaned          missing records that compaction explains, by their keys
    selection        which records a search selects: a pattern, with its *needle*, and the fields it is looked for in
    search_units     what a search reads of a partition, in *units* of some megabytes, and what is selected of each
    results          what a search's processes are given to do, and what they tell
    side_by_side     a search through whole partitions by processes of their own, which units are handed out to in the
                     order of offsets
    record_files     every file of a data directory that holds records, leftovers too; how many a search leaves out
    everywhere       a search through such files, one by one

All use `log`; `view` and `cli` use both halves, `spark` makes key indexes with the first. `spark` and
`revive` ask what was cleaned.
"""
