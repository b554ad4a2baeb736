"""Quotas, users and delegation tokens that no Kafka makes, and that damaged or hostile metadata may have.

A broker that reads such a quota or user applies none of those behind it, and only logs an error. Such a token keeps a
broker from starting. So they are left out, and named. Sources: ClientQuotaMetadataManager, ScramPublisher,
SecurityUtils.parseKafkaPrincipal.
"""

import re
from typing import NamedTuple

from kafkafs.cluster.image import Entity
from kafkafs.revive.whole_image import WholeImage

_ENTITIES = frozenset(("user", "client-id", "ip"))
_HOST = re.compile(r"[0-9A-Za-z.:%_-]+", re.ASCII)
_MECHANISMS = (1, 2)  # SCRAM-SHA-256, SCRAM-SHA-512


class RefusedRights(NamedTuple):
    """The keys in the image of what is left out, and sentences about it."""

    quotas: frozenset[Entity]
    credentials: frozenset[tuple[str, int]]
    tokens: frozenset[str]
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
    sentences = [
        *(f"the quotas of {dict(each)!r} are left out: Kafka does not allow such a name" for each in quotas),
        *(f"the password of the user {name!r} is left out: Kafka has no such mechanism ({number})"
          for name, number in credentials),
        *(f"the delegation token {name!r} is left out: it is of no user that Kafka allows" for name in tokens),
    ]  # fmt: skip
    return RefusedRights(frozenset(quotas), frozenset(credentials), frozenset(tokens), sentences)


def _is_entity(entity: Entity) -> bool:
    """True if a broker can apply quotas to it."""
    return bool(entity) and all(
        kind in _ENTITIES and (kind != "ip" or name is None or _HOST.fullmatch(name) is not None)
        for kind, name in entity
    )
