"""Each operation as programs see it, through a real mount of a real directory."""

import errno
import mmap
import os
import random
import stat

import pytest

from kafkafs.errors import ERRNO
from kafkafs.fuse.serve.late_answers import RetriedLookup
from tests.fuse.shelf import ShelfFile
from tests.mounting import run, shell, wait_until


@pytest.mark.parametrize("kind", [kind.__name__ for kind in ERRNO if kind.__name__ != "WouldBlock"])
def test_an_error_in_the_tree_reaches_the_caller_as_its_errno(shelf, kind):
    (shelf.source / "wrong").mkdir()
    expected = {family.__name__: number for family, number in ERRNO.items()}[kind]
    with pytest.raises(OSError) as caught:
        os.stat(shelf / f"wrong/{kind}")
    assert caught.value.errno == expected


def test_a_bug_or_lack_of_memory_costs_one_answer_and_not_the_mount(shelf):
    (shelf.source / "wrong").mkdir()
    for name, number in (("bug", errno.EIO), ("MemoryError", errno.ENOMEM)):
        with pytest.raises(OSError) as caught:
            os.stat(shelf / f"wrong/{name}")
        assert caught.value.errno == number
    assert "bug in lookup: ZeroDivisionError('bug')" in shelf.mounted.log
    assert run("ls", shelf.path).returncode == 0


@pytest.mark.parametrize("view", ["", ".kept"])
def test_reads_anywhere_give_the_file_s_own_bytes(shelf, view):
    """Any offset, any order, several handles: what a plain read of the file gives."""
    content = random.Random(1).randbytes(3_000_001)
    (shelf.source / "file").write_bytes(content)
    chance = random.Random(2)
    handles = [os.open(shelf / f"file{view}", os.O_RDONLY) for _ in range(3)]
    try:
        for _ in range(200):
            offset, size = chance.randrange(len(content) + 1000), chance.choice((1, 100, 4096, 200_000))
            assert os.pread(chance.choice(handles), size, offset) == content[offset : offset + size]
    finally:
        for handle in handles:
            os.close(handle)
    assert run("cat", shelf / f"file{view}").stdout == content


def test_a_stream_claims_no_size_and_is_read_to_its_end(shelf):
    (shelf.source / "file").write_bytes(b"x" * 300_000)
    assert os.stat(shelf / "file.stream").st_size == 0
    assert len(run("cat", shelf / "file.stream").stdout) == 300_000
    with open(shelf / "file.stream", "rb", buffering=0) as stream, pytest.raises(OSError, match="Illegal seek"):
        os.pread(stream.fileno(), 10, 0)


def test_what_is_not_kept_leaves_no_second_copy_in_the_page_cache(shelf):
    """The broker's memory is not ours to fill; `kept` is for those who want it."""
    (shelf.source / "file").write_bytes(b"x" * (8 << 20))
    resident = {}
    for name in ("file", "file.kept"):
        run("cat", shelf / name)
        with open(shelf / name, "rb") as file, mmap.mmap(file.fileno(), 8 << 20, mmap.MAP_PRIVATE, mmap.PROT_READ):
            resident[name] = int(run("fincore", "-bnro", "res", shelf / name).stdout)
    assert resident["file"] == 0
    assert resident["file.kept"] == 8 << 20


def test_pages_of_one_content_never_answer_for_another(shelf):
    """Regression: the kernel kept them where size and time were alike, and a read mixed two generations of a log."""
    old, new, size = b"old!" * (1 << 18), b"new!" * (1 << 18), 1 << 20
    source, name = shelf.source / "file", shelf / "file.kept"

    def write(content: bytes) -> None:
        beside = shelf.source / "beside"
        beside.write_bytes(content)
        os.utime(beside, ns=(1, 1))
        beside.rename(source)

    write(old)
    assert run("cat", name).stdout == old
    write(new)
    assert run("cat", name).stdout == new
    before = os.open(name, os.O_RDONLY)
    write(old)
    after = os.open(name, os.O_RDONLY)
    try:
        for at in range(0, size, 1 << 16):
            assert os.pread(before, 4, at) == b"new!"
            assert os.pread(after, 4, at) == b"old!"
    finally:
        os.close(before)
        os.close(after)
    assert run("cat", name).stdout == old


def test_stat_shows_what_the_tree_says_and_programs_read_in_large_blocks(shelf):
    (shelf.source / "file").write_bytes(b"hello")
    os.chmod(shelf.source / "file", 0o640)
    found, real = os.stat(shelf / "file"), os.stat(shelf.source / "file")
    assert stat.S_IMODE(found.st_mode) == 0o440
    assert (found.st_size, found.st_mtime_ns, found.st_blocks) == (5, real.st_mtime_ns, real.st_blocks)
    assert found.st_blksize >= 128 << 10


def test_a_listing_shows_the_inode_numbers_that_stat_shows(own_shelf):
    for name in ("one", "two"):
        (own_shelf.source / name).write_text(name)
    (own_shelf.source / "directory").mkdir()
    listed = {entry.name: entry.inode() for entry in os.scandir(own_shelf.path)}
    assert set(listed) == {"one", "two", "directory", ".kafkafs"}
    assert listed == {name: os.stat(own_shelf / name).st_ino for name in listed}
    assert shell(f"ls -a {own_shelf / 'directory'}").split() == [".", ".."]


def test_a_link_leads_where_the_tree_says(shelf):
    (shelf.source / "file").write_text("hello")
    (shelf.source / "link").symlink_to("file")
    assert os.readlink(shelf / "link") == "file"
    assert (shelf / "link").read_text() == "hello"


def test_extended_attributes_are_listed_and_others_are_not_there(shelf):
    (shelf.source / "file").write_text("hello")
    assert os.getxattr(shelf / "file", "user.kafkafs.name") == b"file"
    assert os.listxattr(shelf / "file") == ["user.kafkafs.name", "user.kafkafs.view"]
    for name in ("user.kafkafs.other", "security.capability"):
        with pytest.raises(OSError, match="No data available"):
            os.getxattr(shelf / "file", name)
    assert os.listxattr(shelf.path) == []


def test_a_path_keeps_its_inode_and_gets_another_when_its_kind_changes(shelf):
    (shelf.source / "thing").write_text("file")
    with open(shelf / "thing") as held:
        first = os.fstat(held.fileno()).st_ino
        (shelf.source / "thing").write_text("more")
        assert os.stat(shelf / "thing").st_ino == first
    (shelf.source / "thing").unlink()
    (shelf.source / "thing").mkdir()
    assert os.path.isdir(shelf / "thing")


WRITES = (
    "touch {}/new", "dd if=/dev/null of={}/file conv=notrunc", "rm {}/file", "mkdir {}/d", "ln -s a {}/l",
    "mv {}/file {}/f", "chmod 600 {}/file", "setfattr -n user.x -v y {}/file", "truncate -s 0 {}/file",
)  # fmt: skip


def test_nothing_can_be_written_even_where_someone_mounts_it_again_for_writing(own_shelf):
    """The kernel refuses, since the mount is read-only; should root change that, the daemon does."""
    (own_shelf.source / "file").write_text("hello")
    for flags in ("ro", "rw"):
        run("mount", "-i", "-o", f"remount,{flags}", own_shelf.path)
        for command in WRITES:
            said = shell(command.replace("{}", str(own_shelf.path)) + " 2>&1", check=False)
            assert "Read-only file system" in said, command
    assert [path.name for path in own_shelf.source.iterdir()] == ["file"]
    assert (own_shelf.source / "file").read_text() == "hello"


def test_statfs_shows_the_size_of_the_data(shelf):
    found = os.statvfs(shelf.path)
    assert found.f_blocks * found.f_frsize == 4096 * 1000
    assert found.f_bavail == 0


def test_a_scan_of_very_many_names_leaves_nothing_behind(own_shelf):
    """updatedb and find come every night; the daemon must not grow by what they saw."""
    (own_shelf.source / "many").write_text("300000")
    assert len(run("ls", "-U", own_shelf / "many", timeout=300).stdout.splitlines()) == 300_000
    status = own_shelf.mounted.status()
    assert status["inodes"] < 10
    assert status["residentBytes"] < 100 << 20


def test_what_was_looked_up_is_forgotten_when_the_kernel_forgets_it(shelf):
    (shelf.source / "many").write_text("3000")
    run("find", shelf / "many", "-maxdepth", "1", "-size", "+1")
    assert shelf.mounted.status()["inodes"] > 3000
    shelf.mounted.forget_names()
    wait_until(lambda: shelf.mounted.status()["inodes"] < 1000)
    assert (shelf / "many/partition-00000007").is_dir()


def test_names_that_are_no_text_and_the_longest_ones_work(shelf):
    name = b"\xff\x00".replace(b"\x00", b"\n") + b"x" * 250
    with open(os.fsencode(shelf.source) + b"/" + name, "w") as file:
        file.write("odd")
    path = os.fsencode(shelf.path) + b"/" + name
    assert name in os.listdir(os.fsencode(shelf.path))
    with open(path) as file:
        assert file.read() == "odd"


def test_a_call_that_goes_on_asks_the_same_node(shelf):
    """`-1h..now` means another range at each look: what was made of one would be lost with every time slice."""
    made = []

    class Counting:
        """A directory that makes another node each time."""

        def child(self, name):
            made.append(name)
            return ShelfFile(shelf.source, "plain")

    once = RetriedLookup(Counting(), "a", "")  # type: ignore[arg-type]
    assert once.look()[0] is once.look()[0]
    assert made == ["a"]
