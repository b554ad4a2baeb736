"""Segments that a broker has moved to a remote tier (KIP-405), as part of the log: `-o tiered=SOURCE`.

    upload     what is known of one remote segment: names, a manifest or the metadata topic tell it
    layouts    how a tier is laid out, told by what lies there: its uploads, and the files of each
    metadata   what `__remote_log_metadata` on these disks says of uploads
    counting   which uploads make the log, and up to where each
    lone       one remote segment by the path of a file of it, without its tier
    tier       a tier that is open: what it has of a partition, as segments like those of the disk

Nothing above knows where bytes come from: a remote segment is a `Segment` whose files (`RemoteFiles`) are opened here.
"""
