"""What a mount shows, without FUSE: a name becomes a query, a query becomes content with a size and `read`.

`grammar` parses names, `tree` holds the nodes that `fuse/` walks, the other modules make one kind of content each.
"""
