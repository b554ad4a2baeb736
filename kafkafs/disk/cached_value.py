"""A value that was true a moment ago: the one place that knows "known until, as of this stamp".

The words are those of HTTP's caches. A value is *fresh* for a moment after it was stored; then it is *revalidated*: it
counts again if it still has the same *validator*, something cheap to ask that changes whenever the value does, such as
an inode number with a time of change. No validator (None) is no proof.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from kafkafs.disk.blocking import ProcessLock, acquired

Value = TypeVar("Value")


class ValidatedValue(Generic[Value]):
    """One value, which is never None. A stored value is true as long as its validator is the same.

    Any thread may store, at once and without a lock: of two that do so together either was true a moment ago. An owner
    that would not have both of them look has a lock of its own.
    """

    __slots__ = ("_validator", "_value")

    def __init__(self) -> None:
        self._value: Value | None = None
        self._validator: object = None

    @property
    def latest(self) -> Value | None:
        """The last stored value, however old. None before the first."""
        return self._value

    def revalidated(self, validator: object) -> Value | None:
        """The value, if it was stored under this validator; else None."""
        return None if validator is None or validator != self._validator else self._value

    def store(self, value: Value, validator: object = None) -> Value:
        """Remembers what is true now, and hands it on."""
        self._value, self._validator = value, validator
        return value


class CachedValue(ValidatedValue[Value]):
    """A `ValidatedValue` that is fresh for a moment after it was stored, which takes no look at the validator."""

    __slots__ = ("_clock", "_good_for_s", "fresh_until")

    def __init__(self, good_for_s: float, clock: Callable[[], float]) -> None:
        """`good_for_s` is for how long a value counts as that of now."""
        super().__init__()
        self._good_for_s = good_for_s
        self._clock = clock
        self.fresh_until = 0.0

    def fresh(self) -> Value | None:
        """The value, as long as it counts as that of now; else None."""
        return self._value if self._clock() < self.fresh_until else None

    def revalidated(self, validator: object) -> Value | None:
        """The value, fresh again, if it was stored under this validator; else None."""
        value = super().revalidated(validator)
        if value is not None:
            self.fresh_until = self._clock() + self._good_for_s
        return value

    def store(self, value: Value, validator: object = None, *, fresh_until: float | None = None) -> Value:
        """Remembers what is true now, and hands it on. `fresh_until` is for what is only as good as something else."""
        super().store(value, validator)
        self.fresh_until = self._clock() + self._good_for_s if fresh_until is None else fresh_until
        return value

    def expire(self) -> None:
        """Make the value count as no longer fresh."""
        self.fresh_until = 0.0


def same_objects(one: Sequence[object], other: Sequence[object]) -> bool:
    """True if both hold the very same objects in the same order. A result of the one is then good for the other."""
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


class made_once(Generic[Value]):
    """A property whose value is made when it is first asked for, once, whichever thread that is. From then on it is a
    plain attribute. If making it fails, the next caller tries again. If another thread makes it, a thread that must not
    wait gets WouldBlock.

    `functools.cached_property` does not do for threads: in Python 3.11 all objects of a class share its lock, so that
    one tree waits for another; from 3.12 on it has none, and two threads that ask at once make two. No `__dict__` is
    asked for, as that makes all attributes of its owner slower for good.
    """

    def __init__(self, make: Callable[[Any], Value]) -> None:
        self._make = make
        self.__doc__ = make.__doc__
        self._lock = ProcessLock()  # shared by all owners; not held during a call of `make`

    def __set_name__(self, owner: type, name: str) -> None:
        self._name, self._once = name, f"_{name}_once"

    def __get__(self, owner: object, kind: type | None = None) -> Value:
        with self._lock:
            once: tuple[threading.Lock, list[Value]] | None = getattr(owner, self._once, None)
            if once is None:
                once = threading.Lock(), []
                setattr(owner, self._once, once)
        lock, made = once
        with acquired(lock):
            if not made:
                made.append(self._make(owner))
        setattr(owner, self._name, made[0])
        return made[0]


KEPT = 512


class LruCache(Generic[Value]):
    """Things by name, made when they are first asked for. Values that are still held elsewhere are found, and the last
    `KEPT` of the others that were asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: WeakValueDictionary[str, Value] = WeakValueDictionary()
        self._last: OrderedDict[str, Value] = OrderedDict()

    def get(self, name: str, make: Callable[[], Value], fits: Callable[[Value], bool] = lambda _: True) -> Value:
        """The value of that name; a new one if there is none that fits."""
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
        """Forgets the names that are not wanted any more."""
        with self._lock:
            for name in [name for name in self._held if not wanted(name)]:
                self._held.pop(name, None)
                self._last.pop(name, None)
