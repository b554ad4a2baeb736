"""The two loops that try again if the broker deletes or replaces files under a reader (Vanished).

`ask_again` repeats a question as a whole. `resume` goes on behind the last item that it handed out. Both give up after
`ATTEMPTS` attempts in a row without a result, and raise the last error. If one loop is inside another, each counts its
own attempts.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

from kafkafs.errors import Vanished

ATTEMPTS = 5

Answer = TypeVar("Answer")
Item = TypeVar("Item")


def ask_again(question: Callable[[], Answer], look_again: Callable[[], object]) -> Answer:
    """Return the answer. `look_again` is called before each attempt but the first."""
    for attempt in range(1, ATTEMPTS):
        try:
            if attempt > 1:
                look_again()
            return question()
        except Vanished:
            continue
    look_again()
    return question()


def resume(
    read_from: Callable[[int], Iterator[tuple[int, Item | None]]], start: int, look_again: Callable[[], object]
) -> Iterator[Item]:
    """Yield the items of `read_from`, which reads from an offset on.

    Each item comes with the next offset to read. An item of None says only that the reader got so far.
    """
    position, attempts = start, 0
    while True:
        try:
            for behind, item in read_from(position):
                if item is not None:
                    yield item
                del item  # and with it the memory of a large batch, before the next one is unpacked
                if behind > position:
                    position, attempts = behind, 0
            return
        except Vanished:
            attempts += 1
            if attempts == ATTEMPTS:
                raise
            look_again()
