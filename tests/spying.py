"""The calls that the product makes of its own functions: for promises such as "is read once"."""

from collections.abc import Callable
from typing import Any

import pytest

Calls = Callable[[object, str], list[tuple[Any, ...]]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """`calls(owner, "name")` is a list that gets the arguments of each call of that function. The call goes through."""

    def recorded(owner: object, name: str) -> list[tuple[Any, ...]]:
        function, seen = getattr(owner, name), list[tuple[Any, ...]]()

        def call(*arguments: Any, **options: Any) -> Any:
            seen.append(arguments)
            return function(*arguments, **options)

        monkeypatch.setattr(owner, name, call)
        return seen

    return recorded
