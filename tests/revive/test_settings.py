"""The files that a node is configured by."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kafkafs.revive.kept_configs import Config
from kafkafs.revive.metadata_snapshot import BROKER_EPOCH, Node
from kafkafs.revive.settings import (
    OFF,
    clean_shutdown,
    meta_properties,
    second_properties,
    second_settings,
    server_properties,
    settings,
    thread_counts,
    token_key,
)
from kafkafs.revive.topics import RevivedPartition, RevivedTopic, made_up_id

NODE = Node(3, made_up_id("d"), made_up_id("i"), "127.0.0.1", 9192)
TOPICS = [
    RevivedTopic(
        "__consumer_offsets", made_up_id("o"), {}, (RevivedPartition("__consumer_offsets", 0, None, None),) * 4
    )
]


def reported(**more):
    given = {"is_dynamic": True, "has_acls": False, "has_shares": True}
    return settings(NODE, Path("/srv/revived"), TOPICS, **{**given, **more})


def test_the_controller_listens_one_port_further():
    assert reported()["listeners"] == "PLAINTEXT://127.0.0.1:9192,CONTROLLER://127.0.0.1:9193"
    assert reported()["controller.quorum.bootstrap.servers"] == "127.0.0.1:9193"
    assert reported(is_dynamic=False)["controller.quorum.voters"] == "3@127.0.0.1:9193"


def test_the_node_stands_in_the_rack_of_the_old_one():
    assert "broker.rack" not in reported()
    node = replace(NODE, rack="rack-1")
    assert settings(node, Path("/x"), [], is_dynamic=True, has_acls=False, has_shares=True)["broker.rack"] == "rack-1"


def test_coordinators_topics_keep_their_number_of_partitions():
    """A group's partition follows from it."""
    assert reported()["offsets.topic.num.partitions"] == "4"
    assert "transaction.state.log.num.partitions" not in reported()
    assert not any(name.startswith("share.") for name in reported(has_shares=False))


def test_rights_are_checked_where_there_are_any():
    assert "authorizer.class.name" not in reported()
    assert reported(has_acls=True)["super.users"] == "User:ANONYMOUS"


def test_threads_are_as_many_from_the_first_moment():
    """A broker refuses more than twice or less than half as many as it began with, and all else that it was told."""
    of_all, own = (Config(4, which, "num.io.threads", count) for which, count in (("", "30"), ("1", "3")))
    beside = [Config(4, "", "max.connections", "9"), Config(2, "t", "num.io.threads", "1")]
    assert thread_counts([own, of_all, *beside]) == {"num.io.threads": "3"}
    assert thread_counts([Config(4, "1", "num.replica.fetchers", "40")]) == {"num.replica.fetchers": "40"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("x=1\nlog.dirs=/etc/thread", "1"), ("num.io.threads", "3\nlog.dirs=/etc"), ("num.io.threads\n", "3"),
     ("log.dirs thread", "/etc"), ("Num.io.threads", "4"), ("num.io.threads", "-1"), ("num.io.threads", "")],
)  # fmt: skip
def test_no_name_of_the_metadata_becomes_a_line_of_its_own(name, value):
    assert thread_counts([Config(4, "", name, value)]) == {}


def test_the_key_of_tokens_waits_behind_a_mark():
    lines = token_key().decode().splitlines()
    assert lines[-1] == "#delegation.token.secret.key="
    assert all(line.startswith("#") for line in filter(None, lines))


def test_all_that_destroys_is_off_each_with_a_word_about_it():
    text = server_properties(reported()).decode()
    for name, (value, effect) in OFF.items():
        assert f"# {effect}\n{name}={value}\n" in text


def test_a_path_in_another_script_is_escaped_as_java_reads_it():
    text = server_properties({"log.dirs": "/srv/Käse\\x 🦀"}).decode()
    assert "log.dirs=/srv/K\\u00e4se\\\\x \\ud83e\\udd80\n" in text


def test_the_directory_says_whose_it_is():
    assert (
        meta_properties("c", NODE) == f"version=1\ncluster.id=c\nnode.id=3\ndirectory.id={NODE.directory_id}\n".encode()
    )
    assert json.loads(clean_shutdown()) == {"version": 0, "brokerEpoch": BROKER_EPOCH}


def test_a_second_node_has_another_number_and_a_port_that_there_is():
    """Regression guard: one above the largest of each is none."""
    most = replace(NODE, number=2**31 - 1, port=65534, rack="rack-1")
    found = second_settings(
        settings(most, Path("/x"), [], is_dynamic=True, has_acls=True, has_shares=True), most, Path("/x")
    )
    assert (found["node.id"], found["listeners"]) == (str(2**31 - 2), "PLAINTEXT://127.0.0.1:65533")
    assert "broker.rack" not in found
    assert (found["super.users"], found["log.dirs"]) == ("User:ANONYMOUS", "/x-second")
    text = second_properties(found, "a-cluster").decode()
    assert "# kafka-storage.sh format --cluster-id a-cluster --config second.properties\n" in text
    hostile = second_properties(found, "x;touch${IFS}y").decode()
    assert "format --cluster-id 'x;touch${IFS}y' --config" in hostile
