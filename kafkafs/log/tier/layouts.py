"""The layout of a tier, from the names of its files. `counting` decides which uploads count.

LocalTiered   LocalTieredStorage: `<topic>-<partition>-<topic id>/<base>-<segment id>.log`, files as on the broker
Aiven         `<prefix><topic>-<topic id>/<partition>/<base>-<segment id>.rsm-manifest`, a log in chunks
Plain         a broker's partition directories in a bucket: `<topic>-<partition>/<base>.log`
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from kafkafs.disk.data_file import DataFile
from kafkafs.disk.objects import DirectoryObjects, Object, Objects
from kafkafs.errors import CorruptData, Denied, DiskError, Lost, NotFound, Unopenable, Unsupported, UsageError
from kafkafs.format.checkpoints import parse_lineage
from kafkafs.format.names import LEADER_EPOCHS, parse_partition_name, parse_segment_file
from kafkafs.format.tiers.manifest import LARGEST, Manifest, parse_manifest
from kafkafs.format.tiers.tier_names import (
    EPOCHS,
    ID_LENGTH,
    INDEXES,
    MANIFEST,
    PRODUCER_SNAPSHOT,
    TierPartition,
    parse_object_directory,
    parse_tier_directory,
    parse_tier_file,
)
from kafkafs.log.refetching import Refetches
from kafkafs.log.tier.opening import Epochs, ObjectFiles, Upload

if TYPE_CHECKING:
    from kafkafs.format.tiers.cipher import Keys

DEEPEST = 3
"""Folders above Aiven's `<topic>-<topic id>` that a prefix may make."""

_EPOCHS_SIZE = 1 << 20


class Layout(Protocol):
    """A tier's layout. Every method may wait."""

    def partitions(self) -> list[TierPartition]:
        """The partitions that the tier has something of."""

    def uploads(self, partition: TierPartition, finished: Container[str] = ()) -> list[Upload]:
        """The uploads of a partition that are complete, sorted by base offset: complete as far as names tell, or with
        an id of `finished`, the uploads that the metadata topic calls complete."""

    def completed(self, upload: Upload) -> Upload:
        """The upload with all that can be read of it. DiskError, NotFound if that cannot be had."""

    def lineage(self, partition: TierPartition, upload: Upload) -> Epochs:
        """The leader epochs of the partition up to the upload's end, as its broker knew them. Empty if nothing tells
        them. DiskError, NotFound if that cannot be had."""

    def open(self, upload: Upload, kind: str) -> DataFile:
        """Open one file of an upload: "log", "index", "timeindex", "txnindex". NotFound if there is no object any
        more."""


class _BrokersFiles:
    """The common part of layouts whose files are byte for byte as on the broker."""

    def __init__(self, files: ObjectFiles) -> None:
        self._files = files
        self._objects = files.objects

    def open(self, upload: Upload, kind: str) -> DataFile:
        """See `Layout`."""
        return self._files.plain_file(upload.files.get(kind), kind, upload)

    def _read_epochs(self, found: Object) -> Epochs:
        return _epochs(self._objects.read(found.key, 0, min(found.size, _EPOCHS_SIZE)), found.key)


class LocalTiered(_BrokersFiles):
    """LocalTieredStorage's: files byte for byte as on the broker."""

    def partitions(self) -> list[TierPartition]:
        """See `Layout`."""
        found = map(parse_tier_directory, self._objects.folders())
        return [each for each in found if each is not None]

    def uploads(self, partition: TierPartition, finished: Container[str] = ()) -> list[Upload]:
        """See `Layout`: a copy that a crash has cut lacks the file that is written last."""
        folder = f"{partition.topic}-{partition.partition}-{partition.topic_id}"
        return [
            _copied(Upload(base, segment_id, files))
            for (base, segment_id), files in sorted(_grouped(self._objects.files(folder)).items())
            if PRODUCER_SNAPSHOT in files or segment_id in finished
        ]

    def completed(self, upload: Upload) -> Upload:
        """See `Layout`: its epochs. Only its log tells where it ends."""
        found = upload.files.get(EPOCHS)
        return upload if found is None else upload._replace(epochs=self._read_epochs(found))

    def lineage(self, partition: TierPartition, upload: Upload) -> Epochs:  # noqa: ARG002 (its files have it)
        """See `Layout`."""
        found = upload.files.get(EPOCHS)
        return () if found is None else self._read_epochs(found)


def _copied(upload: Upload) -> Upload:
    """A whole copy, as it is now. An index that is lost costs time."""
    log = upload.files.get("log")
    if log is None:
        return upload._replace(trouble=f"{upload.object!r} is not in the tier, and files that were copied after it are")
    if EPOCHS not in upload.files:
        trouble = f"nothing tells of which leader epochs {upload.object!r} is: its file {EPOCHS!r} is not in the tier"
        return upload._replace(size=log.size, trouble=trouble)
    return upload._replace(size=log.size)


class Plain(_BrokersFiles):
    """A broker's partition directories, copied as they are."""

    def partitions(self) -> list[TierPartition]:
        """See `Layout`: without topic ids."""
        found = map(parse_partition_name, self._objects.folders())
        return [TierPartition(each.topic, each.partition, "") for each in found if each is not None and not each.mark]

    def uploads(self, partition: TierPartition, finished: Container[str] = ()) -> list[Upload]:  # noqa: ARG002
        """See `Layout`: there are no ids."""
        grouped: defaultdict[int, dict[str, Object]] = defaultdict(dict)
        for found in self._objects.files(f"{partition.topic}-{partition.partition}"):
            parsed = parse_segment_file(found.key.rpartition("/")[2])
            if parsed is not None:
                grouped[parsed.offset][parsed.kind] = found
        return [Upload(base, "", files, files["log"].size) for base, files in sorted(grouped.items()) if "log" in files]

    def completed(self, upload: Upload) -> Upload:
        """See `Layout`: there is nothing else."""
        return upload

    def lineage(self, partition: TierPartition, upload: Upload) -> Epochs:  # noqa: ARG002 (one file is for all)
        """See `Layout`."""
        folder = f"{partition.topic}-{partition.partition}"
        found = next((each for each in self._objects.files(folder) if each.key == f"{folder}/{LEADER_EPOCHS}"), None)
        return () if found is None else self._read_epochs(found)


class Aiven:
    """The layout of Aiven's plug-in, in a bucket or in files. Manifests are read when they are asked for."""

    def __init__(self, files: ObjectFiles, keys: "Keys | None") -> None:
        self._files = files
        self._objects = files.objects
        self._keys = keys
        self._refetches = Refetches()  # of manifests
        self._topics: dict[str, str] = {}  # folders by the topic's id

    def partitions(self) -> list[TierPartition]:
        """See `Layout`. A topic's name is in its manifests."""
        found = []
        for folder in folders_with_ids(self._objects, DEEPEST):
            uploads = {}
            for number in self._objects.folders(folder):
                parsed = parse_object_directory(f"{folder}/{number}")
                if parsed is not None and (inside := self._uploads(f"{folder}/{number}")):
                    uploads[parsed] = inside
            if uploads:
                topic = self._topic(folder, chain.from_iterable(uploads.values()))
                found += [TierPartition(topic, number, topic_id) for topic_id, number in uploads]
                self._topics |= {topic_id: folder for topic_id, _ in uploads}
        return sorted(found)

    def _topic(self, folder: str, uploads: Iterable[Upload]) -> str:
        """The topic's name in the folder's first manifest that can be read. If none can, the folder's name counts, with
        the part that a prefix may have put in front. A reader there gets the reason."""
        for upload in uploads:
            with suppress(Lost, Denied, NotFound):
                return self._manifest(upload).topic
        return folder.rpartition("/")[2][: -ID_LENGTH - 1]

    def uploads(self, partition: TierPartition, finished: Container[str] = ()) -> list[Upload]:
        """See `Layout`: without a manifest nobody can read a segment."""
        if partition.topic_id not in self._topics:
            self._look_for(partition.topic_id)
        folder = self._topics.get(partition.topic_id)
        return [] if folder is None else self._uploads(f"{folder}/{partition.partition}", finished)

    def _uploads(self, folder: str, finished: Container[str] = ()) -> list[Upload]:
        return [
            Upload(base, segment_id, files)
            if MANIFEST in files
            else Upload(base, segment_id, {}, trouble=f"the manifest of {base:020}-{segment_id}.log is not in the tier")
            for (base, segment_id), files in sorted(_grouped(self._objects.files(folder)).items())
            if MANIFEST in files or segment_id in finished
        ]

    def _look_for(self, topic_id: str) -> None:
        """Look for a topic's folder: by its name at the top, else further down, where each folder is a request."""
        at_top = (folder for folder in self._objects.folders() if topic_id and folder.endswith(f"-{topic_id}"))
        below = (each for each in folders_with_ids(self._objects, DEEPEST) if each.endswith(f"-{topic_id}"))
        folder = next(at_top, None) or next(below, None)
        if folder is not None:
            self._topics[topic_id] = folder

    def completed(self, upload: Upload) -> Upload:
        """See `Layout`."""
        found = self._manifest(upload)
        return upload._replace(
            size=found.chunks.size, end_offset=found.end_offset, epochs=found.epochs, largest=found.max_timestamp,
            is_measured=True,
        )  # fmt: skip

    def lineage(self, partition: TierPartition, upload: Upload) -> Epochs:  # noqa: ARG002 (its indexes have it)
        """See `Layout`: a manifest has the epochs of its own segment alone."""
        file = self.open(upload, EPOCHS)
        return _epochs(file.read(0, min(file.size, _EPOCHS_SIZE)), upload.object)

    def open(self, upload: Upload, kind: str) -> DataFile:
        """See `Layout`."""
        manifest = self._manifest(upload)
        try:
            cipher = None
            if manifest.encryption is not None:
                if self._keys is None:
                    raise Unopenable(manifest.encryption.sentence)
                cipher = self._keys.cipher(manifest.encryption)
            if kind == "log":
                return self._files.chunked_log(upload, manifest, cipher)
            return self._files.index_file(upload.files.get(INDEXES), kind, manifest, cipher)
        except DiskError as error:
            raise type(error)(f"the remote segment {upload.object!r} cannot be read: {error}") from error

    def _manifest(self, upload: Upload) -> Manifest:
        """Parse it again each time: the only copy is in the bounded cache. One that cannot be used, or contradicts the
        sizes in the tier, may have arrived damaged, so it is fetched again."""
        found = upload.files[MANIFEST]
        try:
            manifest = self._parsed(upload)
            if _fits(manifest, upload.files) or not self._refetches.is_due(found):
                return manifest
        except Unopenable:
            raise
        except Lost:
            if not self._refetches.is_due(found):
                raise
        self._files.cache.forget(found)
        return self._parsed(upload)

    def _parsed(self, upload: Upload) -> Manifest:
        found = upload.files[MANIFEST]
        try:
            if found.size > LARGEST:
                raise CorruptData(f"it has {found.size} bytes")
            data = self._files.cache.get(found, lambda: self._objects.read(found.key, 0, found.size))
            manifest = parse_manifest(bytes(data))
        except (CorruptData, Unsupported) as error:
            kind = Unopenable if isinstance(error, Unsupported) else Lost
            raise kind(f"the manifest {found.key!r} cannot be used: {error}") from error
        place = parse_object_directory(found.key.rpartition("/")[0])
        if (manifest.start_offset, manifest.segment_id, (manifest.topic_id, manifest.partition)) != (
            *upload[:2],
            place,
        ):
            raise Lost(
                f"the manifest {found.key!r} is of another segment: {manifest.segment_id} of {manifest.topic_id}"
            )
        return manifest


def _fits(manifest: Manifest, files: Mapping[str, Object]) -> bool:
    """True if the sizes of the log and the indexes in the tier are those that the manifest says."""
    log, indexes = files.get("log"), files.get(INDEXES)
    behind = max((position + size for position, size in manifest.indexes.values()), default=0)
    return (log is None or log.size == manifest.chunks.positions[-1]) and (indexes is None or indexes.size >= behind)


def layout_of(files: ObjectFiles, keys: "Keys | None", deepest: int = DEEPEST) -> Layout:
    """The layout of what is there, topics at most `deepest` folders down. UsageError if the layout is unknown,
    DiskError if it does not answer."""
    objects = files.objects
    try:
        top = objects.folders()
    except NotFound as error:
        raise UsageError(str(error)) from error
    of_local_tiered = [folder for folder in top if parse_tier_directory(folder)]
    for folder in of_local_tiered:
        if any(parse_tier_file(found.key.rpartition("/")[2]) for found in objects.files(folder)):
            return LocalTiered(files)
    if next(folders_with_ids(objects, deepest), None) is not None:
        return Aiven(files, keys)
    if of_local_tiered:
        return LocalTiered(files)
    if not isinstance(objects, DirectoryObjects) and any(map(parse_partition_name, top)):
        return Plain(files)
    raise UsageError(
        f"{objects.shown_as} has no tier that kafkafs knows: neither LocalTieredStorage's"
        " <topic>-<partition>-<topic id>, nor Aiven's <topic>-<topic id>/<partition>, nor (in a"
        " bucket) partition directories"
    )


def folders_with_ids(objects: Objects, deepest: int, folder: str = "") -> Iterator[str]:
    """The folders of Aiven's topics, `…<topic>-<topic id>` with folders of partitions in them, however deep a prefix
    has put them."""
    for name in objects.folders(folder):
        below = f"{folder}/{name}".lstrip("/")
        inside = None
        if parse_object_directory(f"{below}/0") is not None:
            inside = [each for each in objects.folders(below) if each.isascii() and each.isdigit()]
        if inside:
            yield below
        elif deepest and parse_partition_name(name) is None:
            yield from folders_with_ids(objects, deepest - 1, below)


def _grouped(found: Iterator[Object]) -> dict[tuple[int, str], dict[str, Object]]:
    """Objects by the base offset and id of their segment, then by kind."""
    stems: defaultdict[str, dict[str, Object]] = defaultdict(dict)
    for each in found:
        stem, _, kind = each.key[each.key.rfind("/") + 1 :].partition(".")
        stems[stem][kind] = each
    parsed = ((parse_tier_file(f"{stem}.log"), files) for stem, files in stems.items())
    return {(name.base_offset, name.segment_id): files for name, files in parsed if name is not None}


def _epochs(data: bytes, key: str) -> Epochs:
    try:
        return parse_lineage(data)
    except CorruptData as error:
        raise Lost(f"{key!r} cannot be used: {error}") from error
