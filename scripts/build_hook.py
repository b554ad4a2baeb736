"""hatchling's hooks: compile the kernels and make the man pages and completions that a wheel brings along, and put the
changelog behind the README in what a package index shows.

An editable install has its kernels in the checkout, and its pages in the environment as any other.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

NATIVE = "kafkafs/format/native"
PAGES = "build/pages"
SHARED = {  # where each lands below the prefix of the installation
    "man1/kafkafs.1": "share/man/man1/kafkafs.1",
    "man7/kafkafs-queries.7": "share/man/man7/kafkafs-queries.7",
    "man8/mount.kafkafs.8": "share/man/man8/mount.kafkafs.8",
    "bash/kafkafs": "share/bash-completion/completions/kafkafs",
    "zsh/_kafkafs": "share/zsh/site-functions/_kafkafs",
}

# kafkafs asks for its own version when imported, and is not installed yet: only its directories count here.
RUN = """
import runpy, sys, types
root, version, name, *sys.argv[1:] = sys.argv[1:]
package = sys.modules["kafkafs"] = types.ModuleType("kafkafs")
package.__path__, package.__version__ = [root + "/kafkafs"], version
sys.argv[0] = name
runpy.run_path(name, run_name="__main__")
"""


class BuildHook(BuildHookInterface[Any]):
    """The kernels belong to a processor, a C library, and Python from 3.11 on."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        subprocess.run([sys.executable, str(Path(self.root, "scripts/build_kernels.py"))], check=True)
        build_data["pure_python"], build_data["tag"] = False, f"cp311-abi3-{_platform()}"
        if version != "editable":
            for library in Path(self.root, NATIVE).glob("*.so"):
                build_data["force_include"][str(library)] = f"{NATIVE}/{library.name}"
        pages = Path(self.root, PAGES)
        self._run(str(Path(self.root, "scripts/make_pages.py")), str(pages))
        build_data["shared_data"] |= {str(pages / made): place for made, place in SHARED.items()}

    def _run(self, *program: str) -> None:
        subprocess.run([sys.executable, "-c", RUN, self.root, self.metadata.version, *program], check=True)


class Readme(MetadataHookInterface):
    """The project has no place on the net that a link to its changelog could lead to: the metadata bring all of it."""

    def update(self, metadata: dict[str, Any]) -> None:
        pages = (Path(self.root, name).read_text(encoding="utf-8") for name in ("README.md", "docs/changelog.md"))
        metadata["readme"] = {"content-type": "text/markdown", "text": "\n".join(pages)}


def _platform() -> str:
    """Of the kernels: they ask the C library for `memcpy`, `preadv2` and `statx`, the newest of which is glibc 2.28's.

    `auditwheel` confirms it (tests/packaging). Elsewhere (musl, other systems) the wheel is for machines like this one.
    """
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    is_glibc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else None
    return platform.replace("linux_", "manylinux_2_28_") if is_glibc else platform
