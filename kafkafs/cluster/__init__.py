"""Read a cluster's internal topics: groups, transactions, metadata, schemas. The results contain no secrets.

following   read an internal partition once, then follow it; report the parts that could not be read
kept_records, last_values   the last value of each key of a coordinator's partition
group_records, transactions   decode the records of one group or one transactional id
coordinators   a coordinator's topic: its partitions that are here, each followed
connect   Kafka Connect's connectors
group_history   all records about one group that are still in the log
progress   the lag of groups, in records and in time
snapshots, metadata, image   the newest snapshot and the log after it: topics, brokers, configurations, ACLs
topic_partitions   partitions of a topic that are in the metadata, but on none of the disks
leaders     the leader of each partition
cluster     a `Cluster`: all of the above at one moment, in four parts: `topic_names`, `chosen_replicas`, `groups` and
            `transactional_ids`; `files`, `rows` and `row_lines` make the lines of `.cluster/`
schema_topic, registry   the schemas in `_schemas-0`; `schema_lines`: records decoded with these schemas, as lines
"""
