"""Questions about whole data directories: what fills the disk (`kafkafs du`), what to look at first (`kafkafs triage`).

scanning    the files of a data directory, counted, without a look into any log; but for the end of one that was not
            closed cleanly (`log.log_end`)
configs     the settings of a topic, and where each comes from
retention   the broker's rules: which segments go at a moment, and why the others stay
report      all of it as rows, by topic or partition
contents    all of a log, read: which parts of records take the bytes, and which are `superseded`;
            `deep`: of all partitions, on all processors
triage      the first minute after an outage
"""
