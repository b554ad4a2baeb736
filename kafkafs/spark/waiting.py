"""Waiting for Java so that Ctrl-C is heard at once: the call is made in a thread of its own, the main thread waits.

A signal's handler runs in the main thread between two steps of Python, and while that waits for an answer of Java's it
takes none.
"""

import threading
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")
LOOK_S = 0.1


def nothing() -> None:
    """For what is waited for without a word."""


def awaited(call: Callable[[], Answer], meanwhile: Callable[[], None] = nothing) -> Answer:
    """What the call answers or raises; `meanwhile` is called some times a second until then."""
    answers: list[Answer] = []
    failures: list[BaseException] = []

    def answer() -> None:
        """Makes the call, in its thread, and keeps what came of it."""
        try:
            answers.append(call())
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=answer, name="kafkafs-spark", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(LOOK_S)
        meanwhile()
    if failures:
        raise failures[0]
    return answers[0]
