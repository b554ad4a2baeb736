"""What producers write is what readers are held against, so it must be as they say."""

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.kafka import broker
from tests.live.checks import Checks
from tests.live.churn import BUSY, Churn
from tests.mounting import PATIENCE_S

GENERATIONS = 4


@contextmanager
def slow_to_apply_metadata(pid: int) -> Iterator[None]:
    """A broker that learns of topics, and a good while later does what that demands: as under load."""
    [loader] = [task.name for task in Path(f"/proc/{pid}/task").iterdir() if _name(task).endswith("-metadat")]
    command = ["strace", "-qq", "-o", "/dev/null", "-p", loader, "-e", "trace=write,futex"]
    tracer = subprocess.Popen([*command, "-e", "inject=write,futex:delay_enter=100000"])
    try:
        yield
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.wait(PATIENCE_S)


def _name(task: Path) -> str:
    return (task / "comm").read_text().strip()


@pytest.mark.slow
def test_no_log_holds_two_generations_of_a_topic(tmp_path):
    """A broker that is slow takes what is sent to the new topic for the old one's, and acknowledges it."""
    with broker.running("4.3.1", tmp_path, BUSY) as node, slow_to_apply_metadata(node.pid):
        churn = Churn(node, 7)
        churn.start("phoenix")
        checks = Checks(churn, tmp_path, tmp_path, 1)
        mixed: dict[str, list[int]] = {}
        deadline = time.monotonic() + 150
        while churn.generation < GENERATIONS and time.monotonic() < deadline:
            mixed |= {name: found for name, found in checks.phoenix_files().items() if len(found) > 1}
            time.sleep(0.01)
        churn.stop()
    assert churn.generation >= GENERATIONS
    assert mixed == {}
