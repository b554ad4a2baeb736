"""What an iterator hands out, made by a thread of its own before it is asked for."""

import queue
import threading
from collections.abc import Iterator
from typing import TypeVar

T = TypeVar("T")

DEPTH = 2
"""Things that wait to be asked for; one more is being made meanwhile."""


def run_ahead(things: Iterator[T]) -> Iterator[T]:
    """The same things, and the same error in its place."""
    made: queue.Queue[tuple[T] | BaseException | None] = queue.Queue(DEPTH)
    left = threading.Event()

    def make() -> None:
        """The thread: puts each thing in a tuple, then None; an error in its place."""
        try:
            for thing in things:
                made.put((thing,))
                if left.is_set():
                    return
            made.put(None)
        except BaseException as error:
            made.put(error)

    threading.Thread(target=make, name="run-ahead", daemon=True).start()
    try:
        while (thing := made.get()) is not None:
            if isinstance(thing, BaseException):
                raise thing
            yield thing[0]
    finally:
        left.set()  # a thread that waits to hand something out ends with the process
