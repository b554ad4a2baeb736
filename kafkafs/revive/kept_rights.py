"""The quotas, users, rights and delegation tokens that go along: all but those that no Kafka makes.

Damaged or hostile metadata may have such. A broker that reads such a quota or user applies none of those behind it, and
only logs an error. With such a right, no tool can list the rights. Such a token keeps a broker from starting. Sources:
ClientQuotaMetadataManager, ScramPublisher, AclControlManager.validateNewAcl, SecurityUtils.parseKafkaPrincipal.
"""

import re
from collections.abc import Mapping
from typing import Any

from kafkafs.cluster.image import Acl, Entity
from kafkafs.revive.whole_image import WholeImage

_ENTITIES = frozenset(("user", "client-id", "ip"))
_HOST = re.compile(r"[0-9A-Za-z.:%_-]+", re.ASCII)
_MECHANISMS = (1, 2)  # SCRAM-SHA-256, SCRAM-SHA-512
_RESOURCES, _PATTERNS, _OPERATIONS, _PERMISSIONS = range(2, 8), (3, 4), range(2, 16), (2, 3)
"""Numbers of ResourceType, PatternType, AclOperation and AclPermissionType, without unknown and any."""


TOKEN_KEY = "delegation.token.secret.key"

Right = tuple[str, Mapping[str, Any]]
"""A record's name and fields."""


def kept_rights(image: WholeImage) -> tuple[list[Right], list[str]]:
    """The records of quotas, access control, users and delegation tokens that go along, as the old records have them,
    and sentences about the others."""
    kept, sentences, about_acls, tokens = list[Right](), list[str](), list[str](), list[Right]()
    for entity, quotas in image.quotas.items():
        if not _is_entity(entity):
            sentences.append(f"the quotas of {dict(entity)!r} are left out: Kafka does not allow such a name")
            continue
        named = tuple({"entityType": kind, "entityName": name} for kind, name in entity)
        for key, value in quotas.items():
            kept.append(("ClientQuotaRecord", {"entity": named, "key": key, "value": value, "remove": False}))
    for acl_id, acl in image.acls.items():
        if not _is_right(acl):
            whose = f"{acl.principal!r} to {acl.resource_name!r}"
            about_acls.append(f"the right of {whose} is left out: Kafka does not allow such a right")
            continue
        kept.append(("AccessControlEntryRecord", {
            "id": acl_id, "resourceType": acl.resource_type, "resourceName": acl.resource_name,
            "patternType": acl.pattern_type, "principal": acl.principal, "host": acl.host,
            "operation": acl.operation, "permissionType": acl.permission,
        }))  # fmt: skip
    for (user, mechanism), fields in image.credentials.items():
        if mechanism in _MECHANISMS:
            kept.append(("UserScramCredentialRecord", fields))
        else:
            sentences.append(
                f"the password of the user {user!r} is left out: Kafka has no such mechanism ({mechanism})"
            )
    for token, fields in image.tokens.items():
        if all(":" in each for each in (fields["owner"], fields["requester"], *fields["renewers"])):
            tokens.append(("DelegationTokenRecord", fields))
        else:
            sentences.append(f"the delegation token {token!r} is left out: it is of no user that Kafka allows")
    sentences += about_acls
    if tokens:
        sentences.append(
            f"{len(tokens)} delegation tokens are copied, but {TOKEN_KEY} is not on these disks: uncomment its"
            " line in server.properties, and write the old key there; until then, tokens let nobody in, and each"
            " change of the metadata logs an ERROR of DelegationToken changes (Invalid key to HMAC computation)"
        )
    return [*kept, *tokens], sentences


def _is_right(acl: Acl) -> bool:
    """True if a controller takes it."""
    return (
        acl.resource_type in _RESOURCES and acl.pattern_type in _PATTERNS and acl.operation in _OPERATIONS
        and acl.permission in _PERMISSIONS and acl.resource_name != "" and ":" in acl.principal
    )  # fmt: skip


def _is_entity(entity: Entity) -> bool:
    """True if a broker can apply quotas to it."""
    return bool(entity) and all(
        kind in _ENTITIES and (kind != "ip" or name is None or _HOST.fullmatch(name) is not None)
        for kind, name in entity
    )
