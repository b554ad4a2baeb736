"""Where this kafkafs came from, so that advice to install more of it names what is there: it may be on no index at all.

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
    """What to type for one of the extras: this environment's pip, and the checkout or the wheel that is still there.

    Where neither is, the name alone: pip takes the extras of what is installed from that.
    """
    flags, source = _source(installed or _installed())
    return f"{_pip()} install {flags}{shlex.quote(f'{source}[{extra}]')}"


def _installed() -> Distribution | None:
    try:
        return distribution("kafkafs")
    except PackageNotFoundError:
        return None


def _source(installed: Distribution | None) -> tuple[str, str]:
    """Flags of pip, and what stands before the bracket."""
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
