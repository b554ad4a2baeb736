"""Python's search for reference cycles, off for a while."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection(*, objects_stay: bool = False) -> Iterator[None]:
    """Start no search for cycles inside of this context, and afterwards search again if it was on before.

    `objects_stay`: what was made meanwhile lives as long as the process, and later searches pass over it.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if objects_stay:
            gc.freeze()
        if was_enabled:
            gc.enable()
