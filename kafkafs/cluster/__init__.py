"""What the cluster's own topics tell: groups, transactions, metadata, schemas. They lie on the same disks."""
