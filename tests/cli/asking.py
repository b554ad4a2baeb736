"""Runs `kafkafs ls`, `cat` and `stat` as a user does, in the C locale as the mount's tools beside them."""

import os
import subprocess

from tests.mounting import KAFKAFS

C_LOCALE = {**os.environ, "LC_ALL": "C.UTF-8"}


def unmounted(command: str, *arguments: object) -> subprocess.CompletedProcess[bytes]:
    """What the command says and ends with."""
    words = [str(KAFKAFS), command, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, check=False, timeout=60, env=C_LOCALE)
