"""Times that are promised to users, as far as a test that shares its machine can hold them.

In the suite a test grants `SLACK` times what is promised: what it proves is that nobody waits for a time-out, for the
next record or for ever. `scripts/soak promises` holds the promises themselves, on a machine that does nothing else.
"""

import os

STRICTLY = "KAFKAFS_PROMISES"
SLACK = 1.0 if STRICTLY in os.environ else 10.0


def at_most(promised_s: float) -> float:
    """How long that may take here."""
    return promised_s * SLACK
