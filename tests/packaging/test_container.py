"""The Kubernetes example keeps its word: it cannot write to the broker's volume, and is an ordinary user.

Its fields are held against Kubernetes' own schemas where they are installed, 108 MB of them: by hand,
pip install kubernetes-validate && pytest tests/packaging/test_container.py
"""

from pathlib import Path

import pytest
import yaml

PLACE = Path(__file__).parents[2] / "scripts/container"
JOB, POLICY = yaml.safe_load_all((PLACE / "job.yaml").read_text())
POD = JOB["spec"]["template"]["spec"]
CONTAINER = POD["containers"][0]


@pytest.mark.parametrize("release", ["1.25", "1.29", "1.33", "1.37"])
def test_kubernetes_knows_every_field(release):
    schemas = pytest.importorskip("kubernetes_validate", reason="by hand: pip install kubernetes-validate")
    for thing in (JOB, POLICY):
        schemas.validate(thing, release, strict=True)


def test_the_brokers_volume_is_read_only_twice_and_keeps_its_modes():
    """`fsGroup` lets a kubelet change the group and the mode of every file in a volume."""
    volume = next(each for each in POD["volumes"] if each["name"] == "data")
    mounted = next(each for each in CONTAINER["volumeMounts"] if each["name"] == "data")
    assert volume["persistentVolumeClaim"]["readOnly"]
    assert mounted["readOnly"]
    assert mounted["mountPath"] in CONTAINER["args"]
    assert "fsGroup" not in POD["securityContext"]


def test_it_is_an_ordinary_user_with_no_rights():
    assert POD["securityContext"]["runAsNonRoot"]
    assert POD["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert POD["automountServiceAccountToken"] is False
    assert CONTAINER["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_it_takes_a_bounded_share_of_the_brokers_node():
    """Without a limit to the cores Spark starts a worker for each one of the node, and the memory ends the Job."""
    assert {"cpu", "memory"} <= CONTAINER["resources"]["limits"].keys()
    writable = [each for each in POD["volumes"] if "emptyDir" in each]
    assert [each["name"] for each in writable] == ["scratch"]
    assert all("sizeLimit" in each["emptyDir"] for each in writable)


def test_the_policy_closes_the_network_of_this_pod():
    labels = JOB["spec"]["template"]["metadata"]["labels"]
    assert POLICY["spec"] == {"podSelector": {"matchLabels": labels}, "policyTypes": ["Ingress", "Egress"]}
