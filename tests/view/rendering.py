"""What kafkafs makes of records, as bytes."""

from kafkafs.format.batch import walk
from kafkafs.format.jsonl import JsonLines
from kafkafs.format.records import Records, decode


def rendered(batch: bytes, topic: str = "my-topic.x_1", partition: int = 3) -> bytes:
    """The lines of a batch's records."""
    lines = JsonLines(topic, partition)
    pieces = []
    for records in decode(batch, 0, walk(batch, 0).rows, 1 << 30):
        assert isinstance(records, Records)
        pieces += [bytes(piece) for piece in lines.pieces(records)]
    return b"".join(pieces)
