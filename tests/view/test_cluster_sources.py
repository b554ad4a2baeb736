"""What the files of `.cluster/` grant, which is what all their sources grant together."""

from kafkafs.log.read_options import ReadOptions
from kafkafs.view.tree import Root
from tests.cluster.reading import node
from tests.cluster.writing import Data, commit


def test_one_source_that_is_closed_closes_the_file(tmp_path):
    data = Data(tmp_path / "data")
    data.write("__consumer_offsets-0", [commit("g", "t", 0, 1), commit("h", "u", 0, 1)])
    for topic in "tu":
        data.write(f"{topic}-0", [(None, b"x")])
    (data.path / "u-0" / f"{0:020}.log").chmod(0o640)
    root = Root([data.path], ReadOptions())
    modes = {path: node(root, path).attributes().mode & 0o777 for path in (
        "groups.jsonl", "groups/g/offsets.jsonl", "groups/h/offsets.jsonl", "open-transactions.jsonl",
    )}  # fmt: skip
    assert modes == {
        "groups.jsonl": 0o444,
        "groups/g/offsets.jsonl": 0o444,
        "groups/h/offsets.jsonl": 0o440,
        "open-transactions.jsonl": 0o440,
    }
