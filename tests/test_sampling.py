"""The suite's sample of a test's cases lacks no value of any parameter."""

from itertools import product

import pytest

from tests.kafka.cache import EVERY
from tests.sampling import covering, pytest_collection_modifyitems


@pytest.mark.parametrize("sizes", [(1,), (7,), (4, 2), (4, 5, 3), (2, 2, 2, 2)])
def test_each_value_of_each_parameter_is_there_and_few_cases_are(sizes):
    names = "abcd"[: len(sizes)]
    cases: list[dict[str, object]] = [dict(zip(names, values, strict=True)) for values in product(*map(range, sizes))]
    taken = [cases[number] for number in covering(cases)]
    for name, size in zip(names, sizes, strict=True):
        assert {case[name] for case in taken} == set(range(size))
    assert len(taken) == max(sizes)


@pytest.mark.sampled
@pytest.mark.parametrize("one", ["a", "b", "c"])
@pytest.mark.parametrize("other", ["d", "e"])
def test_a_marked_test_is_sampled_unless_all_is_asked_for(request, monkeypatch, one, other):
    """Those that run of this one are its sample, and of them a second look leaves out none."""
    function = request.node.nodeid.partition("[")[0]
    mine = [item for item in request.session.items if item.nodeid.startswith(function)]
    params = [item.callspec.params for item in mine]
    assert {each["one"] for each in params} == {"a", "b", "c"}
    assert {each["other"] for each in params} == {"d", "e"}
    monkeypatch.setenv(EVERY, "1")
    kept = list(mine)
    pytest_collection_modifyitems(request.config, kept)
    assert kept == mine
    assert {"one": one, "other": other} in params
