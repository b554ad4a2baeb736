"""Real Kafka for the tests: brokers of three releases, the logs they write, and what Kafka itself says is in them.

    jars      a release's jars, fetched once by Maven
    broker    one node of a release on this machine, started and stopped
    writer    batches written exactly as a test wants them
    topics/   what is written: one module a subject
    truth     what Kafka's consumer and ListOffsets answer, as plain files
    dumps     what Kafka's DumpLogSegments prints of the same files
    generate  all of these in order for one release: data and truth, made once and kept
    dataset   how a test reads data and truth; imports nothing of what is above
    fixtures  pytest's door to all that

What is made lies in `cache.root()`, outside the repository; a changed generator makes its data anew.
Nothing here imports kafkafs: the truth has to stand alone.
"""
