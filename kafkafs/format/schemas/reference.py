"""The references of a schema to others."""

from typing import NamedTuple


class Reference(NamedTuple):
    """A schema that another one uses: the name that it is imported under, and its text."""

    name: str
    text: str
