"""Which cases of a test with many the suite runs: each value of each parameter at least once, not all combinations.

That holds for tests over the data of real brokers, and for those marked `sampled`. The choice is the same in each run.
`scripts/soak every TIMES` (KAFKAFS_EVERY=1) runs all cases, and so does who names one (`pytest FILE::TEST[CASE]`).
"""

import os
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

import pytest

from tests.kafka.cache import EVERY
from tests.kafka.dataset import Dataset

SAMPLED = "sampled"
DATA_FIXTURES = frozenset({"dataset", "stopped", "live"})


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{SAMPLED}: of its cases the suite runs some, {EVERY}=1 all")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what the suite does not run."""
    if EVERY in os.environ or any("[" in argument for argument in config.args):
        return
    left_out = set[pytest.Item]()
    for _, group in groupby(sorted(items, key=_function), key=_function):
        cases = list(group)
        if len(cases) > 1 and _is_sampled(cases[0]):
            taken = covering([_values(case) for case in cases])
            left_out.update(case for number, case in enumerate(cases) if number not in taken)
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def covering(cases: Sequence[dict[str, object]]) -> set[int]:
    """The numbers of few cases that together have each value of each parameter; those that are rare first."""
    missing = {pair for case in cases for pair in case.items()}
    used = Counter[tuple[str, object]]()
    taken = set[int]()
    while missing:
        number = max(
            range(len(cases)),
            key=lambda at: (len(missing & cases[at].items()), -sum(used[pair] for pair in cases[at].items()), -at),
        )
        taken.add(number)
        missing -= cases[number].items()
        used.update(cases[number].items())
    return taken


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _is_sampled(item: pytest.Item) -> bool:
    fixtures = getattr(item, "fixturenames", ())
    return item.get_closest_marker(SAMPLED) is not None or not DATA_FIXTURES.isdisjoint(fixtures)


def _values(item: pytest.Item) -> dict[str, object]:
    """Of each parameter, which of its values this case has; a data set is a release in a state, and so two values."""
    params: dict[str, object] = getattr(getattr(item, "callspec", None), "params", {})
    values: dict[str, object] = {name: id(value) for name, value in params.items()}
    if isinstance(data := params.get("dataset"), Dataset):
        values |= {"dataset": data.release, "dataset's state": data.state}
    return values
