"""docs/revive.md: what it tells to do with a broker, done with one, by its own tools."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from kafkafs.revive.job import revive
from kafkafs.revive.settings import OFF
from kafkafs.sample import unpack
from tests.kafka import jars
from tests.revive.nodes import choices, started

PAGE = (Path(__file__).parents[2] / "docs/revive.md").read_text()
RELEASE = "4.4.0"
TOOLS = {
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-get-offsets.sh": "org.apache.kafka.tools.GetOffsetShell",
}
EXPECTED = {
    "kafka-consumer-groups.sh": ["billing", "21", "23400"],
    "kafka-get-offsets.sh": ["orders:0:37"],
    "kcat": ["order"],
}


@pytest.mark.timeout(300)
def test_the_commands_of_the_page_run_on_the_revived_sample(tmp_path):
    report = revive([unpack(tmp_path)], choices(tmp_path / "revived", RELEASE))
    start, *commands = PAGE.split("```sh\n")[1].split("```")[0].splitlines()
    assert start == "kafka-server-start.sh /srv/revived/server.properties"
    for name, main in TOOLS.items():
        tool = tmp_path / name
        tool.write_text("#!/bin/sh\nexec " + shlex.join(jars.command(RELEASE, main)) + ' "$@"\n')
        tool.chmod(0o755)
    with started(RELEASE, tmp_path / "revived", tmp_path / "home", report) as node:
        for command in commands:
            name = command.split()[0]
            if shutil.which(name) is None and name not in TOOLS:
                continue
            done = subprocess.run(
                ["sh", "-c", command.replace("127.0.0.1:9092", node.broker.address)], capture_output=True, text=True,
                timeout=60, env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            assert all(word in done.stdout for word in EXPECTED[name]), (command, done.stdout)
    assert node.complaints() == []


def test_each_setting_that_is_off_has_its_line():
    for name in OFF:
        assert f"`{name}`" in PAGE.split("## 4.")[1].split("## 5.")[0]
