"""The shape of every handler: a value or an errno, whatever happens inside, and each answer counted."""

import errno

import pyfuse3
import pytest
import trio

from kafkafs.errors import ERRNO, CorruptData, NotFound
from kafkafs.fuse.serve.answering import answering
from kafkafs.fuse.serve.metrics import Metrics


class Served:
    """Something with handlers, of which each raises what it is given."""

    def __init__(self) -> None:
        self.metrics = Metrics()

    @answering
    async def lookup(self, outcome: object) -> object:
        """Looks something up."""
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    @answering
    async def _read(self) -> None:
        await trio.sleep_forever()


def number_of(outcome: BaseException, served: Served | None = None) -> int:
    with pytest.raises(pyfuse3.FUSEError) as caught:
        trio.run((served or Served()).lookup, outcome)
    return int(caught.value.errno)


def test_a_value_is_handed_on_and_measured_under_the_handlers_name():
    served = Served()
    assert trio.run(served.lookup, "found") == "found"
    assert (served.metrics.latency["lookup"].count, served.metrics.errors) == (1, {})
    assert served.lookup.__doc__ == "Looks something up."


@pytest.mark.parametrize("kind", ERRNO)
def test_an_error_of_the_family_is_its_errno(kind):
    """pyfuse3 ends the mount over any exception but its own."""
    served = Served()
    assert number_of(kind("why"), served) == ERRNO[kind]
    assert served.metrics.errors == {("lookup", ERRNO[kind]): 1}
    assert served.metrics.latency["lookup"].count == 1


@pytest.mark.parametrize(
    ("outcome", "number"),
    [
        (pyfuse3.FUSEError(errno.EBADF), errno.EBADF),
        (MemoryError(), errno.ENOMEM),
        (ZeroDivisionError("bug"), errno.EIO),
        (KeyError("bug"), errno.EIO),
        (OSError(errno.ENOSPC, "bug"), errno.EIO),
    ],
)
def test_whatever_else_escapes_is_an_errno_too(outcome, number):
    """A bug costs one answer, not the mount."""
    assert number_of(outcome) == number


def test_what_is_wrong_with_the_data_or_with_us_is_in_the_log_and_what_is_usual_is_not(caplog):
    """`find` asks for a thousand names that are not there: a line for each would bury the one that counts."""
    number_of(NotFound("a name"))
    assert caplog.messages == []
    number_of(CorruptData("at position 7"))
    number_of(ZeroDivisionError("nonsense"))
    assert caplog.messages == ["lookup: at position 7", "bug in lookup: ZeroDivisionError('nonsense')"]
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR"]
    assert caplog.records[1].exc_info is not None


def test_a_handler_that_is_cancelled_answers_all_the_same():
    """The mount is ending; a request without an answer would keep its process waiting for ever."""
    served = Served()

    async def ended() -> None:
        with trio.CancelScope() as scope:
            scope.cancel()
            await served._read()

    with pytest.raises(pyfuse3.FUSEError) as caught:
        trio.run(ended)
    assert caught.value.errno == errno.EIO
    assert served.metrics.errors == {("read", errno.EIO): 1}
