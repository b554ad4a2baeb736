"""`.cluster/` through a real mount: everything in it can be walked and read by a confined daemon."""

import json
import os
import shutil
import stat

import pytest

from tests.cluster.reading import scram_secrets
from tests.kafka.clusters import Cluster
from tests.mounting import KAFKAFS, run, shell, wait_until


@pytest.fixture(scope="module")
def place(mount_for_module):
    return mount_for_module(Cluster("4.3.1", "killed").path).path


def test_it_is_listed_with_hidden_names_only(place):
    assert ".cluster" not in run("ls", place).stdout.decode().split()
    assert ".cluster" in run("ls", "-a", place).stdout.decode().split()


def test_all_of_it_is_walked_and_read_without_an_error(place):
    """A daemon that is confined can import nothing any more, and open nothing but the data."""
    listed = shell(
        f"cd {place}/.cluster && find . -type f -print -exec cat {{}} + > /dev/null && find . -type l | wc -l"
    )
    assert int(listed.split()[-1]) > 20


def test_links_lead_to_what_a_group_has_not_read(place):
    unread = shell(f"cd {place}/.cluster/groups/classic && wc -l unread/* | tail -1; cat next/shop-2 | wc -c")
    assert unread.split()[0] == str(7 + 6 + 6 + 5)  # two of shop-2 are markers
    rows = [
        json.loads(line) for line in run("cat", place / ".cluster/groups/classic/offsets.jsonl").stdout.splitlines()
    ]
    assert sum(row["lag"] for row in rows) == 26


def test_sizes_are_true_and_names_are_encoded(place):
    groups = place / ".cluster/groups"
    assert {"%2E%2E", "100%2541", "with%2Fslash", "grüße 🦀"} <= set(os.listdir(groups))
    for name in ("groups.jsonl", "state.json", "groups/simple/offsets.jsonl", "groups/simple/group.json"):
        assert (place / ".cluster" / name).stat().st_size == len((place / ".cluster" / name).read_bytes()) > 0
    assert not (groups / "nobody").exists()


def test_no_secret_comes_out_of_the_mount(place):
    """Neither of `.cluster/` nor of decoded records, whoever reads; raw views show what is on the disk."""
    data = Cluster("4.3.1", "killed").path
    secrets = [b"SECRET", *scram_secrets(data)]
    assert len(secrets) == 1 + 2 * 3
    shown = run("bash", "-c", f"find {place}/.cluster -type f -exec cat {{}} +").stdout
    metadata = place / "__cluster_metadata-0"
    for name in ("by-offset/0...decoded.jsonl", "by-time/0...decoded.jsonl", "info.json", "by-offset/0.explain"):
        shown += run("cat", metadata / name).stdout
    assert b"USER_SCRAM_CREDENTIAL_RECORD" in shown
    assert b"SCRAM-SHA-512" in shown
    assert [secret for secret in secrets if secret in shown] == []
    assert b"SECRET" in run("cat", metadata / "by-offset/0...jsonl").stdout
    assert (
        run(KAFKAFS, "grep", "--decoded", "--topics", "__cluster_metadata", "SECRET", data, check=False).stdout == b""
    )


def test_modes_are_what_all_sources_grant_together(mount, tmp_path):
    """Who may not read the offsets' topic may not read what it tells."""
    data = Cluster("4.3.1", "stopped").copy_to(tmp_path / "data")
    (data / "__consumer_offsets-1" / f"{0:020}.log").chmod(0o640)
    (data / "__transaction_state-0").chmod(0o700)
    (data / "stock-0" / f"{0:020}.log").chmod(0o600)
    place = mount(data).path / ".cluster"

    def mode(name):
        return stat.S_IMODE((place / name).stat().st_mode)

    assert mode("topics.jsonl") == 0o444
    assert mode("groups.jsonl") == 0o440
    assert mode("groups") == 0o550
    assert mode("transactions.jsonl") == 0o400
    assert mode("state.json") == 0o400
    assert mode("groups/simple/group.json") == 0o440
    assert mode("groups/simple/offsets.jsonl") == 0o400
    assert mode("groups/aborted/offsets.jsonl") == 0o440  # which tells the ends of no partition


def test_what_has_no_source_is_absent(mount, tmp_path):
    data = Cluster("4.3.1", "stopped").copy_to(tmp_path / "data")
    for directory in [*data.glob("__transaction_state-*"), data / "__cluster_metadata-0"]:
        shutil.rmtree(directory)
    place = mount(data).path / ".cluster"
    assert {"groups", "groups.jsonl", "state.json"} <= set(os.listdir(place))
    assert not {"transactions.jsonl", "topics.jsonl"} & set(os.listdir(place))
    shutil.rmtree(data / "__consumer_offsets-3")
    wait_until(lambda: json.loads((place / "state.json").read_bytes())["groups"]["partitions"] == [0, 1, 2])
