"""Images of scripts/container, built by buildah in a store of their own, on a base that mmdebstrap makes.

No registry is asked: the base gets the name that the Containerfile has for it.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "scripts/container"
BASE = "docker.io/library/debian:12-slim"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
BUILD_S = 1500


class Store:
    """Images and containers below one directory."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch

    def buildah(self, *arguments: str | Path, timeout: float = 120, check: bool = True) -> str:
        """Return the standard output; a failure shows the end of what was printed."""
        places = ("--root", self.scratch / "store", "--runroot", self.scratch / "run")
        command = ["buildah", *map(str, places), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)
        assert done.returncode == 0 or not check, (command, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout

    def make_base(self) -> None:
        """Make Debian 12 without anything that a Containerfile does not install."""
        archive = self.scratch / "base.tar"
        subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "bookworm", archive], check=True, timeout=BUILD_S)
        container = self.buildah("from", "scratch").strip()
        self.buildah("add", "--quiet", container, archive, "/")
        self.buildah("commit", "--quiet", "--rm", container, BASE)
        archive.unlink()

    def build(self, containerfile: str, name: str) -> None:
        """Build from the checkout. pip trusts the certificates of this machine, which a proxy may have signed."""
        settings = self.scratch / "pip.conf"
        settings.write_text("[global]\ncert = /run/certificates\n")
        volumes = (f"{settings}:/etc/pip.conf:ro", f"{CERTIFICATES}:/run/certificates:ro")
        options = [option for volume in volumes for option in ("--volume", volume)]
        command: tuple[str | Path, ...] = ("build", "--isolation", "chroot", "--pull=never", *options)
        self.buildah(*command, "-f", PLACE / containerfile, "-t", name, ROOT, timeout=BUILD_S)

    def size(self, name: str) -> int:
        """Bytes of an image with its base."""
        (image,) = json.loads(self.buildah("images", "--json", name))
        number, unit = re.fullmatch(r"([\d.]+) ?(\w+)", image["size"]).groups()  # type: ignore[union-attr]
        return int(float(number) * {"KB": 10**3, "MB": 10**6, "GB": 10**9}[unit])

    def run(self, name: str, *command: str, options: tuple[str, ...] = (), check: bool = True) -> str:
        """Run a command as the image's user, in a new container that is removed afterwards."""
        container = self.buildah("from", "--pull=never", name).strip()
        try:
            isolated = ("run", "--isolation", "chroot", *options, container, "--")
            return self.buildah(*isolated, *command, timeout=300, check=check)
        finally:
            self.buildah("rm", container)


@contextmanager
def new_store(scratch: Path) -> Iterator[Store]:
    """A store with the base in it, removed at the end."""
    store = Store(scratch)
    try:
        store.make_base()
        yield store
    finally:
        store.buildah("rm", "--all", check=False)
        store.buildah("rmi", "--all", "--force", check=False)
        shutil.rmtree(scratch, ignore_errors=True)
