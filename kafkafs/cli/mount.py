"""`kafkafs mount DATA_DIR... MOUNTPOINT`: in the foreground until a signal or `umount`, or with `--background`."""

import argparse
import errno
import os
import signal
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from kafkafs.cli import mount_buckets, mount_options
from kafkafs.cli.exit_codes import EXIT_FAILED, run_to_exit_code, say
from kafkafs.disk.data_paths import data_path
from kafkafs.disk.whereabouts import each_once, is_within
from kafkafs.errors import UsageError
from kafkafs.fuse.life import journal, mountpoint
from kafkafs.fuse.life.guard import KILLED, Daemon, supervise, supervise_in_background
from kafkafs.fuse.life.mount_claim import MountClaim
from kafkafs.fuse.sandbox.syscalls import is_installed
from kafkafs.installation import install_command

_DEVICE = "/dev/fuse"
_WITHOUT = "`kafkafs ls`, `cat` and `stat` answer the same without a mount"


def run(arguments: argparse.Namespace) -> int:
    """Checks what can be checked, then leaves the mount to two processes (see `fuse.life.guard`)."""
    _check_parts()
    options = mount_options.parse(arguments.options)
    mount_buckets.check_tier(options.reading.tiered)
    data_dirs = [data_path(path) for path in arguments.data_dirs]
    place = arguments.mountpoint.absolute()
    log_file = arguments.log_file.absolute() if arguments.log_file else None
    claim = MountClaim(place)
    mountpoint.check(place, data_dirs)
    data_dirs = each_once(data_dirs)  # a disk that hangs was refused above
    for data_dir in data_dirs:
        if log_file and is_within(log_file, data_dir):
            raise UsageError(f"the log file {str(log_file)!r} is inside {str(data_dir)!r}, where nothing is written")
    answers = mount_buckets.look(data_dirs, options.reading)
    try:
        journal.start(log_file, syslog=arguments.background)
    except OSError as error:
        raise UsageError(f"cannot log to {str(log_file)!r}: {error.strerror}") from None
    place = Path(mountpoint.real_path(place))  # the mount point, even if a link to it changes
    daemon = _daemon(data_dirs, place, claim, options, answers)
    return _in_background(place, daemon) if arguments.background else supervise(place, daemon)


def _in_background(place: Path, daemon: Daemon) -> int:
    """0 once the mount answers; else the daemon has said what is wrong, unless it was ended from outside."""
    code = supervise_in_background(place, daemon)
    if code <= KILLED:
        return code
    why = ", as the system does where memory runs out" if code - KILLED == signal.SIGKILL else ""
    say(f"the daemon was ended by signal {code - KILLED} before the mount answered{why}")
    return EXIT_FAILED


def _check_parts() -> None:
    """UsageError if something is not installed that a mount needs, or that confines a daemon started by root."""
    missing = [name for name in ("pyfuse3", "trio") if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"a mount takes {' and '.join(missing)}: {install_command('mount')} (and libfuse3 to build it with);"
            f" {_WITHOUT}"
        )
    _check_device()
    if os.geteuid() != 0:
        return
    if not is_installed():
        raise UsageError(
            "a mount by root needs a system call filter, and libseccomp or pyseccomp is missing: run apt-get install"
            f" libseccomp2, {install_command('mount')}; or mount as a user who may read the data"
        )


def _check_device() -> None:
    """UsageError if the kernel's side of FUSE is not to be had, as in most containers."""
    try:
        os.close(os.open(_DEVICE, os.O_RDWR | os.O_CLOEXEC))
    except FileNotFoundError:
        raise UsageError(
            f"there is no {_DEVICE}: load the kernel module (modprobe fuse), or start the container with --device"
            f" {_DEVICE} --cap-add SYS_ADMIN; {_WITHOUT}"
        ) from None
    except OSError as error:
        if error.errno != errno.EACCES:  # fusermount3 may open it for a user who may not
            raise UsageError(
                f"{_DEVICE} cannot be opened: {error.strerror}; start the container with --device {_DEVICE} --cap-add"
                f" SYS_ADMIN; {_WITHOUT}"
            ) from None


def _daemon(
    data_dirs: list[Path], place: Path, claim: MountClaim, options: mount_options.MountOptions, answers: bytes
) -> Daemon:
    """Run the serving process. `on_ready` is called when the mount answers. `answers` are those of stores."""

    def serve_tree(on_ready: Callable[[], None]) -> int:
        from kafkafs.cli.daemon import serve_data  # here, in that process: the guard has no use for pyfuse3 and views

        mount_buckets.reuse_answers(answers)
        serve_data(data_dirs, place, claim, options, on_ready)
        return 0

    return lambda on_ready: run_to_exit_code(lambda: serve_tree(on_ready), is_answer=False)
