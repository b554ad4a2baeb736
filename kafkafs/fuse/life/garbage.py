"""How the daemon looks for garbage: often, and at little each time, since everybody waits meanwhile.

Nearly all it makes goes without being looked for. What stays are the names that the kernel knows, a quarter of a
million objects: to look at all of them takes 200 ms of processor time, and a second where others want it as well
(measured: a follower woke after 1.8 s, once in an hour). So what has outlived a look at everything is not looked at
again.
"""

import gc
from typing import Any

_STEPS = (2_000, 10, 3)
"""New objects between two looks at them, and how many such looks between two that go back further."""


def look_in_small_steps() -> None:
    """From now on, and what stands now stays."""
    gc.freeze()
    gc.set_threshold(*_STEPS)
    gc.callbacks.append(_keep_the_old)


def _keep_the_old(phase: str, about: dict[str, Any]) -> None:
    if phase == "stop" and about["generation"] == len(_STEPS) - 1:
        gc.freeze()
