"""Answer the kernel's requests. Each operation calls one method of a node, on the trio thread or in a worker thread.

operations     a handler for each kind of request
answering      the end of each call: a reply or an errno. Calls are counted and timed, and `.kafkafs/` shows the counts
inodes         the nodes that the kernel knows, by the kernel's numbers
workers        the threads that may block. They are shared fairly between *lanes*, one lane for each disk, and one for
               the calls of a disk that need a store
late_answers   lookups that need a store. The kernel gets provisional attributes, and asks again
waiting        reads at the end of a log that wait for more data; `signals`: detects a signal that ends such a reader
stream_refusal programs that would read a stream as an empty file. The open of a stream is refused to them
sweeping       periodic work
"""
