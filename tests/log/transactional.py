"""Transactions made by hand: batches of one record, and the markers that end them."""

import struct

from tests.format.batch_maker import v2_around
from tests.log.making import Made

TRANSACTIONAL, CONTROL = 0x10, 0x30


def data(base: int, producer: int) -> Made:
    """A transactional batch of one record."""
    record = bytes([0x0E, 0, 0, 0, 0x01, 0x02, 0x78, 0])  # null key, value "x"
    header = (TRANSACTIONAL, 0, 5, 5, producer, 0, 0, 1)
    return Made(v2_around(record, 1, base, header=header), ())


def marker(base: int, producer: int, commit: bool) -> Made:
    """The end of a transaction."""
    record = bytes([0x20, 0, 0, 0, 0x08]) + struct.pack(">hh", 0, commit) + b"\x0c" + struct.pack(">hi", 0, 0) + b"\0"
    return Made(v2_around(record, 1, base, header=(CONTROL, 0, 5, 5, producer, 0, -1, 1)), ())
