"""Questions about whole data directories: what fills the disk (`kafkafs du`), what to look at first (`kafkafs triage`).

scanning    counts the files of a data directory. It reads no log, except the end of a log that was not closed
            cleanly (`log.log_end`)
configs     the configuration of a topic, and the source of each value
retention   the broker's retention rules: segments that it deletes at a given time, and the reason why it keeps others
report      the results as rows, by topic or partition
contents    reads a whole log: bytes for each part of the records, and bytes that are `superseded`;
            `deep`: the same for all partitions, on all processors
triage      first checks after an outage
"""
