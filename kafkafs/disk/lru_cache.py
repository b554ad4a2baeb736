"""A cache that forgets: what is still held is found, and of the rest only what was asked for last."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

KEPT = 512

Value = TypeVar("Value")


class LruCache(Generic[Value]):
    """Things by name, made when they are first asked for. At most `KEPT` are kept that nothing else holds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: WeakValueDictionary[str, Value] = WeakValueDictionary()
        self._last: OrderedDict[str, Value] = OrderedDict()

    def get(self, name: str, make: Callable[[], Value], fits: Callable[[Value], bool] = lambda _: True) -> Value:
        """The value of that name; a new one where there is none that fits."""
        with self._lock:
            value = self._held.get(name)
            if value is None or not fits(value):
                value = self._held[name] = make()
            self._last[name] = value
            self._last.move_to_end(name)
            if len(self._last) > KEPT:
                self._last.popitem(last=False)
            return value

    def keep_only(self, wanted: Callable[[str], bool]) -> None:
        """Forget the names that are not wanted any more."""
        with self._lock:
            for name in [name for name in self._held if not wanted(name)]:
                self._held.pop(name, None)
                self._last.pop(name, None)
