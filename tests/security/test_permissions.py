"""Nobody reads through the mount what he could not on disk, and who could, can: users x modes x ACLs x ancestors."""

import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkafs.sample import unpack
from tests.mounting import KAFKAFS, Mounted, mounting, run
from tests.security.access import Place, User, compare

KAFKA, GROUP, OTHER_GROUP, NAMED, NAMED_GROUP = 2001, 2100, 2101, 2002, 2102
USERS = (
    User("the owner", KAFKA, GROUP),
    User("the owner, in no group", KAFKA, 9),
    User("a member", 2003, GROUP),
    User("a member of several", 2003, 9, (GROUP, OTHER_GROUP, NAMED_GROUP)),
    User("named by an ACL", NAMED, 9),
    User("a member named by an ACL", NAMED, GROUP),
    User("of a named group", 2004, NAMED_GROUP),
    User("somebody else", 2005, 9),
    User("a member of another group", 2006, OTHER_GROUP),
)
MODES = ((0o755, 0o644), (0o750, 0o640), (0o700, 0o600), (0o755, 0o600), (0o711, 0o644), (0o750, 0o604), (0o705, 0o444))
ACLS = ("", f"u:{NAMED}:r", f"u:{NAMED}:-", f"g:{NAMED_GROUP}:r,m::-", f"u:{NAMED}:r,g::-", f"g:{NAMED_GROUP}:-,o::r")
PROMISED_S = 1.0  # how long an answer may be old


class Mirror:
    """A data directory below `above`, and its mount."""

    def __init__(self, above: Path, data: Path, mounted: Mounted) -> None:
        self.above = above
        self.data = data
        self.mounted = mounted

    def places(self) -> list[Place]:
        """Every kind of view of every partition, with what it is made of."""
        found = [Place(self.mounted.path, (self.data,))]
        for partition in sorted(self.data.glob("p-*")):
            shown, log = self.mounted / partition.name, next(partition.glob("*.log"))
            index = log.with_suffix(".timeindex")
            found += [Place(shown / name, (partition,)) for name in ("", "by-offset", "by-time", "segments")]
            views = ("23400", "23400.jsonl", "23400.value", "23400.explain", "23400..23410", "23400..23410.jsonl")
            found += [Place(shown / "by-offset" / name, (log,)) for name in views]
            found.append(Place(shown / "by-time/1632390207806.jsonl", (log,)))
            registry = next(self.data.glob("_schemas-0/*.log"))  # a decoded view names what stands there only
            decoded = ("23400.decoded.jsonl", "23400..23410.decoded.jsonl")
            found += [Place(shown / "by-offset" / name, (log, registry)) for name in decoded]
            found += [Place(shown / "info.json", (log,)), Place(shown / "segments" / log.name, (log,))]
            found.append(Place(shown / f"segments/{index.name}.txt", (index, log)))
        return found


@pytest.fixture(scope="module")
def mirror() -> Iterator[Mirror]:
    scratch = Path(tempfile.mkdtemp(dir="/tmp"))
    scratch.chmod(0o755)
    above, place = scratch / "above", scratch / "mount"
    above.mkdir()
    place.mkdir()
    try:
        sample, data = unpack(scratch), above / "data"
        data.mkdir()
        (data / "meta.properties").touch()
        for number, ((directory_mode, file_mode), acl) in enumerate(itertools.product(MODES, ACLS)):
            partition = data / f"p-{number}"
            shutil.copytree(sample / "test-0", partition)
            run("chown", "-R", f"{KAFKA}:{GROUP}", partition)
            for file in partition.iterdir():
                file.chmod(file_mode)
            if acl:
                run("setfacl", "-m", acl, *partition.iterdir())
            partition.chmod(directory_mode)
        registry = shutil.copytree(sample / "_schemas-0", data / "_schemas-0")
        run("chown", "-R", f"{KAFKA}:{GROUP}", registry)
        for file in registry.iterdir():
            file.chmod(0o640)
        os.chown(data, KAFKA, GROUP)
        with mounting([KAFKAFS, "mount", data, place], place, scratch / "log") as mounted:
            yield Mirror(above, data, mounted)
    finally:
        shutil.rmtree(scratch)


def test_users_read_what_the_disk_lets_them_read(mirror):
    """Thousands of cases: 9 users, 7 modes, 6 ACLs, 16 views of each partition."""
    leaks, refusals, granted = compare(USERS, mirror.places())
    assert leaks == []
    assert granted > 500
    plain = {f"p-{number * len(ACLS)}" for number in range(len(MODES))}  # those without an ACL
    assert [refusal for refusal in refusals if refusal.split("/")[4:5] and refusal.split("/")[4] in plain] == []


def wait_out_the_promise(slack_s: float = 0.0) -> None:
    """No condition to wait for: what was true before a change may be told so long, by the kernel too, and no longer."""
    time.sleep(PROMISED_S + slack_s)


@pytest.mark.urgent  # a second is a second
@pytest.mark.parametrize("mode", [0o600, 0o004])
def test_a_change_of_mode_counts_within_a_second(mirror, mode):
    """Somebody takes a right away: the kernel must not go on with what it remembers."""
    log = next(mirror.data.glob("p-0/*.log"))
    places = [place for place in mirror.places() if log in place.made_of and place.shown.name != "info.json"]
    assert compare(USERS, places)[2] > 0  # (info.json leaves out a log that not even its owner may read)
    log.chmod(mode)
    try:
        wait_out_the_promise()
        assert compare(USERS, places)[0] == []
    finally:
        log.chmod(0o644)


@pytest.mark.urgent  # a second is a second
def test_a_change_of_a_directorys_mode_counts_within_a_second(mirror):
    partition = mirror.data / "p-0"
    places = [place for place in mirror.places() if partition in (*place.made_of, *(p.parent for p in place.made_of))]
    for mode in (0o700, 0o000, 0o110):
        partition.chmod(mode)
        wait_out_the_promise()
        assert compare(USERS, places)[0] == []
    partition.chmod(0o755)


ABOVE = [  # owner, group, mode, ACL of the directory above the data directory; whether its owner is to be let in
    (0, 0, 0o755, "", True),
    (KAFKA, GROUP, 0o750, "", True),
    (KAFKA, GROUP, 0o700, "", True),
    (0, GROUP, 0o750, "", True),
    (0, 0, 0o700, "", False),
    (0, GROUP, 0o701, "", False),
    (0, OTHER_GROUP, 0o750, "", False),
    (0, OTHER_GROUP, 0o705, "", False),
    (2003, GROUP, 0o070, "", False),
    (0, 0, 0o755, f"u:{NAMED}:-", False),
    (0, GROUP, 0o700, f"u:{NAMED}:x,m::x", False),
    (0, GROUP, 0o750, f"u:{NAMED}:x,g::-", False),
]


@pytest.mark.sampled
@pytest.mark.urgent  # a second is a second
@pytest.mark.parametrize(("uid", "gid", "mode", "acl", "owner_in"), ABOVE)
def test_who_cannot_reach_the_data_directory_does_not_reach_it_through_the_mount(mirror, uid, gid, mode, acl, owner_in):
    """The mount point may stand where everybody can search, the data where only some can."""
    os.chown(mirror.above, uid, gid)
    mirror.above.chmod(mode)
    if acl:
        run("setfacl", "-m", acl, mirror.above)
    try:
        wait_out_the_promise()
        places = [place for place in mirror.places() if not place.shown.parts[4:] or place.shown.parts[4] == "p-0"]
        leaks, refusals, _ = compare(USERS, places)
        assert leaks == []
        if owner_in:
            assert [refusal for refusal in refusals if refusal.startswith("the owner:")] == []
    finally:
        run("setfacl", "-b", mirror.above)


@pytest.mark.urgent  # a second is a second
def test_of_two_data_directories_the_root_lets_in_whom_both_let_in():
    """The names of both stand in one listing."""
    scratch = Path(tempfile.mkdtemp(dir="/tmp"))
    scratch.chmod(0o755)
    try:
        first, place = unpack(scratch), scratch / "mount"
        second = first.with_name("second")
        shutil.copytree(first, second)
        place.mkdir()
        run("chown", "-R", f"{KAFKA}:{GROUP}", first, second)
        with mounting([KAFKAFS, "mount", first, second, place], place, scratch / "log"):
            both = [Place(place, (first, second))]
            for mode in (0o755, 0o750, 0o700, 0o755):
                second.chmod(mode)
                wait_out_the_promise(slack_s=0.1)  # what is known of several may be 0.9 s old, and is passed on
                leaks, refusals, _ = compare(USERS, both)
                assert (leaks, refusals) == ([], [])
    finally:
        shutil.rmtree(scratch)
