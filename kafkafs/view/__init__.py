"""The content of a mount, without FUSE. A name is parsed to a query; a query gives content with a size and `read`.

    node              the interface to `fuse`: directories, files, links, and the content of an open file
    about             the root of the mount: the tree's entries, and `.kafkafs/`; `manual` is its README
    tree              `Root`, all partitions of the data directories, and the entries of a partition's directory
    disks             a data directory in the root; `replica_directories`: the replica that the root shows, `.replicas/`
    paths             walks a tree without a mount; `reasons`: the reason why a name does not exist
    queries           `by-offset/`, `by-time/`: `grammar` parses their names; a node a suffix; `by_key`: `by-key/`
    raw               the bytes of batches; `batches`: one line for each; `decoded`: records; `explain`: lookup steps
    info, real_files  the other entries of a partition's directory; `dumped_file`: `segments/<file>.txt`
    topic_directories `.topics/`; `merged`: a topic's records of all partitions by time; `merged_point`: the last record
                      before a time; `missing_partitions`: the topic's `info.json`
    cluster_directory `.cluster/` and the registry in it; `group_directory`: its groups; `cluster_sources`: the data
                      that both share

    partition_view    one partition under the mount's options; the attributes that its views share
    range_file        a range as a text file, of known size (`exact`) or not (`streams`: rendered during the read)
    kept_text         the part of such a text that is in memory
    made              keeps results for the `open` after a lookup: points, and texts rendered to get their size
    topic_access      the users that may read an internal topic; `ownership`: the user that a mount runs as
    resources         options, caches and budgets that all views of one tree share

The steps of the lookup of `t-0/by-time/1632390207806.jsonl`:

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

`ask` runs a query on the current log. If files vanish during the query, `ask` repeats it on a newer log. Each call may
happen twice: first on the thread that must not block, then again in a worker thread (`disk.blocking`).
"""
