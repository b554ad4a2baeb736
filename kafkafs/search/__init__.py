"""Finding records by what they hold: keys, and text.

`PartitionKeys` answers where a key's last record is: it asks a `KeyTable` for each part of the log, made by a scan
(`SegmentKeys`) or read from a key index (`KeyIndexes`). A table only hints; the record's own key decides.
`grep` looks through whole data directories, on all processors.
Both use `log`; `view` and `cli` use both, `spark` makes key indexes with them.
"""
