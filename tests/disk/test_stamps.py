"""Stamps of folders: the first one counts, in every process that was forked."""

import os
import random

from kafkafs.disk.stamps import Stamps


def test_the_first_stamp_counts_until_it_is_forgotten():
    """Differential: a dictionary is the model."""
    chance, found, model = random.Random(3), Stamps(), dict[str, int]()
    for _ in range(4000):
        folder, stamp = f"t-{chance.randrange(300)}", chance.randrange(3)
        assert found.get(folder) == model.get(folder)
        if chance.random() < 0.2:
            found.forget(folder)
            model.pop(folder, None)
        else:
            assert found.settle(folder, stamp) == (model.setdefault(folder, stamp) == stamp)


def test_forked_processes_know_each_others_stamps():
    found = Stamps()
    found.settle("before", 1)
    if not (child := os.fork()):
        os._exit(not (found.get("before") == 1 and found.settle("in the child", 0xFFFFFFFF)))
    assert os.waitpid(child, 0)[1] == 0
    assert found.get("in the child") == 0xFFFFFFFF
    assert not found.settle("in the child", 2)
    found.forget("in the child")
    assert found.settle("in the child", 2)


def test_more_folders_than_the_table_holds_are_known_to_this_process():
    found = Stamps(near=1)
    names = [f"topic-{number}" for number in range(5000)]
    for number, name in enumerate(names):
        assert found.settle(name, number)
    assert [found.get(name) for name in names] == list(range(5000))
