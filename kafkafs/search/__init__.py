"""Finding records by what they hold: keys, and text.

    partition_keys   where a partition's last record with a key is, and all of them
    key_indexes      a `KeyIndex`: where a key may be in one part of the log. It hints; the record's own key decides.
                     `KeyIndexes`: those that `reindex --keys` made, a file for each segment
    segment_keys     those of a segment that was scanned
    selection        which records a search selects: a pattern, with its *needle*, and the fields it is looked for in
    side_by_side     a search through whole partitions, in *units* of some megabytes, by processes of their own, handed
                     out in the order of offsets

All use `log`; `view` and `cli` use both halves, `spark` makes key indexes with the first.
"""
