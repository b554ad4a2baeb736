"""Damage of a remote log: fetched again at once, and again only for readers that come later."""

import pytest

from kafkafs.log import refetching
from kafkafs.log.refetching import AGAIN_S, Refetches


def test_a_piece_is_due_once_and_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(refetching, "monotonic", lambda: now[0])
    refetches = Refetches()
    assert [refetches.is_due(7), refetches.is_due(7), refetches.is_due(8)] == [True, False, True]
    now[0] += AGAIN_S - 0.1
    assert not refetches.is_due(7)
    now[0] += 0.2
    assert [refetches.is_due(7), refetches.is_due(7)] == [True, False]
