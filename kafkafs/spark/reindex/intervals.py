"""Topics' own `index.interval.bytes`, where the data directory tells: in KRaft's metadata log and its snapshots."""

from contextlib import suppress

from kafkafs.cluster.following import Following
from kafkafs.cluster.image import TOPIC_RESOURCE
from kafkafs.cluster.metadata import NAME, Metadata
from kafkafs.errors import KafkafsError
from kafkafs.log.data_directory import DataDirectory

_SETTING = "index.interval.bytes"


def topic_intervals(directory: DataDirectory) -> dict[str, int]:
    """The interval of each topic that has its own; none without KRaft, or where its log cannot be read."""
    image = None
    with suppress(KafkafsError):
        partition = directory.partition(NAME)
        metadata = Metadata(partition, directory.options)
        Following(partition, metadata, directory.options).catch_up()
        image = metadata.image
    found: dict[str, int] = {}
    for (kind, name), settings in image.configs.items() if image is not None else ():
        value = settings.get(_SETTING, "")
        if kind == TOPIC_RESOURCE and value.isascii() and value.isdigit():
            found[name] = int(value)
    return found
