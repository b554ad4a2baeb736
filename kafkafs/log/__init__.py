"""Logs on disk: data directories, partitions, segments, lookups, visibility. The only code that opens broker files.

`DataDirectory` finds a `Partition`; its `log()` is a `Log`, an immutable picture of the segments at one moment; a
`Segment` answers from its files, which `files` opens read-only and few at a time. Indexes are hints everywhere: they
save reading, and what they say is checked against the log before it counts.
"""
