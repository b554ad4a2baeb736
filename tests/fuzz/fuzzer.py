"""`python -m tests.fuzz.fuzzer`: targets of `targets` under atheris, each run in a process of its own.

A line of standard input is one run, a JSON list: the file for what it says, a target, libFuzzer's options. The answer
is its exit code. Runs are forked off here, since to import and instrument kafkafs takes longer than a short one.
"""

import json
import os
import resource
import sys
from contextlib import suppress

import atheris

with atheris.instrument_imports(include=["kafkafs"]):
    from kafkafs.errors import KafkafsError
    from tests.fuzz.seeds import SEEDS
    from tests.fuzz.targets import TARGETS

MEMORY = 4 << 30


def main() -> None:
    for line in sys.stdin:
        log, name, *options = json.loads(line)
        child = os.fork()
        if child == 0:
            _fuzz(log, name, options)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _fuzz(log: str, name: str, options: list[str]) -> None:
    """Ends the process, however it goes."""
    said = os.open(log, os.O_WRONLY | os.O_CREAT)
    os.dup2(said, 1)
    os.dup2(said, 2)
    target = TARGETS[name]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    def one(data: bytes) -> None:
        with suppress(KafkafsError):
            target(data)

    for seed in SEEDS[name]:
        one(seed)
    atheris.Setup([sys.argv[0], *options], one)
    atheris.Fuzz()  # it exits


if __name__ == "__main__":
    main()
