"""Quotas, users, rights and delegation tokens that no Kafka makes, and that damaged or hostile metadata may have.

A broker that reads such a quota or user applies none of those behind it, and only logs an error. With such a right, no
tool can list the rights. Such a token keeps a broker from starting. So they are left out, and named. Sources:
ClientQuotaMetadataManager, ScramPublisher, AclControlManager.validateNewAcl, SecurityUtils.parseKafkaPrincipal.
"""

import re
from typing import NamedTuple

from kafkafs.cluster.image import Acl, Entity
from kafkafs.revive.whole_image import WholeImage

_ENTITIES = frozenset(("user", "client-id", "ip"))
_HOST = re.compile(r"[0-9A-Za-z.:%_-]+", re.ASCII)
_MECHANISMS = (1, 2)  # SCRAM-SHA-256, SCRAM-SHA-512
_RESOURCES, _PATTERNS, _OPERATIONS, _PERMISSIONS = range(2, 8), (3, 4), range(2, 16), (2, 3)
"""Numbers of ResourceType, PatternType, AclOperation and AclPermissionType, without unknown and any."""


class RefusedRights(NamedTuple):
    """The keys in the image of what is left out, and sentences about it."""

    quotas: frozenset[Entity]
    credentials: frozenset[tuple[str, int]]
    tokens: frozenset[str]
    acls: frozenset[str]
    sentences: list[str]


def refused_rights(image: WholeImage) -> RefusedRights:
    """Find them in the image."""
    quotas = [each for each in image.quotas if not _is_entity(each)]
    credentials = [each for each in image.credentials if each[1] not in _MECHANISMS]
    tokens = [
        name
        for name, fields in image.tokens.items()
        if not all(":" in each for each in (fields["owner"], fields["requester"], *fields["renewers"]))
    ]
    acls = {acl_id: acl for acl_id, acl in image.acls.items() if not _is_right(acl)}
    sentences = [
        *(f"the quotas of {dict(each)!r} are left out: Kafka does not allow such a name" for each in quotas),
        *(f"the password of the user {name!r} is left out: Kafka has no such mechanism ({number})"
          for name, number in credentials),
        *(f"the delegation token {name!r} is left out: it is of no user that Kafka allows" for name in tokens),
        *(f"the right of {acl.principal!r} to {acl.resource_name!r} is left out: Kafka does not allow such a right"
          for acl in acls.values()),
    ]  # fmt: skip
    return RefusedRights(frozenset(quotas), frozenset(credentials), frozenset(tokens), frozenset(acls), sentences)


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
