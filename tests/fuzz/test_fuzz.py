"""Every parser under a fuzzer that follows the code's branches; longer: `scripts/soak fuzz SECONDS`."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.seeds import SEEDS
from tests.fuzz.targets import TARGETS

pytest.importorskip("atheris")
SECONDS = int(os.environ.get("KAFKAFS_FUZZ_SECONDS", "1"))
FEWEST_RUNS = {  # inputs a second on a busy machine, where not 300: these have many files, or compile
    "partition": 10, "cluster": 10, "schema_texts": 3, "avro_payloads": 30, "protobuf_payloads": 5,
    "json_payloads": 100,
}  # fmt: skip
SEED = os.environ.get("KAFKAFS_SEED", "0")
ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(SECONDS + 120)
@pytest.mark.parametrize("target", TARGETS)
def test_no_input_escapes(target, tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(SEEDS[target]):
        (corpus / str(number)).write_bytes(seed)
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.fuzzer", target, corpus, f"-max_total_time={SECONDS}", "-max_len=4096",
         "-keep_seed=1", "-rss_limit_mb=2048", "-timeout=10",
         f"-artifact_prefix={tmp_path}/", f"-seed={SEED}", "-print_final_stats=1"],
        cwd=ROOT, capture_output=True, text=True, timeout=SECONDS + 100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:] + "".join(
        f"\n{path.name}: {path.read_bytes().hex()}" for path in tmp_path.glob("*-*") if path.is_file()
    )
    runs = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    assert runs
    print(f"\n{target}: {runs[1]} runs")
    of_seeds = len(SEEDS[target]) + 1  # libFuzzer begins with those, and with nothing: they alone prove nothing
    assert int(runs[1]) >= of_seeds + FEWEST_RUNS.get(target, 300) * SECONDS
