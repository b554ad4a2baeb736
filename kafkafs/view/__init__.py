"""The content of a mount, without FUSE: a name becomes a query, a query becomes content with a size and `read`.

    node              the seam to `fuse`: directories, files, links, and what is in an open file
    about             the root that is served: the tree's entries, and `.kafkafs/`, whose README is the `manual`
    tree              `Root`, all partitions of the data directories, and what a partition's directory lists
    disks             a data directory as the root shows it; `replica_directories`: which replica it shows, `.replicas/`
    paths             a tree without a mount; `reasons`: why a name leads nowhere
    queries           `by-offset/`, `by-time/`: names by the `grammar`, and a node for each suffix; `by_key`: `by-key/`
    raw               the bytes of batches; `batches`: a line for each; `decoded`: records; `explain`: a lookup, told
    info, real_files  what else a partition's directory has; `dumped_file`: `segments/<file>.txt`
    topic_directories `.topics/`; `merged`: all partitions of a topic by time; `merged_point`: the last of them before
                      a time; `missing_partitions`: its `info.json`
    cluster_directory `.cluster/` and the registry in it; `group_directory`: its groups; `cluster_sources`: what both
                      share

    partition_view    one partition under the mount's options, and the attributes that its views share
    range_file        text as a file: of a size (`exact`), or of none (`streams`: text that is made while it is read)
    made              answers kept for the `open` that follows: of points, and text made whole for its size
    topic_access      who may read what an internal topic tells; `ownership`: the user that a mount runs as
    resources         what all views of one tree share: options, caches, budgets

The way of a lookup, `t-0/by-time/1632390207806.jsonl`:

    fuse  lookup("t-0")        lookup("by-time")      lookup("1632390207806.jsonl")        open, read
            |                    |                      |                                    |
    about Top.child              |                      |                                    |
            |                    |                      |                                    |
    tree  Root.child           PartitionDirectory     queries.ByTime.child                 content.read
            |                                           |                                    ^
            v                                   grammar: name -> AtTime, .jsonl              |
          PartitionView  ---- ask(question) --> AtTime.record(look), of log.places           |
                                                        |                                    |
    log     Partition.log() -> Log -> Look -> Lookup.first_at -> Found -> decoded.JsonPoint

`ask` puts a question to the log as it is, and once more to a newer one where files vanished under it. Each call may be
made twice: at once, on the thread that must not wait, and again in a worker (`disk.blocking`).
"""
