"""A small Kafka data directory to look at, written by a real broker of release 2.8.0 and stopped cleanly.

Topic `test` is the worked example: one segment from offset 23147 with four offset index entries. Topic `orders` has
every codec, headers, a committed and an aborted transaction. `scripts/make-sample` makes it again.
"""

import tarfile
from importlib import resources
from pathlib import Path

ARCHIVE = "kafka-logs.tar.gz"
TOP = "kafka-logs"


def unpack(into: Path) -> Path:
    """The sample as a data directory, `into`/kafka-logs, with the modification times that the broker left."""
    with resources.as_file(resources.files(__name__) / ARCHIVE) as archive, tarfile.open(archive) as packed:
        # the safe filter where this Python has it: from 3.11.4, and in many a distribution's older one
        packed.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        packed.extractall(into)
    return into / TOP
