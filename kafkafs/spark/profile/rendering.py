"""The page's pieces of HTML: macros of `templates/pieces.html`, where Jinja2 escapes whatever is shown.

What a macro has made is `Markup`, and is not escaped again where another macro takes it.
"""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.environment import TemplateModule
from markupsafe import Markup


def rendered(piece: str, *values: object) -> Markup:
    """The HTML of one piece, by its macro's name."""
    return Markup(getattr(_pieces(), piece)(*values))


@cache
def _pieces() -> TemplateModule:
    loader = PackageLoader("kafkafs.spark.profile")
    names = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return names.get_template("pieces.html").module
