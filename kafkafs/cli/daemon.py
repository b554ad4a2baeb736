"""The server behind a mount. `mount` starts it, and only there is this imported, with pyfuse3 and trio."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from kafkafs.cli.exit_codes import say
from kafkafs.cli.mount_options import MountOptions
from kafkafs.disk.data_paths import bucket_of
from kafkafs.disk.objects import is_bucket
from kafkafs.format.memory import MemoryBudget
from kafkafs.fuse.life.mount_claim import MountClaim
from kafkafs.fuse.life.mounting import MountSettings, serve
from kafkafs.fuse.sandbox.network import network_for_all
from kafkafs.view.tree import Root


def serve_data(
    data_dirs: Sequence[Path], place: Path, claim: MountClaim, options: MountOptions, on_ready: Callable[[], None]
) -> None:
    """Serves the tree of these data directories at `place`, which is claimed, until it is unmounted; `on_ready`: it
    answers now."""
    memory = MemoryBudget(2 * options.reading.max_batch)  # one reader's: a packed batch, and what it unpacks to
    tree = Root(data_dirs, replace(options.reading, memory=memory))
    place_of_tier = "" if options.reading.tiered is None else options.reading.tiered.place
    tier = Path(place_of_tier) if place_of_tier and not is_bucket(place_of_tier) else None
    stores = [address for address in (place_of_tier, *map(bucket_of, data_dirs)) if is_bucket(address)]
    settings = MountSettings(
        data_dirs,
        claim,
        options.allow_other,
        readable=[path for path in (options.reading.index_dir, tier) if path is not None],
        owner=tree.owner(),
        network=network_for_all(stores),
        exact=options.reading.exact,
    )
    if count := tree.repeated:
        several = f"{count} partitions are" if count > 1 else "1 partition is"
        say(f"{several} in several data directories: the root lists the furthest replica, .replicas/ has every copy")
    serve(tree, place, settings, on_ready)
