"""Rights that no Kafka makes: left out of the snapshot, and named."""

from kafkafs.cluster.image import Acl, Entity
from kafkafs.revive.refused_rights import refused_rights
from kafkafs.revive.whole_image import WholeImage


def test_what_keeps_a_broker_from_applying_the_others_is_named():
    """Regression: a revived broker applied no quota behind that of an impossible address, and no user behind that of an
    unknown mechanism. A token of no user kept it from starting."""
    image = WholeImage()
    sound: list[Entity] = [(("user", "a/../b"), ("client-id", None)), (("ip", "::1%eth0"),), (("ip", None),)]
    bad: list[Entity] = [(("ip", "../../evil"),), (("host", "a"),), ()]
    image.quotas = {each: {"producer_byte_rate": 1.0} for each in [*sound, *bad]}
    image.credentials = {("u", 1): {}, ("u", 2): {}, ("u", 7): {}}
    token = {"owner": "User:o", "requester": "User:r", "renewers": ["User:n"]}
    image.tokens = {"good": token, **{key: {**token, key: "x"} for key in ("owner", "requester")}}
    image.tokens["renewers"] = {**token, "renewers": ["User:n", "x"]}
    found = refused_rights(image)
    assert found.quotas == frozenset(bad)
    assert found.credentials == frozenset({("u", 7)})
    assert found.tokens == {"owner", "requester", "renewers"}
    assert len(found.sentences) == 7
    assert "the quotas of {'ip': '../../evil'} are left out: Kafka does not allow such a name" in found.sentences


def test_a_right_with_which_nobody_could_list_the_rights_is_named():
    """Regression: AdminClient refuses an answer with a resource or an operation that it does not know."""
    image, sound = WholeImage(), Acl(2, "t", 3, "User:a", "*", 3, 3)
    bad = {
        "resource": sound._replace(resource_type=99), "any": sound._replace(resource_type=1),
        "pattern": sound._replace(pattern_type=9), "operation": sound._replace(operation=99),
        "permission": sound._replace(permission=1), "name": sound._replace(resource_name=""),
        "principal": sound._replace(principal="nobody"),
    }  # fmt: skip
    image.acls = {"good": sound, "prefixed": sound._replace(pattern_type=4, operation=15, permission=2), **bad}
    found = refused_rights(image)
    assert found.acls == bad.keys()
    assert len(found.sentences) == len(bad)
    assert "the right of 'nobody' to 't' is left out: Kafka does not allow such a right" in found.sentences
