"""Spark on the same logs: a data source with the schema and options of Spark's Kafka source, and jobs over whole directories."""
