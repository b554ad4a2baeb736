"""The one table from errors to errno. It is total: a test walks the family, so a new error needs a decision."""

import errno

from kafkafs import errors

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
