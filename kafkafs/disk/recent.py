"""A cache that forgets: what somebody still holds is found, and of the rest only what was asked for last."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

KEPT = 512

Thing = TypeVar("Thing")


class Recent(Generic[Thing]):
    """Things by name, made when they are first asked for. At most `KEPT` are kept that nobody else holds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: WeakValueDictionary[str, Thing] = WeakValueDictionary()
        self._last: OrderedDict[str, Thing] = OrderedDict()

    def get(self, name: str, make: Callable[[], Thing], fits: Callable[[Thing], bool] = lambda _: True) -> Thing:
        """The thing of that name; a new one where there is none that fits."""
        with self._lock:
            thing = self._held.get(name)
            if thing is None or not fits(thing):
                thing = self._held[name] = make()
            self._last[name] = thing
            self._last.move_to_end(name)
            if len(self._last) > KEPT:
                self._last.popitem(last=False)
            return thing

    def keep_only(self, wanted: Callable[[str], bool]) -> None:
        """Forget the names that are not wanted any more."""
        with self._lock:
            for name in [name for name in self._held if not wanted(name)]:
                self._held.pop(name, None)
                self._last.pop(name, None)
