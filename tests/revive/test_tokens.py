"""A delegation token of the dead cluster lets its owner in again, where the secret key is the old one."""

import re
from pathlib import Path

import pytest
from confluent_kafka.admin import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from kafkafs.revive.job import revive
from tests.kafka import broker as nodes
from tests.kafka import jars
from tests.kafka.writer import Topic, create
from tests.revive.nodes import choices, started
from tests.revive.test_brokers import WHOLE
from tests.revive.users import ask_who_comes

pytestmark = pytest.mark.skipif(not WHOLE, reason="scripts/soak revive")
SECRET = "delegation.token.secret.key"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"


def client(path: Path, user: str, password: str, more: str = "") -> Path:
    """Settings of Kafka's own tools."""
    path.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n"
        f'sasl.jaas.config={SCRAM} username="{user}" password="{password}"{more};\n'
    )
    return path


@pytest.mark.parametrize(("release", "target"), [("4.3.1", "4.4.0"), ("4.3.1", "3.9.1"), ("3.9.1", "3.9.1")])
def test_a_token_is_good_with_the_old_key(release, target, tmp_path):
    home, doors = tmp_path / "source", f"127.0.0.1:{nodes.free_port()}"
    home.mkdir()
    port, controller = nodes._ports(home)
    settings = {
        SECRET: "old", "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller},SASL://{doors}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port},SASL://{doors}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
        "listener.name.sasl.scram-sha-256.sasl.jaas.config": f"{SCRAM};",
    }  # fmt: skip
    with nodes.running(release, home, settings) as source:
        create(source, {"t": Topic()})
        alice = UserScramCredentialUpsertion(
            "alice", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), b"password"
        )
        for future in source.admin.alter_user_scram_credentials([alice]).values():
            future.result(30)
        made = jars.run(
            release, "org.apache.kafka.tools.DelegationTokenCommand", "--bootstrap-server", doors, "--create",
            "--max-life-time-period", "-1", "--command-config", client(tmp_path / "alice", "alice", "password"),
        ).stdout.decode()  # fmt: skip
    token, hmac = re.findall(r"^(\S{22}) +(\S{88}) ", made, re.MULTILINE)[0]
    place = tmp_path / "revived"
    report = revive([home / "data"], choices(place, target))
    ask_who_comes(place, doors := f"127.0.0.1:{nodes.free_port()}")
    (sentence,) = (each for each in report["leftOut"] if "1 delegation tokens are copied" in each)
    for words in (SECRET, "DelegationToken changes", "Invalid key to HMAC computation"):
        assert words in sentence
    properties = place / "server.properties"
    assert f"\n#{SECRET}=\n" in properties.read_text()
    for key, is_good in ((None, False), ("old", True), ("new", False)):
        if key is not None:
            properties.write_text(f"{properties.read_text()}{SECRET}={key}\n")
        with started(target, place, tmp_path / str(key), report) as node:
            reported = jars.run(
                release, "org.apache.kafka.tools.GetOffsetShell", "--bootstrap-server", doors, "--topic", "t",
                "--command-config", client(tmp_path / "token", token, hmac, " tokenauth=true"), check=False,
            )  # fmt: skip
            assert (b"t:0:0" in reported.stdout) == is_good, reported
        if key is None:  # all that it complains of is what the report tells
            assert node.complaints() != []
            assert all("DelegationToken changes" in each for each in node.complaints())
            assert "Invalid key to HMAC computation" in node.log.read_text()
