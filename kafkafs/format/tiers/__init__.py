"""The content of a remote tier (KIP-405): names, manifests, chunks and ciphers of all known layouts.

    tier_names the partition and the segment that a directory, key or object belongs to
    manifest   Aiven's `.rsm-manifest`: a segment's offsets, times, epochs and chunks
    cipher     Aiven's encryption of chunks and indexes

Everything in a tier may have been written by somebody else: each number is held against its bounds before it counts.
"""
