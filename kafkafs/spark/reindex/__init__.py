"""`kafkafs reindex`: the indexes of every segment, byte for byte as the broker writes them when it rebuilds its own."""
