"""Two threads look at all of it, each thing once, and what goes wrong in either is said by both."""

import threading

import pytest

from kafkafs.disk.in_parts import in_parts


def looking() -> list[threading.Thread]:
    """The threads that were started for a look; other tests may have left some of their own."""
    return [thread for thread in threading.enumerate() if thread.name == "look"]


@pytest.mark.parametrize("count", [0, 1, 256, 257, 5000])
def test_each_is_looked_at_once(count):
    seen: list[int] = []
    in_parts(count, lambda: seen.extend)
    assert sorted(seen) == list(range(count))


def test_two_threads_share_the_work_and_no_more():
    """Each with what its worker made: the first part of either waits until the other has begun one."""
    met, threads = threading.Barrier(2, timeout=60), []

    def worker():
        threads.append(threading.get_ident())
        first = iter([True])

        def look(part: range) -> None:
            if next(first, False):
                met.wait()

        return look

    in_parts(5000, worker)
    assert len(set(threads)) == len(threads) == 2
    assert threading.get_ident() in threads
    assert looking() == []


def test_one_look_at_a_time_has_a_second_thread(monkeypatch):
    """However many ask at once, a process has one thread more than it had."""
    started, start = [], threading.Thread.start

    def counted(thread: threading.Thread) -> None:
        started.append(thread.name)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", counted)

    def look(part: range) -> None:
        if part.start == 0:
            in_parts(5000, lambda: lambda inner: None)

    in_parts(5000, lambda: look)
    assert started == ["look"]
    in_parts(5000, lambda: look)
    assert started == ["look", "look"]


@pytest.mark.parametrize("bad", [0, 4999])
def test_an_error_in_either_thread_is_raised(bad):
    def look(part: range) -> None:
        if bad in part:
            raise ValueError(bad)

    for _ in range(20):
        with pytest.raises(ValueError, match=str(bad)):
            in_parts(5000, lambda: look)


def test_where_no_thread_starts_one_does_it_all(monkeypatch):
    """A limit on a service's tasks is no reason to answer nothing."""
    monkeypatch.setattr(threading.Thread, "start", refuse)
    seen: list[int] = []
    in_parts(5000, lambda: seen.extend)
    assert sorted(seen) == list(range(5000))


def refuse(*arguments):
    raise RuntimeError("can't start new thread")


def test_nobody_works_any_more_once_it_has_failed():
    """The caller closes then what the threads look at."""
    began, failed, behind = threading.Event(), threading.Event(), []
    own = threading.get_ident()

    def look(part: range) -> None:
        if threading.get_ident() == own:
            assert began.wait(60)
            failed.set()
            raise ValueError
        began.set()
        assert failed.wait(60)
        behind.append(part)

    with pytest.raises(ValueError):
        in_parts(100_000, lambda: look)
    assert behind
    assert looking() == []
