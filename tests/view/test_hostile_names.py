"""Names of topics and groups that lead elsewhere: no entry and no link of a mount follows them."""

import posixpath

from kafkafs.revive.topics import made_up_id
from tests.cluster.writing import Data, commit, metadata
from tests.view.trees import tree


def test_no_name_of_metadata_or_groups_leads_out_of_the_tree(tmp_path):
    data, evil = Data(tmp_path / "disk"), made_up_id("evil")
    data.write("t-0", [(b"k", b"v")])
    state = {"topicId": evil, "partitionId": 0, "replicas": (1,), "isr": (1,), "leader": 1}
    records = [metadata("TopicRecord", name="../../evil", topicId=evil), metadata("PartitionRecord", **state)]
    data.write("__cluster_metadata-0", records)
    places = [("g", "../../t"), ("../../g", "t"), ("..", "../../evil"), ("g", "t")]
    data.write("__consumer_offsets-0", [commit(group, topic, 0, 0) for group, topic in places])
    links = dict(walk(tree(data.path), ""))
    assert ".cluster/groups/g/next/t-0" in links
    assert not [name for name in links if "evil" in name]
    for name, target in links.items():
        led = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
        assert not led.startswith(("..", "/")), (name, target)


def walk(node, path):
    """All links below, with what they lead to."""
    for entry in node.entries():
        assert entry.name not in ("", ".", "..")
        assert "/" not in entry.name
        child = node.child(entry.name)
        if entry.kind == "symlink":
            yield path + entry.name, child.target()
        elif entry.kind == "directory":
            yield from walk(child, f"{path}{entry.name}/")
