"""`kafkafs export`: topics, offset and time windows to Parquet, a file for each range of a partition.

`export_plan` decides once which ranges there are and writes it down, `parquet` writes the file of one, or one for each
date that it has; `export_job` runs it all, and a claim sees to it that one export writes to the `output` at a time. A
file has its final name only when it is whole, and the name says which offsets it holds; so an export that was ended
goes on where it was, without duplicates or loss.
"""
