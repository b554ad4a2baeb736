"""How a race is found: threads stop between the bytecodes of a few files, at random, so that others run in between.

`KAFKAFS_RACE=view/streams.py pytest FILES...` names files of `kafkafs`, with commas. A missing lock that shows once in
a million runs then shows within some runs, if a test has several threads there and compares their answers.
`KAFKAFS_SEED=N` draws other stops. Only threads that a test starts stop: the main thread, compiled kernels and a
mount's daemon run as always.
"""

import os
import random
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

RACE, SEED = "KAFKAFS_RACE", "KAFKAFS_SEED"
PACKAGE = Path(__file__).parents[1] / "kafkafs"

_CHANCE = 0.01
_STOPS_S = (0, 1e-5, 1e-3)


def pytest_configure() -> None:
    names = os.environ.get(RACE, "")
    files = frozenset(str((PACKAGE / name).resolve()) for name in names.split(",") if name)
    missing = sorted(file for file in files if not os.path.isfile(file))
    if missing:
        raise pytest.UsageError(f"{RACE}: there is no {missing[0]}; write view/streams.py or the like")
    if files:
        threading.settrace(_stopping_in(files, random.Random(_seed())))


def pytest_report_header() -> str | None:
    names = os.environ.get(RACE)
    return f"race: threads stop in {names} by {SEED}={_seed()}" if names else None


def _seed() -> str:
    return os.environ.get(SEED, "0")


def _stopping_in(files: frozenset[str], chance: random.Random) -> Any:
    def step(_frame: FrameType, event: str, _argument: object) -> Any:
        if event == "opcode" and chance.random() < _CHANCE:
            time.sleep(chance.choice(_STOPS_S))
        return step

    def call(frame: FrameType, _event: str, _argument: object) -> Any:
        if frame.f_code.co_filename not in files:
            return None
        frame.f_trace_opcodes = True
        return step

    return call
