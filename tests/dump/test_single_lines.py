"""The lines as Python makes them, which must be those that the kernels make."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafkafs.dump.dump_options import DumpOptions
from kafkafs.dump.kafka_decoders import Decoder, as_double, as_long
from tests.dump.dumped import dumped
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.kafka.dataset import Dataset

KERNELS = DumpOptions(print_data_log=True)


def in_python(options: DumpOptions) -> DumpOptions:
    """The same text; but decoders that no kernel knows go without kernels."""
    key, value = options.decode_key, options.decode_value
    return replace(options, decode_key=lambda data: key(data), decode_value=lambda data: value(data))


@pytest.mark.parametrize("skip", [False, True])
def test_both_ways_to_a_line_agree(stopped: Dataset, skip: bool) -> None:
    """A damaged batch goes the slow way, its neighbours the fast one; nobody should see where that begins."""
    compared = 0
    options = replace(KERNELS, skip_record_metadata=skip)
    for file in sorted(stopped.path.glob("*/*.log")):
        name = f"{file.parent.name}/{file.name}"
        if 0 < file.stat().st_size < 40_000:
            fast, slow = dumped(stopped.path, name, options), dumped(stopped.path, name, in_python(options))
            assert (fast.text, fast.report, fast.problems) == (slow.text, slow.report, slow.problems), name
            compared += 1
    assert compared > 50


def test_a_value_that_is_no_number_is_reported_in_its_place(stopped: Dataset, tmp_path: Path) -> None:
    """Kafka's tool ends there; the next record may be one."""
    text = dumped(stopped.path, "nulls-0/00000000000000000000.log", replace(KERNELS, decode_value=as_long)).text
    assert " payload: <0 bytes are too few for a long>\n" in text
    assert text.count("\n") == stopped.dumps("print")["nulls-0/00000000000000000000.log"].count("\n")


@pytest.mark.parametrize("decode", [as_long, as_double])
@pytest.mark.parametrize("part", ["key", "value"])
def test_the_first_record_that_is_no_number_is_a_problem(tmp_path: Path, decode: Decoder, part: str) -> None:
    """Kafka's tool ends there with an exception; in a log all may be alike, so one is told."""
    records = [Record(0, 0, 0, None, None), Record(1, 0, 1, b"1", b"2"), Record(2, 0, 2, b"3", b"4")]
    (tmp_path / "0.log").write_bytes(v2_batch(records))
    options = replace(KERNELS, decode_key=decode) if part == "key" else replace(KERNELS, decode_value=decode)
    answer = dumped(tmp_path, "0.log", options)
    assert [problem.partition(": ")[2].partition(":")[0] for problem in answer.problems] == [
        "the record of offset 1 cannot be decoded"
    ], answer
