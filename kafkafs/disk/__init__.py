"""A broker's directories and files as the operating system has them: the only code that opens or reads one of them.

    directory           a directory held open: names, attributes, and its files, opened read-only and few at a time
    data_file           one open file: attributes, and reads that wait for nothing unless the thread may wait
    blocking            whether the calling thread may wait
    prefetch            reading straight on: whole blocks, before they are asked for
    page_cache          reads that leave the broker's hot pages hot, and bring in none of their own
    access              who may read what lies there
    system_calls        what Python has no function for
    forked              processes forked from this one, which do what they are sent; `in_order`: jobs on several of
                        them, and what they tell in the order of the jobs
    ancestors           the directories above a data directory, all of which have to be searched to reach it
    cached_value        a value that was true a moment ago, or is made once; a few of many such things
    budget              what many hold together, memory or open files, and which of them lets go
    bucket_directory    a copy of a data directory in a bucket, behind the same questions; `roots` opens either
    s3_place            where an S3 bucket is, by its address and the environment
    signed_reads        reads of a bucket's objects in one request each, which tells their version
    store_trouble       failures of stores that a reader may have passed over
    objects             the place of a remote tier's objects: a directory or a `bucket`
    data_paths          the paths of data directories, and the addresses of copies in buckets
    chunked_file        an object that is fetched in chunks, of which `chunk_cache` has those read lately
    whereabouts         where segments are, when what was named is no data directory; what lies in which

Nothing here knows what is in a file.
"""
