"""The one shape of every pyfuse3 handler: a call, then a reply or an errno.

Whatever but `FUSEError` escapes a handler ends the mount. So errors of the family go through one table, which is total:
a test walks the family, so a new error needs a decision. Anything else is a bug: it is logged and answered with EIO. A
cancelled handler (the mount is ending) answers EIO too, since a request without an answer would keep its process
waiting.
"""

import errno
import functools
import logging
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any, Protocol, TypeVar

import pyfuse3
import trio

from kafkafs import errors
from kafkafs.errors import KafkafsError
from kafkafs.fuse.serve.metrics import Metrics

ERRNO: dict[type[errors.KafkafsError], int] = {
    errors.UsageError: errno.EINVAL,
    errors.NotFound: errno.ENOENT,
    errors.NoData: errno.ENODATA,
    errors.CorruptData: errno.EIO,
    errors.NumberTooLong: errno.EIO,
    errors.DiskError: errno.EIO,
    errors.Unanswered: errno.EIO,
    errors.TooLarge: errno.EFBIG,
    errors.Denied: errno.EACCES,
    errors.Vanished: errno.ESTALE,
    errors.Exhausted: errno.EMFILE,
    errors.Crowded: errno.ENOMEM,
    errors.ReadOnly: errno.EROFS,
    errors.Unsupported: errno.EOPNOTSUPP,
    errors.WouldBlock: errno.EAGAIN,
    errors.Unfinished: errno.EINTR,
    errors.NameTooLong: errno.ENAMETOOLONG,
}


log = logging.getLogger(__name__)


class Measured(Protocol):
    """What has handlers."""

    metrics: Metrics


S = TypeVar("S", bound=Measured)
T = TypeVar("T")


def answering(handler: Callable[..., Awaitable[T]]) -> Callable[..., Any]:
    """Makes a handler that answers with its value or an errno, measured under its name."""
    name = handler.__name__.strip("_")

    @functools.wraps(handler)
    async def answer(self: Measured, *args: Any) -> T:
        """What the handler answers; whatever it raises becomes an errno, logged where somebody should know."""
        started = perf_counter()
        try:
            return await handler(self, *args)
        except pyfuse3.FUSEError as error:
            number = error.errno
        except KafkafsError as error:
            number = ERRNO[type(error)]
            if number == errno.EIO:
                log.warning("%s: %s", name, error)
        except MemoryError:
            number = errno.ENOMEM
            log.error("%s: out of memory", name)
        except trio.Cancelled:
            number = errno.EIO
        except Exception as error:
            number = errno.EIO
            log.error("bug in %s: %r", name, error, exc_info=error)
        finally:
            self.metrics.latency[name].observe(perf_counter() - started)
        self.metrics.errors[name, number] += 1
        raise pyfuse3.FUSEError(number)

    return answer
