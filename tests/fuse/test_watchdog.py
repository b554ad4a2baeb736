"""A trio thread that no longer comes round ends the process, whose supervisor then unmounts; a slow one does not."""

import logging
import threading

import trio

from kafkafs.fuse.life.watchdog import EXIT_HUNG, Watchdog


def test_a_blocked_thread_is_reported_and_then_the_process_ended(caplog):
    ended: list[int] = []
    over = threading.Event()

    def end(code: int) -> None:
        ended.append(code)
        over.set()

    async def main():
        watchdog = Watchdog(end, beat_s=0.005)
        assert over.wait(300)  # the trio thread, blocked
        watchdog.stop()

    with caplog.at_level(logging.WARNING):
        trio.run(main)
    assert ended == [EXIT_HUNG]
    assert any("test_watchdog.py" in message and "wait" in message for message in caplog.messages)


def test_a_thread_that_comes_round_is_left_alone():
    ended: list[int] = []

    async def main():
        watchdog = Watchdog(ended.append, beat_s=0.03)
        for _ in range(80):
            watchdog.beat()
            await trio.sleep(0.025)
        watchdog.stop()

    trio.run(main)
    assert ended == []
