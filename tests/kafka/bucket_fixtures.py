"""A copy of the sample in a bucket, for all tests that read one: `data`, and its `store`. `bucket_keys` opens it.

    pytestmark = pytest.mark.usefixtures("bucket_keys")

No test writes into either: a test that changes a copy makes its own.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.kafka.buckets import KEYS, Store, bucket_of


@pytest.fixture
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Have this process begin anew, as each command of a user does: nothing is cached, and no failure is known."""
    from kafkafs.disk import store_session
    from kafkafs.tables.locations import open_directories

    def forget() -> None:
        """Once more."""
        open_directories.close()
        monkeypatch.setattr(store_session, "current", store_session.StoreSession(store_session.current.limits))

    return forget


@pytest.fixture
def store_limits(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Have this process ask stores within other limits than usual: fields of `StoreLimits`, further ones each time."""
    from kafkafs.disk import store_session

    def limit(**limits: Any) -> None:
        known = replace(store_session.current.limits, **limits)
        monkeypatch.setattr(store_session, "current", store_session.StoreSession(known))

    return limit


@pytest.fixture
def hasty(store_limits: Callable[..., None]) -> None:
    """Have this process, and the mounts that it starts, ask a store once: for tests of one that fails for good."""
    store_limits(waits_s=(), attempts=1)


@pytest.fixture
def bucket_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a user who may read the store, and nothing else of AWS or of a proxy in it."""
    from kafkafs.disk import store_session

    for name in [name for name in os.environ if name.startswith("AWS_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    limits = store_session.current.limits  # another fixture may have set them before
    monkeypatch.setattr(store_session, "current", store_session.StoreSession(limits))


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample, in a directory of its own."""
    from kafkafs.sample import unpack

    return unpack(tmp_path_factory.mktemp("bucket"))


@pytest.fixture(scope="session")
def store(data: Path) -> Iterator[Store]:
    """The store of the sample."""
    with bucket_of(data.parent) as found:
        yield found
