"""Read the topics that a cluster keeps for itself: groups, transactions, metadata, schemas. No secret comes out.

following   an internal partition, read once and then followed, and what of it could not be read
last_values, coordinators   the last value of each key: groups with their offsets, transactional ids
group_records, transactions   what the records of one of them say
connect   Kafka Connect's connectors
group_history   each record about one group that is left
progress   how far groups are behind, in records and in time
metadata, image   the newest snapshot and the log behind it: topics, brokers, settings, rights
topic_partitions   which partitions of a topic the metadata name, and no disk here has
leaders     the leader of each partition
cluster     all of that at one moment; `files`, `rows` and `row_lines`: as lines of `.cluster/`
schema_topic, registry   the schemas in `_schemas-0`; `schema_lines`: records decoded by them, as lines
"""
