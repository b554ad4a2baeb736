"""The memory that keys take together: the newest stay, and who is busy is not forgotten."""

from kafkafs.search.key_memory import KeyMemory


class Holder:
    """Holds nothing but remembers that it was asked to let go."""

    def __init__(self, busy: bool = False) -> None:
        self.busy, self.forgot = busy, 0

    def forget(self) -> bool:
        self.forgot += not self.busy
        return not self.busy


def test_those_who_asked_longest_ago_let_go_first():
    memory, holders = KeyMemory(100), [Holder() for _ in range(3)]
    assert all(memory.keep(holder, 40) for holder in holders[:2])
    assert memory.keep(holders[0], 40)
    assert memory.keep(holders[2], 40)
    assert [holder.forgot for holder in holders] == [0, 1, 0]


def test_there_is_no_room_for_what_is_larger_than_all():
    memory, small, large, busy = KeyMemory(100), Holder(), Holder(), Holder(busy=True)
    assert memory.keep(small, 10)
    assert not memory.keep(large, 101)
    assert small.forgot == 1
    assert memory.keep(large, 60)
    assert memory.keep(busy, 40)
    assert not memory.keep(large, 61)


def test_who_is_gone_holds_nothing():
    memory, gone, there = KeyMemory(100), Holder(), Holder()
    assert memory.keep(gone, 90)
    del gone
    assert memory.keep(there, 90)
