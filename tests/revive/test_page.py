"""docs/revive.md: what it tells to do with a broker, done with one, by its own tools."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import ConfigResource, ResourceType

from kafkafs.revive.job import revive
from kafkafs.revive.settings import OFF
from kafkafs.sample import unpack
from tests.kafka import jars, truth
from tests.revive.nodes import choices, started
from tests.revive.test_brokers import WHOLE

PAGE = (Path(__file__).parents[2] / "docs/revive.md").read_text()
RELEASE = "4.4.0"
TOOLS = {
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-get-offsets.sh": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-configs.sh": "org.apache.kafka.tools.ConfigCommand",
    "kafka-transactions.sh": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-storage.sh": "kafka.tools.StorageTool",
    "kafka-reassign-partitions.sh": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-features.sh": "org.apache.kafka.tools.FeatureCommand",
    "kafka-metadata-quorum.sh": "org.apache.kafka.tools.MetadataQuorumCommand",
}
EXPECTED = {
    "kafka-consumer-groups.sh": ["billing", "21", "23400"],
    "kafka-get-offsets.sh": ["orders:0:37"],
    "kcat": ["order"],
}


SECTIONS = [section.split("```sh\n")[1].split("```")[0].splitlines() for section in PAGE.split("\n## ")[3:5]]
"""The commands of 3 and 4."""


TAKE_AWAY = PAGE.split("```sh\n")[3].split("```")[0]
"""The command that takes `retentionAdded` back, in section 4."""


class Shell:
    """Runs lines of the page, with other places, ports and Kafka's tools by their names."""

    def __init__(self, place: Path, instead: Mapping[str, str], release: str = RELEASE) -> None:
        self.place, self.instead = place, {"/srv/": f"{place}/", **instead}
        for name, main in TOOLS.items():
            tool = place / name
            tool.write_text("#!/bin/sh\nexec " + shlex.join(jars.command(release, main)) + ' "$@"\n')
            tool.chmod(0o755)

    def run(self, *lines: str) -> str:
        """What they print; AssertionError where one fails."""
        script = "\n".join(["set -e", *lines])
        for old, new in self.instead.items():
            script = script.replace(old, new)
        done = subprocess.run(
            ["sh", "-c", script], capture_output=True, text=True, timeout=300, check=False,
            env=os.environ | {"PATH": f"{self.place}:{os.environ['PATH']}"},
        )  # fmt: skip
        assert done.returncode == 0, (script, done.stdout, done.stderr)
        return done.stdout


def test_the_commands_of_the_page_run_on_the_revived_sample(tmp_path):
    report = revive([unpack(tmp_path)], choices(tmp_path / "revived", RELEASE))
    start, *commands = SECTIONS[0]
    assert start == "kafka-server-start.sh /srv/revived/server.properties"
    with started(RELEASE, tmp_path / "revived", tmp_path / "home", report) as node:
        shell = Shell(tmp_path, {"127.0.0.1:9092": node.broker.address})
        for command in commands:
            name = command.split()[0]
            if shutil.which(name) is None and name not in TOOLS:
                continue
            printed = shell.run(command)
            assert all(word in printed for word in EXPECTED[name]), (command, printed)
    assert node.complaints() == []


@pytest.mark.skipif(not WHOLE, reason="scripts/soak revive")
def test_what_was_off_is_on_again(tmp_path):
    place = tmp_path / "revived"
    report = revive([unpack(tmp_path)], choices(place, RELEASE))
    shell = Shell(tmp_path, {"127.0.0.1:9092": report["listen"]})
    configs, hanging, edit, *again = SECTIONS[1]
    assert [each.split()[0] for each in again] == ["kafka-server-stop.sh", "while", "kafka-server-start.sh"]
    with started(RELEASE, place, tmp_path / "home", report):
        assert "Completed updating config" in shell.run(configs)
        assert "ProducerId" in shell.run(hanging)
        shell.run(edit)
    shell.run(again[1])
    kept = (place / "server.properties").read_text()
    assert [name for name in OFF if f"\n{name}=" not in kept] == [*OFF][:3]
    with started(RELEASE, place, tmp_path / "home", report) as node:
        assert truth.read(node.broker, [("orders", 0)], "read_committed")
        assert "orders" in report["retentionAdded"]
        assert shell.run(TAKE_AWAY).count("Completed updating config") == len(report["retentionAdded"]) - 1
        shown = node.broker.admin.describe_configs([ConfigResource(ResourceType.TOPIC, "orders")])
        assert [each.result(30)["retention.ms"].value for each in shown.values()] == ["-1"]


def test_each_setting_that_is_off_has_its_line():
    for name in OFF:
        assert f"`{name}`" in PAGE.split("## 4.")[1].split("## 5.")[0]
