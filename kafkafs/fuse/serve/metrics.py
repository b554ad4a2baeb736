"""What the mount counts about itself: calls, errors and latencies by operation, bytes read. Shown under `.kafkafs/`."""

import errno
import json
import os
import resource
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress

BOUNDS_S = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Latency:
    """A histogram: `buckets[i]` counts calls of at most `BOUNDS_S[i]`, the last one all that took longer."""

    __slots__ = ("buckets", "seconds")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS_S) + 1)
        self.seconds = 0.0

    def observe(self, seconds: float) -> None:
        """Counts one call that took so long."""
        self.buckets[bisect_left(BOUNDS_S, seconds)] += 1
        self.seconds += seconds

    @property
    def count(self) -> int:
        """How many calls were counted."""
        return sum(self.buckets)


class Metrics:
    """Counters of one mount. `gauges` are functions that tell a number of now."""

    def __init__(self) -> None:
        self.started = time.time()
        self.latency: defaultdict[str, Latency] = defaultdict(Latency)  # by operation
        self.errors: Counter[tuple[str, int]] = Counter()
        self.bytes_read = 0
        self.gauges: dict[str, tuple[str, Callable[[], int]]] = {
            "open_descriptors": ("File descriptors of the daemon.", _descriptors),
            "resident_bytes": ("Memory of the daemon.", _resident_bytes),
        }

    def as_status(self, about: Mapping[str, object]) -> bytes:
        """`status.json`: `about` the mount, then the counters."""
        status = {
            **about,
            "uptimeSeconds": round(time.time() - self.started, 3),
            **{_camel(name): ask() for name, (_, ask) in self.gauges.items()},
            "bytesRead": self.bytes_read,
            "operations": {
                name: {"count": latency.count, "seconds": round(latency.seconds, 6)}
                for name, latency in sorted(self.latency.items())
            },
            "errors": [
                {"operation": name, "errno": _errno_name(number), "count": count}
                for (name, number), count in sorted(self.errors.items())
            ],
        }
        return json.dumps(status, indent=2).encode() + b"\n"

    def as_prometheus(self) -> bytes:
        """`metrics`: the text format that Prometheus reads, version 0.0.4."""
        lines = [
            "# HELP kafkafs_operation_seconds Time to answer the kernel, by operation.",
            "# TYPE kafkafs_operation_seconds histogram",
        ]
        for name, latency in sorted(self.latency.items()):
            total = 0
            for bound, count in zip((*BOUNDS_S, "+Inf"), latency.buckets, strict=True):
                total += count
                lines.append(f'kafkafs_operation_seconds_bucket{{operation="{name}",le="{bound}"}} {total}')
            lines.append(f'kafkafs_operation_seconds_sum{{operation="{name}"}} {latency.seconds:.6f}')
            lines.append(f'kafkafs_operation_seconds_count{{operation="{name}"}} {total}')
        lines += [
            "# HELP kafkafs_errors_total Operations answered with an error, by errno.",
            "# TYPE kafkafs_errors_total counter",
        ]
        for (name, number), count in sorted(self.errors.items()):
            lines.append(f'kafkafs_errors_total{{operation="{name}",errno="{_errno_name(number)}"}} {count}')
        lines += [
            "# HELP kafkafs_read_bytes_total Bytes handed to readers.",
            "# TYPE kafkafs_read_bytes_total counter",
            f"kafkafs_read_bytes_total {self.bytes_read}",
        ]
        for name, (meaning, ask) in self.gauges.items():
            lines += [f"# HELP kafkafs_{name} {meaning}", f"# TYPE kafkafs_{name} gauge", f"kafkafs_{name} {ask()}"]
        return "\n".join(lines).encode() + b"\n"


def _errno_name(number: int) -> str:
    return errno.errorcode.get(number, str(number))


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.title() for word in others)


def _descriptors() -> int:
    """By the directory's size, which tells since Linux 6.2, without a descriptor to open it with."""
    with suppress(OSError):
        return os.stat("/proc/self/fd").st_size or len(os.listdir("/proc/self/fd"))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _resident_bytes() -> int:
    with suppress(OSError, ValueError), open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()
    return 0
