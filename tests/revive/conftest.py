"""Data for several test files."""

import pytest

from tests.revive.scans import SOURCE


@pytest.fixture
def segments(tmp_path):
    """A partition of several segments, to be damaged."""
    SOURCE.copy_to(tmp_path / "data", "segments-0", "transactions-0")
    return tmp_path / "data"
