"""A line of named numbers: `offset: 5 position: 91` as text, `{"file":...,"offset":5,"position":91}` as JSON."""

import json
from collections.abc import Sequence

from kafkafs.dump.options import DumpOptions
from kafkafs.dump.source import Source


class FieldLines:
    """Makes such lines for one file and one list of names."""

    def __init__(self, source: Source, options: DumpOptions, names: Sequence[str]) -> None:
        if options.json:
            file = json.dumps(source.path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
            pairs = "".join(f',"{name}":%s' for name in names)
            self._form = f'{{"file":{file.replace("%", "%%")}{pairs}}}\n'
        else:
            self._form = " ".join(f"{name}: %s" for name in names) + "\n"

    def line(self, *values: object) -> str:
        """The line of these values, one for each name."""
        return self._form % values
