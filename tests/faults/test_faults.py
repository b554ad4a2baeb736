"""Every Nth system call of a kind fails: readers get the right bytes or an error, and the next call is right again.

`scripts/soak faults COUNT` injects as many as one wants; KAFKAFS_SEED replays a run's choices.
"""

import functools
import os
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from kafkafs.sample import unpack
from tests.faults.injecting import KINDS, MADE_ALL_THE_TIME, UNREAD, injecting
from tests.faults.questions import Questions
from tests.mounting import wait_until

FAULTS = int(os.environ.get("KAFKAFS_FAULTS", "250"))
SEED = int(os.environ.get("KAFKAFS_SEED", "0")) or random.randrange(1, 1 << 30)
ASKED = 40


@pytest.mark.timeout(900 + FAULTS / 10)
def test_any_system_call_may_fail(mount, tmp_path):
    data = unpack(tmp_path)
    mounted = mount(data, guard_s=600 + FAULTS / 10)
    pid = mounted.status()["pid"]
    questions = Questions(mounted.path)
    chance = random.Random(SEED)
    injected: Counter[str] = Counter()
    answers: Counter[str] = Counter()
    attached = 0
    kinds = list(KINDS)
    while not _enough(injected):
        chance.shuffle(kinds)
        for calls, outcome in kinds:
            if _enough(injected):
                break
            _rewrite(data)
            is_unread = (calls, outcome) == UNREAD
            with injecting(pid, calls, outcome, chance.randint(1, 4), chance.randint(2, 4)) as injection:
                names = questions.checked if is_unread else questions.names
                for name in chance.choices(names, k=ASKED):
                    try:
                        answers[_named(questions.ask(name))] += 1
                    except AssertionError as error:
                        raise AssertionError(f"seed {SEED}, {injection.what}: {error}") from error
            injected[calls] += injection.count
            attached += 1
            if is_unread:  # what was never read may be remembered until the file is seen to be another one
                _rewrite(data)
                wait_until(questions.are_all_as_before)
            for name in (*chance.sample(questions.names, 3), chance.choice(questions.explanations)):
                if name in questions.explanations:  # they tell of indexes too, not seen anew while looks failed
                    wait_until(functools.partial(questions.is_as_before, name))
                assert questions.is_as_before(name), f"seed {SEED}, after {injection.what}: {name}"
    print(f"\nseed {SEED}: {injected.total()} faults in {attached} kinds: {dict(injected)}, answers {dict(answers)},"
          f" slowest {questions.slowest:.2f} s")  # fmt: skip
    assert answers["right"]
    assert "bug in" not in mounted.log


def _enough(injected: Counter[str]) -> bool:
    return injected.total() >= FAULTS and all(injected[calls] for calls in MADE_ALL_THE_TIME)


def _rewrite(data: Path) -> None:
    """Each file is another one of the same content, so that directories are listed and files opened."""
    for path in data.glob("*/*"):
        shutil.copy2(path, path.with_name("copy"))
        path.with_name("copy").replace(path)


def _named(number: int) -> str:
    return "right" if number == 0 else os.strerror(number)
