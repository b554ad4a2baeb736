"""Rights that no Kafka makes: they are left out of the snapshot, and named."""

from kafkafs.cluster.image import Acl, Entity
from kafkafs.revive.kept_rights import kept_rights
from kafkafs.revive.whole_image import WholeImage


def test_what_keeps_a_broker_from_applying_the_others_is_named():
    """Regression: a revived broker applied no quota behind that of an impossible address, and no user behind that of an
    unknown mechanism. A token of no user kept it from starting."""
    image = WholeImage()
    sound: list[Entity] = [(("user", "a/../b"), ("client-id", None)), (("ip", "::1%eth0"),), (("ip", None),)]
    bad: list[Entity] = [(("ip", "../../evil"),), (("host", "a"),), ()]
    image.quotas = {each: {"producer_byte_rate": 1.0} for each in [*sound, *bad]}
    token = {"owner": "User:o", "requester": "User:r", "renewers": ["User:n"]}
    image.tokens = {"good": token, **{key: {**token, key: "x"} for key in ("owner", "requester")}}
    image.tokens["renewers"] = {**token, "renewers": ["User:n", "x"]}
    image.credentials = {("u", number): {"mechanism": number} for number in (1, 2, 7)}
    kept, sentences = kept_rights(image)
    entities = [fields["entity"] for name, fields in kept if name == "ClientQuotaRecord"]
    assert [tuple((each["entityType"], each["entityName"]) for each in entity) for entity in entities] == sound
    assert [fields["mechanism"] for name, fields in kept if name == "UserScramCredentialRecord"] == [1, 2]
    assert [fields for name, fields in kept if name == "DelegationTokenRecord"] == [token]
    *sentences, copied = sentences
    assert copied.startswith("1 delegation tokens are copied")
    assert len(sentences) == 7
    assert "the quotas of {'ip': '../../evil'} are left out: Kafka does not allow such a name" in sentences


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
    kept, sentences = kept_rights(image)
    assert [fields["id"] for _, fields in kept] == ["good", "prefixed"]
    assert len(sentences) == len(bad)
    assert "the right of 'nobody' to 't' is left out: Kafka does not allow such a right" in sentences


def test_tokens_without_their_key_are_reported():
    image = WholeImage()
    image.tokens = {"x": {"owner": "User:a", "requester": "User:a", "renewers": []}}
    _, (sentence,) = kept_rights(image)
    assert "delegation.token.secret.key" in sentence
