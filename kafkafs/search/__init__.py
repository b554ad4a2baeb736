"""Find records by their content: keys, and text.

    partition_keys   finds the last record with a key in a partition, or all of them
    key_indexes      a `KeyIndex`: the places of a key in one part of the log. It hints; the record's own key decides.
                     `KeyIndexes`: the files that `reindex --keys` has made, one for each segment
    segment_keys     the key indexes of a segment that was scanned
    cleaned          missing records that compaction explains, by their keys
    selection        selects the records of a search: a pattern, with its *needle*, and the fields to search
    search_units     the input of a search: a partition in *units* of some megabytes, and the selected records of each
    results          the jobs of a search's processes, and their results
    side_by_side     a search through whole partitions. It hands units to processes of its own, in the order of offsets
    record_files     every file of a data directory that holds records, leftovers too; the number that a search leaves
                     out
    everywhere       a search through such files, one by one

All use `log`. `view` and `cli` use both halves. `spark` makes key indexes with the first half. `spark` and `revive`
use `cleaned`.
"""
