"""What a mount shows, without FUSE: a name becomes a query, a query becomes content with a size and `read`.

    node            the seam to `fuse`: directories, files, links, and the content behind an open file
    Top             the root that is served: the tree's entries, and `.kafkafs` (`about`)
    tree            `Root`, all partitions of the data directories, and what a partition's directory lists
    TopicsDirectory `.topics/` (`topic_directories`); `merged`: all partitions of a topic by time
    PartitionView   one partition under the mount's options, and the attributes that its views share
    LogLook         its log at one moment, and what of it is visible
    target          what a name leads to: a point or a range, by offset or by time
    Stream          text that is made while it is read; `TextBudget` is what all of them may hold together
    Resources       what all views of one tree share: options, caches, budgets

The way of a lookup, `t-0/by-time/1632390207806.jsonl`:

    fuse  lookup("t-0")        lookup("by-time")      lookup("1632390207806.jsonl")        open, read
            |                    |                      |                                    |
    about Top.child              |                      |                                    |
            |                    |                      |                                    |
    tree  Root.child           PartitionDirectory     queries.ByTime.child                 content.read
            |                                           |                                    ^
            v                                   grammar: name -> TimePoint, .jsonl           |
          PartitionView  ---- ask(question) --> targets: TimePoint -> AtTime                 |
                                                        |                                    |
    log     Partition.log() -> Log -> LogLook -> Lookup.first_at -> Found -> decoded.JsonPoint

`ask` puts a question to the log as it is, and once more to a newer one where files vanished under it. Each call may be
made twice: at once, on the thread that must not wait, and again in a worker (`disk.blocking`).
"""
