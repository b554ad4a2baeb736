"""The kernels that read files, for lookups that cannot afford the way back to Python between reads.

`kafkafs.format.native` compiles and loads them with its own, into one library. They read from descriptors that are
open, what they are told to; of what is in a file they know batch headers, records and index entries, as `format` does.
"""
