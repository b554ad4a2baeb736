"""Which kind of directory an address opens."""

from kafkafs.disk.bucket_directory import BucketDirectory
from kafkafs.disk.data_file import DiskOptions
from kafkafs.disk.data_paths import bucket_of, data_path
from kafkafs.disk.roots import root_at


def test_all_else_is_a_path_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert data_path("s3x:/b") == tmp_path / "s3x:/b"
    assert not bucket_of(data_path("a"))
    assert type(root_at(tmp_path, DiskOptions())) is not BucketDirectory
    assert type(root_at(data_path("s3://b/x"), DiskOptions())) is BucketDirectory
