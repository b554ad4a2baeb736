"""`python -m tests.fuzz.fuzzer TARGET [libFuzzer's options]`: a target of `targets` under atheris."""

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
    name = sys.argv.pop(1)
    target = TARGETS[name]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    def one(data: bytes) -> None:
        with suppress(KafkafsError):
            target(data)

    for seed in SEEDS[name]:
        one(seed)
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
