"""The Kubernetes examples keep their word: they cannot write to the broker's volume, and run as an ordinary user.

Its fields are held against Kubernetes' own schemas where they are installed, 108 MB of them: by hand,
pip install kubernetes-validate && pytest tests/packaging/test_container.py
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafkafs.cli.parser import build

PLACE = Path(__file__).parents[2] / "scripts/container"
JOB, POLICY = yaml.safe_load_all((PLACE / "job.yaml").read_text())
LED = yaml.safe_load((PLACE / "led.yaml").read_text().replace("BROKER", "2"))
PODS = [each["spec"]["template"]["spec"] for each in (JOB, LED)]
on_both_pods = pytest.mark.parametrize("pod", PODS, ids=["audit", "export"])
DEBUG = json.loads((PLACE / "debug.json").read_text())
SIDECAR = yaml.safe_load((PLACE / "sidecar.yaml").read_text())
BESIDE = SIDECAR["spec"]["template"]["spec"]["containers"][0]
DATA = {"name": "data", "emptyDir": {}}
BROKER = {"name": "kafka", "image": "kafka", "volumeMounts": [{"name": "data", "mountPath": "/var/lib/kafka/data"}]}


def debugged() -> dict[str, Any]:
    """A broker's pod as `kubectl debug --custom=debug.json` leaves it."""
    container = {"name": "debugger", "image": "kafkafs", "command": ["kafkafs", "triage", "/data"], **DEBUG}
    spec = {"containers": [BROKER], "ephemeralContainers": [container], "volumes": [DATA]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "kafka-0"}, "spec": spec}


def patched() -> dict[str, Any]:
    """A StatefulSet as `kubectl patch --patch-file sidecar.yaml` leaves it: lists are merged by name."""
    labels = {"app": "kafka"}
    added = SIDECAR["spec"]["template"]["spec"]
    pod = {"containers": [BROKER, *added["containers"]], "volumes": [DATA, *added["volumes"]]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"serviceName": "kafka", "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "kafka"}, "spec": spec}


@pytest.mark.parametrize("release", ["1.25", "1.29", "1.33", "1.37"])
def test_kubernetes_knows_every_field(release):
    schemas = pytest.importorskip("kubernetes_validate", reason="by hand: pip install kubernetes-validate")
    for thing in (JOB, POLICY, LED, debugged(), patched()):
        schemas.validate(thing, release, strict=True)


@on_both_pods
def test_the_brokers_volume_is_read_only_twice_and_keeps_its_modes(pod):
    """`fsGroup` lets a kubelet change the group and the mode of every file in a volume."""
    (container,) = pod["containers"]
    volume = next(each for each in pod["volumes"] if each["name"] == "data")
    mounted = next(each for each in container["volumeMounts"] if each["name"] == "data")
    assert volume["persistentVolumeClaim"]["readOnly"]
    assert mounted["readOnly"]
    assert mounted["mountPath"] in container["args"]
    assert "fsGroup" not in pod["securityContext"]


@on_both_pods
def test_it_is_an_ordinary_user_with_no_rights(pod):
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert pod["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


@on_both_pods
def test_it_takes_a_bounded_share_of_the_brokers_node(pod):
    """Without a limit to the cores Spark starts a worker for each one of the node, and the memory ends the Job."""
    assert {"cpu", "memory"} <= pod["containers"][0]["resources"]["limits"].keys()
    writable = [each for each in pod["volumes"] if "emptyDir" in each]
    assert [each["name"] for each in writable] == ["scratch"]
    assert all("sizeLimit" in each["emptyDir"] for each in writable)


def test_a_job_for_a_broker_is_that_brokers_alone():
    """The broker's id is in the Job's name, its claim, its place and the command, which the parser takes."""
    (container,), (volume, _) = PODS[1]["containers"], PODS[1]["volumes"]
    assert LED["metadata"]["name"] == "kafkafs-export-2"
    assert volume["persistentVolumeClaim"]["claimName"] == "data-kafka-2"
    command = build(["export"]).parse_args(container["args"])
    assert (command.data_dirs, command.to, command.led_by, command.engine) == (
        ["/data"], "s3a://bucket/kafka", 2, "local",
    )  # fmt: skip


def test_the_policy_closes_the_network_of_this_pod():
    labels = JOB["spec"]["template"]["metadata"]["labels"]
    assert POLICY["spec"] == {"podSelector": {"matchLabels": labels}, "policyTypes": ["Ingress", "Egress"]}


@pytest.mark.parametrize("container", [DEBUG, BESIDE], ids=["debug", "sidecar"])
def test_beside_a_broker_it_reads_the_volume_and_has_no_rights(container):
    (mounted,) = (each for each in container["volumeMounts"] if each["name"] == "data")
    assert mounted["readOnly"]
    rights = container["securityContext"]
    assert rights["runAsNonRoot"]
    assert rights["allowPrivilegeEscalation"] is False
    assert rights["capabilities"] == {"drop": ["ALL"]}
    assert rights["seccompProfile"] == {"type": "RuntimeDefault"}


def test_a_profile_of_kubectl_debug_leaves_alone_what_kubectl_decides():
    """It refuses a profile with one of these. Source: KEP-4292."""
    assert not {"name", "image", "command", "lifecycle", "volumeDevices"} & DEBUG.keys()
    assert all("subPath" not in each for each in DEBUG["volumeMounts"])  # an ephemeral container may have none


def test_a_sidecar_ends_with_its_pod_and_takes_a_bounded_share():
    assert {"cpu", "memory"} <= BESIDE["resources"]["limits"].keys()
    assert all("sizeLimit" in each["emptyDir"] for each in SIDECAR["spec"]["template"]["spec"]["volumes"])
    with subprocess.Popen(BESIDE["command"]) as waiting:
        waiting.terminate()
        waiting.wait(timeout=300)
