"""A machine without /dev/fuse, as most containers are: commands are run where only some other devices are."""

from pathlib import Path

DEVICES = ("null", "zero", "urandom", "tty")


def without_fuse(place: Path, *command: str | Path) -> list[str | Path]:
    """The command that runs another one in a mount namespace of its own; takes root. `place` is an empty directory."""
    binds = "".join(f"touch {place}/{name}; mount --bind /dev/{name} {place}/{name}; " for name in DEVICES)
    script = (
        f'mount -t tmpfs none {place}; {binds} ln -s /proc/self/fd {place}/fd; mount --move {place} /dev; exec "$@"'
    )
    return ["unshare", "--mount", "sh", "-ec", script, "sh", *command]
