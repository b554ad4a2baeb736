"""Kafka's files as values: bytes in, frozen values out. Nothing here opens a file; `log/` brings the bytes.

Nouns: an *entry* is what a log holds back to back, a record batch (v2) or an outermost message (v0, v1); both are
called *batch* above this layer. An *index* maps relative offsets or timestamps to where a scan may start.
A parser takes a buffer and a position; a truncated tail is a result, never an exception.
"""
