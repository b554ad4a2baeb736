"""One export at a time into a directory: who is refused, who is taken over, and that no record stands twice."""

import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kafkafs.errors import DiskError, UsageError
from kafkafs.spark.export import claims as outputs
from kafkafs.spark.export.claims import CLAIM, Timing, claimed
from kafkafs.spark.export.output import Output, output
from tests.kafka.dataset import Dataset
from tests.mounting import KAFKAFS, wait_until
from tests.spark.test_output import bucket, server

BROKER = Dataset("4.3.1", "stopped")
__all__ = ["bucket", "server"]
QUICK = Timing(pause_s=0.11)


def names(out: Path) -> list[str]:
    return [name for name in os.listdir(out) if name.startswith(CLAIM)]


def offsets(out: Path) -> Counter[tuple[str, int]]:
    """How often each offset stands there, by its partition's directory."""
    found: Counter[tuple[str, int]] = Counter()
    for file in out.rglob("*.parquet"):
        found.update((str(file.parent), offset) for offset in pq.ParquetFile(file).read(["offset"])[0].to_pylist())
    return found


def start(out: Path, *words: object) -> "subprocess.Popen[str]":
    command = [str(each) for each in (KAFKAFS, "export", BROKER.path, "--to", out, "--file-mb", "1", *words)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)


def test_of_two_exports_at_once_one_is_refused_and_nothing_stands_twice(tmp_path):
    """Regression: both gave exit 0, 2,750 of 54,550 offsets stood twice, and each removed the other's files."""
    out = tmp_path / "out"
    with start(out) as first:
        wait_until(lambda: out.is_dir() and names(out))
        os.killpg(first.pid, signal.SIGSTOP)  # else it is done before the other one looks
        second = start(out)
        refused = second.communicate(timeout=300)[1]
        os.killpg(first.pid, signal.SIGCONT)
        reported = first.communicate(timeout=300)[1]
    assert (first.returncode, second.returncode) == (0, 2), (reported, refused)
    assert refused.startswith(f"kafkafs: another export writes to '{out}': process ")
    assert set(offsets(out).values()) == {1}
    assert names(out) == []
    assert not list(out.rglob("*.tmp"))


def test_what_a_killed_export_left_is_taken_over(tmp_path):
    """The same command goes on at once, as it is promised."""
    out = tmp_path / "out"
    with start(out) as running:
        wait_until(lambda: out.is_dir() and names(out))
        os.killpg(running.pid, signal.SIGKILL)
        running.wait(300)
    assert len(names(out)) == 1
    again = start(out, "--topics", "segments")
    assert again.communicate(timeout=300)[1].count("\n") == 1
    assert again.returncode == 0
    assert names(out) == []


@pytest.fixture(params=["disk", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Output:
    found: Output = output(str(tmp_path / "out")) if request.param == "disk" else request.getfixturevalue("bucket")
    return found


def claim_of(out: Output, **changes: object) -> str:
    """A claim of this process, but for some of what it tells."""
    reported = outputs._myself()._asdict() | changes
    name = f"{CLAIM}other"
    with out.writing(name) as file:
        file.write(json.dumps(reported).encode())
    return name


def test_a_second_claim_is_refused_and_names_the_first(place):
    with claimed(place) as first:
        with pytest.raises(UsageError, match=f"another export writes to .*: process {os.getpid()} on "), claimed(place):
            pass
        first.check()
    with claimed(place):
        pass
    assert place.times(CLAIM) == {}


@pytest.mark.parametrize("dead", [{"pid": 2**22 + 1}, {"started": 1}], ids=["no-process", "another-process"])
def test_a_dead_process_claims_nothing(place, dead):
    """Nor does one whose number another process has by now."""
    name = claim_of(place, **dead)
    with claimed(place):
        assert name not in place.times(CLAIM)


def test_another_machines_claim_holds_until_it_is_not_renewed_for_long(place):
    name = claim_of(place, machine="another", host="far", pid=7)
    with pytest.raises(UsageError, match="process 7 on far, since"), claimed(place):
        pass
    assert name in place.times(CLAIM)
    with claimed(place, Timing(expired_s=-60.0)):
        assert name not in place.times(CLAIM)


def test_a_claim_is_renewed(tmp_path):
    out = output(str(tmp_path / "out"))
    with claimed(out, Timing(renewed_s=0.05)) as claim:
        (tmp_path / "out" / claim.name).touch()
        os.utime(tmp_path / "out" / claim.name, (1, 1))
        wait_until(lambda: out.times(CLAIM)[claim.name] > 1)


def test_who_lost_its_claim_goes_no_further(tmp_path):
    """It was stopped for so long that another one took over; what it writes then is in no plan."""
    out = output(str(tmp_path / "out"))
    with claimed(out, Timing(renewed_s=0.02)) as claim:
        (tmp_path / "out" / claim.name).unlink()
        with pytest.raises(DiskError, match="another export took over"):
            claim.check()
        time.sleep(0.1)  # and does not come back by being renewed
        with pytest.raises(DiskError, match="another export took over"):
            claim.check()


def at_once(calls: list[Callable[[], None]]) -> None:
    """Each in a thread of its own, to their ends."""
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_never_two_at_once(tmp_path):
    """Whatever the order of their steps; some of them get it."""
    out, inside, most, served = output(str(tmp_path / "out")), [0], [0], [0]

    def contend() -> None:
        for _ in range(4):
            try:
                with claimed(out):
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                    served[0] += 1
                    inside[0] -= 1
            except UsageError:
                pass

    at_once([contend] * 4)
    assert most == [1]
    assert served[0] >= 1
    assert out.times(CLAIM) == {}


def test_two_claims_exclude_each_other_where_they_have_a_part_in_common(place):
    with claimed(place, QUICK, in_parts=True) as first, claimed(place, QUICK, in_parts=True) as second:
        assert first.claim(["a-0", "a-1"]) == {}
        busy = second.claim(["a-1", "a-2"])
        assert list(busy) == ["a-1"]
        assert busy["a-1"].startswith(f"process {os.getpid()} on ")
        assert second.parts == frozenset({"a-2"})
        with pytest.raises(UsageError, match="another export writes to"), claimed(place):
            pass
        first.release(["a-1"])
        assert second.claim(["a-1"]) == {}
        assert first.claim(["a-1", "a-2"]).keys() == {"a-1", "a-2"}
        assert first.parts == frozenset({"a-0"})
    with claimed(place), claimed(place, in_parts=True) as third:
        assert third.claim(["a-0"]).keys() == {"a-0"}
    assert place.times(CLAIM) == {}


def test_an_earlier_release_takes_a_claim_of_parts_for_one_of_a_stranger(place):
    """It knows no parts, and so it waits until the claim is not renewed."""
    with claimed(place, QUICK, in_parts=True) as claim:
        claim.claim(["a-0"])
        words = json.loads(place.read(claim.name))
        with pytest.raises(TypeError):
            outputs.Claimant(**words)
        claim_of(place)  # an earlier release's: of the whole
        assert claim.claim(["a-1"]).keys() == {"a-1"}


def test_never_two_at_once_in_a_part(tmp_path):
    """Whatever the order of their steps, with other parts beside it."""
    out, inside, most, served = output(str(tmp_path / "out")), [0, 0], [0], [0]

    def contend(number: int) -> None:
        """Takes two of three parts, again and again."""
        for _ in range(3):
            with claimed(out, QUICK, in_parts=True) as claim:
                wanted = {"0", "1", f"own-{number}"}
                for part in wanted - claim.claim(wanted).keys():
                    if part in "01":
                        inside[int(part)] += 1
                        most[0] = max(most[0], *inside)
                        served[0] += 1
                        inside[int(part)] -= 1

    at_once([partial(contend, number) for number in range(3)])
    assert most == [1]
    assert served[0] >= 1
    assert out.times(CLAIM) == {}


@pytest.mark.parametrize("kinds", [("parts", "parts"), ("whole", "whole"), ("whole", "parts")])
def test_of_claims_that_always_meet_one_gets_it(tmp_path, kinds):
    """Regression: each saw the other one whenever it looked, both gave way each time, and both were refused."""
    both, found = threading.Barrier(2), list[bool]()

    def meet() -> None:
        with suppress(threading.BrokenBarrierError):
            both.wait()

    class Met(Output):
        """An output in which each claim reads the others while all of them have written what they ask for."""

        def times(self, prefix: str) -> dict[str, float]:
            meet()
            return super().times(prefix)

        def read(self, name: str) -> bytes | None:
            text = super().read(name)
            if name != own.name:
                meet()
            return text

    own = threading.local()

    def contend(kind: str) -> None:
        claim = outputs.OutputClaim(Met(output(str(tmp_path / "out")).uri), QUICK)
        own.name = claim.name
        try:
            if kind == "whole":
                claim.claim_all()
            found.append(kind == "whole" or not claim.claim(["a-0"]))
        except UsageError:
            found.append(False)
        both.abort()

    at_once([partial(contend, kind) for kind in kinds])
    assert sorted(found) == [False, True]


def test_a_claim_that_ends_while_it_is_read_is_no_error(tmp_path, monkeypatch):
    """Regression: the second export was refused with "No such file or directory"."""
    out = output(str(tmp_path / "out"))
    name = claim_of(out)
    system, root = out._opened()

    class Ending:
        """A file system in which each file goes between two calls."""

        def get_file_info(self, path: str) -> object:
            """That of the file, which goes then."""
            reported = system.get_file_info(path)
            out.remove(name)
            return reported

        def __getattr__(self, call: str) -> object:
            return getattr(system, call)

    monkeypatch.setattr(Output, "_opened", lambda _: (Ending(), root))
    assert out.read(name) is None


def test_a_refused_request_leaves_no_directory(tmp_path, capsys):
    from kafkafs.cli.main import main

    assert main(["export", str(BROKER.path), "--to", str(tmp_path / "a/b/out"), "--topics", "nix"]) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_doubled_destination_is_reported(tmp_path, command, capsys):
    """What two exports at once made of a directory, before that was refused."""
    words = ("export", BROKER.path, "--to", tmp_path / "out", "--topics", "segments")
    assert command(*words) == 0
    (file,) = (tmp_path / "out").rglob("*.parquet")
    twice = file.with_name(file.name.replace("250.parquet", "200.parquet"))
    twice.write_bytes(file.read_bytes())
    assert command(*words) == 2
    reported = capsys.readouterr().err.splitlines()[-1]
    assert f"holds a file that its plan does not name, first 'topic=segments/partition=0/{twice.name}'" in reported
    assert "records may be there twice; name a new directory" in reported
