"""Rights that no Kafka makes: left out of the snapshot, and named."""

from kafkafs.cluster.image import Entity
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
