"""The origin of this installation. Advice to install an extra names that origin: no index may have kafkafs.

Source of the file that pip leaves behind: PEP 610, `direct_url.json`.
"""

import json
import os
import shlex
import shutil
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from urllib.parse import unquote, urlsplit


def install_command(extra: str, installed: Distribution | None = None) -> str:
    """Return the command that installs an extra: this environment's pip, with the checkout or the wheel if it is still
    there.

    Otherwise the name alone has to do: pip finds the extras in the installed metadata.
    """
    flags, source = _source(installed or _installed())
    return f"{_pip()} install {flags}{shlex.quote(f'{source}[{extra}]')}"


def _installed() -> Distribution | None:
    try:
        return distribution("kafkafs")
    except PackageNotFoundError:
        return None


def _source(installed: Distribution | None) -> tuple[str, str]:
    """Flags of pip, and the requirement before the bracket."""
    try:
        parsed = json.loads((installed and installed.read_text("direct_url.json")) or "{}")
        url = urlsplit(parsed.get("url", ""))
        path = unquote(url.path)
        if url.scheme == "file" and os.path.exists(path):
            return "-e " if parsed.get("dir_info", {}).get("editable") else "", path
    except (ValueError, AttributeError, OSError):  # somebody else's file: whatever it says
        pass
    return "", "kafkafs"


def _pip() -> str:
    here = os.path.join(sys.prefix, "bin", "pip")
    first = shutil.which("pip")
    if first is not None and os.path.abspath(first) == here:
        return "pip"
    return shlex.quote(here) if os.path.exists(here) else f"{shlex.quote(sys.executable)} -m pip"
