"""A broker's directories and files. Only this package opens and reads them.

A data directory, on a disk of this machine:

    directory           an open directory, by an interface: names, attributes, and its files
    local_directory     a directory of this machine. It opens files read-only, and few at a time (`kept_files`)
    data_file           one open file: attributes, and reads that do not block unless the thread may block
    page_cache          reads that keep the broker's pages in the page cache, and add no pages of their own
    prefetch            sequential reads: fetches whole blocks before a reader asks for them
    access              the users that may read a file
    ancestors           the directories above a data directory. A user needs search permission on all of them
    whereabouts         finds segments near a path that is no data directory, for the error message
    system_calls        system calls that Python has no function for

The same in a bucket, from its address to the bytes:

    data_paths          the paths of data directories, and the addresses of copies in buckets
    roots               opens either kind of data directory
    bucket_directory    a copy of a data directory in a bucket
    bucket_listings     the folders of such a copy as they were listed, and errors if the copy changes
    stamps              folders of a bucket as they were listed first, in any process of a command
    chunked_file        an object that is fetched in chunks; `chunk_cache` has the chunks that were read lately
    straight_file       a large object as one reader goes straight through it: each byte is fetched once, and not kept
    objects             the location of a remote tier's objects: a directory or a `bucket`
    bucket              the objects of a bucket, by either way to ask a store
    store_calls         calls to a store, each with a limit of time, and the words of its failures
    signed_reads        S3: bytes and their version in one request (`s3_requests`), and listings (`s3_listing`), by an
                        `http_connection`
    arrow_store         the same of any store, and with any credentials, by pyarrow
    s3_place            the location of an S3 bucket, from its address and the environment
    store_session       this process's memory of object stores: failures, chunks

Threads, processes and memory:

    blocking            says if the calling thread may block
    cached_value        a value that is valid for a moment, or computed once; small caches of such values
    budget              a limit on memory or open files for many holders together; chooses the holder that frees some
    hints               facts that the readers of one tree remember to save time; they change no answer
    forked              worker processes, forked from this one; `in_order` runs jobs on several of them, and returns
                        the results in the order of the jobs
    garbage             turns Python's search for reference cycles off for a while

This package does not interpret the content of files.
"""
