"""seccomp: system calls that a daemon which only reads has no use for are refused with EPERM.

A second lock: it covers what Landlock does not (attributes, UDP and Unix sockets, signals, other processes), and most
of what Landlock does. A list of what is refused, not of what is allowed: the C library may use another call tomorrow.
"""

import errno
import importlib
import mmap
import os
import socket
from contextlib import suppress
from typing import Any

try:  # here, since a confined process can import nothing
    seccomp: Any = importlib.import_module("pyseccomp")
except (ImportError, RuntimeError, OSError):  # it looks for the C library libseccomp when it is imported
    seccomp = None

CLONE_THREAD = 0x10000

_CHANGES = """
    chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes utimensat futimesat
    setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat file_setattr
    creat truncate ftruncate fallocate link linkat symlink symlinkat rename renameat renameat2 unlink unlinkat
    mkdir mkdirat rmdir mknod mknodat flock open_by_handle_at
"""
_PROCESSES = """
    execve execveat fork vfork ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd
    kill tkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal
"""
_CONNECTIONS = "bind listen accept accept4"
_CONNECTING = ("socket", "connect")
_PRIVILEGES = """
    setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid setfsgid capset
    mount umount2 pivot_root chroot move_mount open_tree fsopen fsmount fsconfig fspick mount_setattr unshare setns
    swapon swapoff reboot kexec_load kexec_file_load init_module finit_module delete_module acct quotactl quotactl_fd
    settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname iopl ioperm
    bpf perf_event_open userfaultfd keyctl add_key request_key io_uring_setup io_uring_enter io_uring_register
"""
REFUSED = f"{_CHANGES} {_PROCESSES} {_CONNECTIONS} {_PRIVILEGES}".split()
_OTHER_FAMILIES = [family for family in range(socket.AF_INET6) if family != socket.AF_INET]
_MEMORY = ("mmap", "mprotect", "pkey_mprotect")
_WRITING = (os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_TRUNC)


def is_installed() -> bool:
    """True if pyseccomp and the C library behind it are here."""
    return seccomp is not None


def refuse_all_but_reading(connecting: bool = False) -> str | None:
    """Installs the filter, for good, in this thread and those it starts; a sentence that says why where it cannot.
    `connecting`: sockets of the internet may be made and connected, to what Landlock allows."""
    if seccomp is None:
        return "no system call filter: install libseccomp (Debian: libseccomp2) for a second lock beside Landlock"
    refuse = seccomp.ERRNO(errno.EPERM)
    rules = seccomp.SyscallFilter(seccomp.ALLOW)
    for name in REFUSED:
        with suppress(OSError, ValueError):  # not a call of this processor, or newer than the library
            rules.add_rule(refuse, name)
    for name in _CONNECTING if not connecting else ():
        rules.add_rule(refuse, name)
    for family in _OTHER_FAMILIES:
        rules.add_rule(refuse, "socket", seccomp.Arg(0, seccomp.EQ, family))
    rules.add_rule(refuse, "socket", seccomp.Arg(0, seccomp.GT, int(socket.AF_INET6)))
    for flag in _WRITING:
        rules.add_rule(refuse, "openat", seccomp.Arg(2, seccomp.MASKED_EQ, flag, flag))
        with suppress(OSError, ValueError):
            rules.add_rule(refuse, "open", seccomp.Arg(1, seccomp.MASKED_EQ, flag, flag))
    for name in _MEMORY:  # all code there will be is loaded by now
        rules.add_rule(refuse, name, seccomp.Arg(2, seccomp.MASKED_EQ, mmap.PROT_EXEC, mmap.PROT_EXEC))
    # Threads, but no processes. The arguments of clone3 cannot be seen; the C library falls back to clone.
    rules.add_rule(refuse, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, CLONE_THREAD, 0))
    rules.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")
    rules.add_rule(refuse, "tgkill", seccomp.Arg(0, seccomp.NE, os.getpid()))
    try:
        rules.load()
    except OSError as error:
        return f"no system call filter: the kernel refused it ({error.strerror})"
    return None
