"""A page of an S3 store's listing of a folder. Source: S3 API Reference, "ListObjectsV2"."""

from datetime import UTC, datetime
from typing import NamedTuple
from xml.etree import ElementTree

from kafkafs.disk.objects import Object


class Page(NamedTuple):
    """The names on a page, below the folder. `token` asks for the next page: None behind the last one, "" if the store
    does not tell how to go on."""

    folders: list[str]
    objects: list[Object]
    is_there: bool
    """True if there is any name, or an object of the folder's own name."""
    token: str | None


def parse_page(data: bytes, prefix: str) -> Page | None:
    """The page of the folder whose names begin with `prefix`; None for what is no page of that, or not all of it."""
    try:
        top = ElementTree.fromstring(data)
        space = top.tag.partition("}")[0] + "}" if top.tag.startswith("{") else ""
        if top.tag != f"{space}ListBucketResult":
            return None
        folders = [_below(prefix, each.findtext(f"{space}Prefix")) for each in top.iter(f"{space}CommonPrefixes")]
        objects = [_object(prefix, each, space) for each in top.iter(f"{space}Contents")]
        token = top.findtext(f"{space}NextContinuationToken", "")
        is_last = top.findtext(f"{space}IsTruncated", "false").lower() != "true"
        if is_last and token:
            return None
    except (ElementTree.ParseError, ValueError):
        return None
    named = [each for each in objects if each.key and not each.key.endswith("/")]
    return Page([each.rstrip("/") for each in folders], named, bool(folders or objects), None if is_last else token)


def _object(prefix: str, content: ElementTree.Element, space: str) -> Object:
    written = content.findtext(f"{space}LastModified", "")
    moment = datetime.fromisoformat(written)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    microseconds = int(moment.timestamp()) * 10**6 + moment.microsecond
    size = int(content.findtext(f"{space}Size", ""))
    return Object(_below(prefix, content.findtext(f"{space}Key")), size, microseconds * 1000)


def _below(prefix: str, key: str | None) -> str:
    if key is None or not key.startswith(prefix):
        raise ValueError
    return key[len(prefix) :]
