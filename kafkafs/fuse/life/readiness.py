"""Tells systemd that the mount answers (`Type=notify`). Source: sd_notify(3).

The socket is connected before the daemon is confined, after which it could reach none.
"""

import os
import socket
from collections.abc import Callable
from contextlib import suppress


def notifier() -> Callable[[], None]:
    """What to call when the mount answers; without systemd it does nothing."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return lambda: None
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        channel.connect("\0" + address[1:] if address.startswith("@") else address)
    except OSError:
        return channel.close

    def notify() -> None:
        """Tells it once, and closes the socket; that nobody listens any more is no error."""
        with suppress(OSError), channel:
            channel.send(b"READY=1\nSTATUS=mounted")

    return notify
