"""Which partition of a coordinator's topic a name belongs to. Sources: String.hashCode, Utils.abs, partitionFor."""

from kafkafs.cluster.names import text_of


def partition_for(name: bytes, partitions: int) -> int:
    """The partition that holds all records of the group, or transactional id, of that name."""
    code = java_hash(text_of(name))
    return (0 if code == -(2**31) else abs(code)) % partitions


def java_hash(text: str) -> int:
    """Java's hash of a string: over its UTF-16 code units, in 32 bits with a sign."""
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for at in range(0, len(units), 2):
        code = (31 * code + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return code - (1 << 32) if code >= 1 << 31 else code
