"""What may be wrong with a tier, in each layout: an error in a sentence at the offsets that it is about, as
"Input/output error", and everywhere else what was written. Nothing is made up, whatever lies."""

import functools
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from kafkafs.errors import ERRNO, KafkafsError
from kafkafs.log.read_options import TierSource
from kafkafs.view.node import Content, DirectoryNode, FileNode
from kafkafs.view.tree import Root
from tests.kafka import aiven
from tests.kafka.tiered import Tiered
from tests.nobody import as_nobody, takes_root
from tests.view.trees import cat, node, opened, tree

TIERED = Tiered()
LAYOUTS = ("local", "aiven", "aiven zstd", "aiven encrypted")
EIO = 5
Harm = Callable[[Path], object]


@pytest.fixture(scope="module")
def copied(tmp_path_factory) -> Callable[[Path, str], Path]:
    """Puts a tier of a layout there, which may be harmed, and beside it keys."""
    right, wrong = aiven.key_pair("k1"), aiven.key_pair("k1")

    @functools.cache
    def made(layout: str) -> Path:
        if layout == "local":
            return TIERED.tier
        key = right if "encrypted" in layout else None
        return aiven.write(TIERED.tier, tmp_path_factory.mktemp("made"), compress="zstd" in layout, key=key)

    def copied(place: Path, layout: str) -> Path:
        for name, pair in (("right", right), ("wrong", wrong)):
            (place / f"{name}.pem").write_bytes(pair.pem)
        return Path(shutil.copytree(made(layout), place / "tier"))

    return copied


def read_from(tier: Path, disk: Path = TIERED.left, key: str = "right", **options: Any) -> Root:
    return tree(disk, tiered=TierSource(str(tier), (("k1", tier.parent / f"{key}.pem"),)), **options)


def logs_of(tier: Path) -> list[Path]:
    """The logs of `orders-0`, one for each segment."""
    return sorted([*tier.glob("orders-0-*/*.log"), *tier.glob("orders-*/0/*.log")])


def assert_only_there(left: Root, base: int, behind: int) -> None:
    """Records from `base` up to `behind` are an error in a sentence, or right; all else is right. (Raw bytes are what
    the object has, as on a disk.)"""
    whole, errors = tree(TIERED.whole), list[KafkafsError]()
    for path in (f"{base + 3}.jsonl", f"{base}..{behind}.jsonl", f"{behind - 1}.jsonl", f"{base + 3}.value"):
        try:
            assert cat(left, f"orders-0/by-offset/{path}") == cat(whole, f"orders-0/by-offset/{path}"), path
        except KafkafsError as error:
            errors.append(error)
    assert errors, "nothing of it can be read whole"
    assert {ERRNO[type(error)] for error in errors} == {EIO}, errors
    assert all(str(error) and "\n" not in str(error) for error in errors)
    for path in (f"0..{base}.jsonl", f"0..{base}", f"{base - 1}.jsonl", f"{behind}...jsonl", f"{behind}.."):
        assert cat(left, f"orders-0/by-offset/{path}") == cat(whole, f"orders-0/by-offset/{path}"), path


def altered(path: Path) -> None:
    """Bytes in the midst of it, behind the first record."""
    data = bytearray(path.read_bytes())
    data[120:160] = bytes(40)
    path.write_bytes(data)


def all_gone(log: Path) -> None:
    for file in log.parent.glob(f"{log.stem}.*"):
        file.unlink()


HARMS: dict[str, Harm] = {
    "cut": lambda log: log.write_bytes(log.read_bytes()[:-1000]),
    "empty": lambda log: log.write_bytes(b""),
    "longer": lambda log: log.write_bytes(log.read_bytes() + b"x" * 1000),
    "altered": altered,
    "noise": lambda log: log.write_bytes(random.Random(1).randbytes(log.stat().st_size)),
    "another's": lambda log: shutil.copy(logs_of(log.parents[1 if log.parent.name != "0" else 2])[2], log),
    "gone": lambda log: log.unlink(),
    "all gone": all_gone,
}


@pytest.mark.sampled
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("harm", HARMS)
def test_a_harmed_log_is_an_error_at_its_offsets_alone(tmp_path, copied, layout, harm):
    tier = copied(tmp_path, layout)
    _, log, behind, *_ = logs_of(tier)
    HARMS[harm](log)
    if harm == "longer" and layout == "local":
        return  # what its last batch's offsets say is there, and no more
    assert_only_there(read_from(tier), int(log.name[:20]), int(behind.name[:20]))


@pytest.mark.sampled
@pytest.mark.parametrize("exact", [0, 8 << 20])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("harm", [harm for harm in HARMS if harm != "longer"])
def test_a_range_hands_out_what_stands_before_a_harmed_log(tmp_path, copied, layout, harm, exact):
    """Regression: one object of thousands was gone, and no range that it stood in gave a single record."""
    tier = copied(tmp_path, layout)
    _, log, behind, *_ = logs_of(tier)
    HARMS[harm](log)
    base, inside = int(log.name[:20]), int(behind.name[:20]) - 1
    whole, left = tree(TIERED.whole), read_from(tier, exact=exact)
    for path, before in (
        ("0...jsonl", f"0..{base}.jsonl"),
        (f"{base - 20}..{inside}.jsonl", f"{base - 20}..{base}.jsonl"),
        *[("0...batches.jsonl", f"0..{base}.batches.jsonl")] * (harm not in ("altered", "noise")),  # else it is shown
    ):
        file = cast(FileNode, node(left, f"orders-0/by-offset/{path}"))
        size, (got, code) = file.attributes().size, given_by(file.open())
        assert (code, size) == (EIO, len(got) + 1 if exact else 0)
        assert got.startswith(cat(whole, f"orders-0/by-offset/{before}"))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_raw_range_that_ends_within_it_is_an_error(tmp_path, copied, layout):
    """Where it ends nobody knows: it would be other bytes than before the object went away."""
    tier = copied(tmp_path, layout)
    _, log, *_ = logs_of(tier)
    log.unlink()
    with pytest.raises(KafkafsError) as refused:
        cast(
            FileNode, node(read_from(tier), f"orders-0/by-offset/{int(log.name[:20]) - 20}..{int(log.name[:20]) + 100}")
        ).open()
    assert ERRNO[type(refused.value)] == EIO


def test_a_topics_range_ends_with_it_and_the_log_names_the_partition(tmp_path, copied, caplog):
    tier = copied(tmp_path, "local")
    _, log, *_ = logs_of(tier)
    log.unlink()
    got, code = given_by(opened(read_from(tier), ".topics/orders/by-time/0...jsonl"))
    assert (code, [line for line in got.splitlines() if b'"partition":0' in line]) == (
        EIO, cat(tree(TIERED.whole), f"orders-0/by-offset/0..{int(log.name[:20])}.jsonl").splitlines()
    )  # fmt: skip
    assert ".topics/orders: a range ends with an error, that of orders-0: " in caplog.text


def given_by(content: Content) -> tuple[bytes, int]:
    """What reads give until they end, and the number of the error that they end in."""
    got = b""
    try:
        while part := bytes(content.read(len(got), 10_000)):
            got += part
    except KafkafsError as error:
        return got, ERRNO[type(error)]
    return got, 0


def lying(**reported: object) -> Callable[[dict[str, Any]], object]:
    """Overwrites what a manifest says of its chunks."""
    return lambda manifest: manifest["chunkIndex"].update(reported)


LIES: dict[str, Callable[[dict[str, Any]], object]] = {
    "a smaller segment": lying(originalFileSize=20_000),
    "a larger segment": lying(originalFileSize=1 << 30),
    "other chunks": lying(originalChunkSize=4000),
    "no size": lying(originalFileSize=-1),
    "other indexes": lambda manifest: manifest["segmentIndexes"]["offset"].update(position=60 << 20),
}


@pytest.mark.sampled
@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if layout != "local"])
@pytest.mark.parametrize("lie", LIES)
def test_a_manifest_that_lies_is_an_error_or_costs_time(tmp_path, copied, layout, lie):
    tier = copied(tmp_path, layout)
    _, log, behind, *_ = logs_of(tier)
    reported = json.loads(log.with_suffix(".rsm-manifest").read_bytes())
    LIES[lie](reported)
    log.with_suffix(".rsm-manifest").write_text(json.dumps(reported))
    base, end, left = int(log.name[:20]), int(behind.name[:20]), read_from(tier)
    if lie == "other indexes" or (lie, layout) == ("other chunks", "aiven"):  # which is in none
        path = f"orders-0/by-offset/{base + 3}.jsonl"
        assert cat(left, path) == cat(tree(TIERED.whole), path)
    else:
        assert_only_there(left, base, end)


@pytest.mark.parametrize("text", [b"", b"{", b"PFA1" + bytes(60) + b"PFA1"])
def test_names_by_time_are_there_beside_a_manifest_that_cannot_be_read(tmp_path, copied, text):
    """Regression: one segment in Iceberg's format, and `ls by-time` was an error, where no metadata topic tells."""
    tier = copied(tmp_path, "aiven zstd")
    _, log, behind, *_ = logs_of(tier)
    log.with_suffix(".rsm-manifest").write_bytes(text)
    no_metadata = shutil.ignore_patterns("__remote_log_metadata-*")
    left = read_from(tier, Path(shutil.copytree(TIERED.left, tmp_path / "disk", ignore=no_metadata)))
    names, own = (
        [each.name for each in cast(DirectoryNode, node(root, "orders-0/by-time")).entries()]
        for root in (left, tree(TIERED.whole))
    )
    assert (names[0], names[2:]) == (own[0], own[3:])
    assert names[1].split("..") == [own[1].split("..")[0], own[2].split("..")[1]], (
        "it raises nothing, as far as is known"
    )
    assert_only_there(left, int(log.name[:20]), int(behind.name[:20]))
    for path in ("by-offset/0...jsonl", "by-time/0...jsonl", f"by-offset/0..{int(log.name[:20]) + 1}.jsonl"):
        reported = cast(FileNode, node(left, f"orders-0/{path}"))  # the kernel asks for it before it opens: Regression
        assert reported.attributes().mtime_ns
        assert reported.open().read(0, 100) == cat(tree(TIERED.whole), "orders-0/by-offset/0..9.jsonl")[:100]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_second_tries_and_topics_of_the_same_name_do_not_show(tmp_path, copied, layout):
    """The same offsets under another segment id, and under another topic id with other records; also where no metadata
    topic tells which of them count: a second try is as good as the first."""
    tier = copied(tmp_path, layout)
    log = logs_of(tier)[1]
    for file in log.parent.glob(f"{log.stem}.*"):
        data = file.read_bytes()  # a manifest has its segment's id
        data = data.replace(log.stem[21:].encode(), b"B" * 22) if file.suffix == ".rsm-manifest" else data
        file.with_name(file.name.replace(log.stem[21:], "B" * 22)).write_bytes(data)
    folder = log.parent if layout == "local" else log.parent.parent
    other = Path(shutil.copytree(folder, folder.with_name(folder.name[:-22] + "A" * 22)))
    for copy in other.rglob("*.log"):
        copy.write_bytes(random.Random(1).randbytes(copy.stat().st_size))
    disk = shutil.copytree(TIERED.left, tmp_path / "disk", ignore=shutil.ignore_patterns("__remote_log_metadata-*"))
    for left in (read_from(tier), read_from(tier, Path(disk))):
        for path in ("orders-0/by-offset/0...jsonl", "orders-0/by-offset/0.."):
            assert cat(left, path) == cat(tree(TIERED.whole), path)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_vanishes_under_a_reader_is_an_error_and_no_end(tmp_path, copied, layout):
    tier = copied(tmp_path, layout)
    whole = cat(tree(TIERED.whole), "orders-0/by-offset/0...jsonl")
    content = opened(read_from(tier), "orders-0/by-offset/0...jsonl")
    got = bytes(content.read(0, 1000))
    for log in logs_of(tier)[1:]:
        all_gone(log)
    try:
        while part := bytes(content.read(len(got), 10_000)):
            got += part
    except KafkafsError:
        assert whole.startswith(got)
    else:
        assert got == whole, "what is open stays so"


def test_a_key_that_does_not_fit_is_an_error_of_what_it_would_open(tmp_path, copied):
    left = read_from(copied(tmp_path, "aiven encrypted"), key="wrong")
    with pytest.raises(KafkafsError, match="the private key given as 'k1' does not fit"):
        cat(left, "orders-0/by-offset/3.jsonl")
    path = "orders-0/by-offset/2999.jsonl"
    assert cat(left, path) == cat(tree(TIERED.whole), path)


@takes_root
@pytest.mark.parametrize("layout", LAYOUTS)
def test_objects_that_may_not_be_read_are_an_error_there(open_path, copied, layout):
    tier = copied(open_path, layout)
    _, log, behind, *_ = logs_of(tier)
    for file in log.parent.glob(f"{log.stem}.*"):
        file.chmod(0)
    tier.chmod(0o755)
    disk = Path(shutil.copytree(TIERED.left, open_path / "disk"))
    paths = ["orders-0/by-offset/0..100.jsonl", f"orders-0/by-offset/{int(behind.name[:20])}...jsonl"]
    expected = [cat(tree(TIERED.whole), path) for path in paths]
    cat(read_from(tier, disk), paths[0])  # imports on demand what reads this layout
    with as_nobody():
        left = read_from(tier, disk)
        with pytest.raises(KafkafsError, match="may not be read") as refused:
            cat(left, f"orders-0/by-offset/{int(log.name[:20]) + 3}.jsonl")
        assert [cat(left, path) for path in paths] == expected
    assert ERRNO[type(refused.value)] == EIO
