"""Links a distribution's pyfuse3 into this virtual environment. The package has no wheels, so pip compiles it.

    python scripts/link_pyfuse3.py 3.4 [DIRECTORY]

Exit code 0: the environment has a pyfuse3. 1: DIRECTORY has none of at least that version for this Python, and nothing
is linked. The rest of DIRECTORY stays outside of the environment, unlike with `venv --system-site-packages`.
"""

import sys
import sysconfig
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

DEBIAN = Path("/usr/lib/python3/dist-packages")
SITE = Path(sysconfig.get_path("purelib"))
PARTS = ("pyfuse3", "pyfuse3-*-info", "_pyfuse3.py", "pyfuse3_asyncio.py")


def has_version(packages: Path, minimum: str) -> bool:
    """True if the metadata in `packages` name a version of at least `minimum`."""
    found = [path.name.removeprefix("pyfuse3-") for path in packages.glob("pyfuse3-*-info")]
    return any(_numbers(name.rpartition(".")[0]) >= _numbers(minimum) for name in found)


def link(packages: Path, site: Path) -> None:
    """Link each part, in place of what an earlier run linked."""
    for part in (part for pattern in PARTS for part in packages.glob(pattern)):
        (site / part.name).unlink(missing_ok=True)
        (site / part.name).symlink_to(part)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()]


def main(minimum: str, packages: Path = DEBIAN, site: Path = SITE) -> int:
    """Link what fits. Do not import it: trio, which it imports, may not be installed yet."""
    compiled = [packages / "pyfuse3" / f"__init__{ending}" for ending in EXTENSION_SUFFIXES]
    if not has_version(packages, minimum) or not any(path.exists() for path in compiled):
        return 1
    if not any(site.glob("pyfuse3-*-info")):  # pip may have compiled another release
        link(packages, site)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(Path, sys.argv[2:])))
