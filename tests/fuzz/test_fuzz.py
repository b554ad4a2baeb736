"""Every parser under a fuzzer that follows the code's branches: some inputs each, or `scripts/soak fuzz SECONDS`."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fuzz.seeds import SEEDS
from tests.fuzz.targets import TARGETS

pytest.importorskip("atheris")
SECONDS = int(os.environ.get("KAFKAFS_FUZZ_SECONDS", "0"))
FEWEST_RUNS = {  # inputs of a short run, or of a second on a busy machine, where not 300: of many files, or compiled
    "partition": 10, "cluster": 10, "schema_texts": 3, "avro_payloads": 30, "protobuf_payloads": 5,
    "json_payloads": 100,
}  # fmt: skip
SEED = os.environ.get("KAFKAFS_SEED", "0")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def fuzzer() -> Iterator[Callable[..., int]]:
    """`fuzzer(log, target, libFuzzer's options...)` is a run's exit code."""
    command = [sys.executable, "-m", "tests.fuzz.fuzzer"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, start_new_session=True
    )
    assert process.stdin
    assert process.stdout
    questions, answers = process.stdin, process.stdout

    def run(log: Path, *words: str) -> int:
        questions.write(json.dumps([str(log), *words]) + "\n")
        return int(answers.readline())

    yield run
    os.killpg(process.pid, signal.SIGKILL)  # a run that did not end as well
    process.communicate()


@pytest.mark.timeout(SECONDS + 900)
@pytest.mark.parametrize("target", TARGETS)
def test_no_input_escapes(fuzzer, target, tmp_path):
    corpus, log = tmp_path / "corpus", tmp_path / "log"
    corpus.mkdir()
    for number, seed in enumerate(SEEDS[target]):
        (corpus / str(number)).write_bytes(seed)
    of_seeds = len(SEEDS[target]) + 1  # libFuzzer begins with those, and with nothing: they alone prove nothing
    fewest = of_seeds + FEWEST_RUNS.get(target, 300) * max(1, SECONDS)
    length = f"-max_total_time={SECONDS}" if SECONDS else f"-runs={fewest}"
    code = fuzzer(
        log, target, str(corpus), length, "-max_len=4096", "-keep_seed=1",
        "-rss_limit_mb=2048", "-timeout=10", f"-artifact_prefix={tmp_path}/", f"-seed={SEED}", "-print_final_stats=1",
    )  # fmt: skip
    said = log.read_text(errors="replace")
    assert code == 0, said[-4000:] + "".join(
        f"\n{path.name}: {path.read_bytes().hex()}" for path in tmp_path.glob("*-*") if path.is_file()
    )
    runs = re.search(r"number_of_executed_units: (\d+)", said)
    assert runs
    print(f"\n{target}: {runs[1]} runs")
    assert int(runs[1]) >= fewest
