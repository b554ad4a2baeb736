"""Keys or values that name a schema of the registry, as columns of one table: in an executor, a partition at a time.

A kernel decodes Avro to lines of typed JSON, of which `Lines` makes columns; Protobuf and JSON come to such lines by
Python. What names no schema, or does not fit, stays in `valueBytes`, and `valueError` says why; keys likewise.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkafs.cluster.registry import Registry
from kafkafs.errors import CorruptData
from kafkafs.format import kernels
from kafkafs.format.cells import NAME, Cells, OneCell, find_cells, payload_of
from kafkafs.format.memory import Array
from kafkafs.format.native import layout
from kafkafs.format.native.layout import AVRO_SCRATCH, CELL_SLOT, DECODED_NO_ROOM
from kafkafs.format.records import Records
from kafkafs.format.schemas.decoder_table import DecoderTable, FoundSchema, SchemaName
from kafkafs.spark.typed.columns import Field, cells_of
from kafkafs.spark.typed.lines import Lines, Numbers
from kafkafs.spark.typed.tables import Table

_ROOM = 8 << 20  # bytes of lines that are made columns at once, where one line does not need more
_UNNAMED = "it names no schema of the registry"


class RegisteredColumn:
    """Brings the keys or the values of one partition into the columns of its topic's table, of type `kind`."""

    def __init__(self, field: Field, topic: str, table: Table, registry: Registry, kind: pa.DataType) -> None:
        self._field: Field = field
        self._topic, self._table, self._registry = topic, table, registry
        self.fields = (
            pa.field(field, kind), pa.field(f"{field}Bytes", pa.binary()), pa.field(f"{field}Error", pa.string()),
        )  # fmt: skip
        self._decoders = DecoderTable(self._find)
        self._lines = Lines(table.shape(), kind)
        self._scratch = np.empty(AVRO_SCRATCH, np.uint8)
        self._room: Array = np.empty(_ROOM, np.uint8)

    def _find(self, name: SchemaName, _: bool) -> FoundSchema | None:
        """A payload's schema with what decodes it for the table."""
        schema = self._registry.find(name, self._topic, self._field)
        if schema is None:
            return None
        decoder = self._table.decoder(self._registry, schema)
        return FoundSchema(decoder, schema.id, schema.subject, schema.version, schema.type)

    def parts(self, pieces: list[Records], content: pa.Array) -> Iterator[list[pa.Array]]:
        """See `Column`: parts take some megabytes each."""
        if self._decoders.is_full():
            self._decoders.forget()
        open_ = _Part(0)
        for piece, cells, first in self._cells(pieces):
            done = 0
            while done < len(piece):
                used = open_.size
                stop = self._fill(piece, cells, first, done, open_)
                is_full = stop < len(piece) or len(open_.others) > _ROOM
                if is_full and (open_.size or stop > done or open_.others):
                    yield self._part(content, open_, first + stop)
                    open_ = _Part(first + stop)
                    if len(self._room) > _ROOM:
                        self._room = np.empty(_ROOM, np.uint8)
                elif is_full and not used:
                    self._room = np.empty(8 * len(self._room), np.uint8)
                done = stop
        yield self._part(content, open_, len(content))

    def _cells(self, pieces: list[Records]) -> Iterator[tuple[Records, Cells, int]]:
        """Each piece, its cells with their decoders, and which row of the batch is its first."""
        first = 0
        for piece in pieces:
            cells, _ = find_cells(piece)
            values = cells_of(cells, self._field)
            places = np.flatnonzero(values[:, CELL_SLOT.kind] >= layout.CELL_PREFIX_ID)
            if len(places):
                values[places, CELL_SLOT.decoder] = self._decoders.rows(
                    values[places, NAME], np.zeros(len(places), np.int64)
                )
            yield piece, cells, first
            first += len(piece)

    def _fill(self, piece: Records, cells: Cells, first: int, done: int, part: "_Part") -> int:
        """Adds the lines of rows [done, ...) of a piece to a part: the row before which there was no more room."""
        decoders = self._decoders
        answer, cell, used = kernels.type_cells(
            cells, 2 * done, len(cells), piece.data, decoders.table, decoders.code, decoders.literals,
            self._room, part.size, self._scratch,
        )  # fmt: skip
        stop = cell // 2 if answer == DECODED_NO_ROOM else len(piece)
        values = cells_of(cells, self._field)[done:stop]
        made = np.flatnonzero(values[:, CELL_SLOT.text_in])
        part.rows.append(made + (first + done))
        part.ends.append(part.size + np.cumsum(values[made, CELL_SLOT.text_size], dtype=np.int64))
        part.size = used
        for row in np.flatnonzero((values[:, CELL_SLOT.text_in] == 0) & (values[:, CELL_SLOT.decoder] >= 0)).tolist():
            self._other(piece, values[row], first + done + row, part)
        return stop

    def _other(self, piece: Records, cell: OneCell, row: int, part: "_Part") -> None:
        """A value of which no kernel made a line: Python does, or says why not."""
        number, error = int(cell[CELL_SLOT.decoder]), int(cell[CELL_SLOT.error])
        decoder = self._decoders.decoder(number)
        if decoder.decode is None:
            refusal = self._decoders.refusal(number)
            part.errors[row] = refusal or self._decoders.misfit(number, error, int(cell[CELL_SLOT.error_at]))
            return
        try:
            part.others += decoder.decode(*payload_of(piece, cell))
        except CorruptData as refused:
            part.errors[row] = self._decoders.misfit(number, str(refused))
            return
        part.other_rows.append(row)
        part.other_ends.append(len(part.others))

    def _part(self, content: pa.Array, part: "_Part", stop: int) -> list[pa.Array]:
        """Rows [part.first, stop) of a batch."""
        rows = np.concatenate((*part.rows, np.array(part.other_rows, np.int64))) - part.first
        made, refused = self._lines.column(self._room[: part.size], part.all_ends())
        others, also = self._lines.column(np.frombuffer(bytes(part.others), np.uint8), np.array(part.other_ends))
        refused += [(len(made) + line, why) for line, why in also]
        part.errors |= {part.first + int(rows[line]): why for line, why in refused}
        count = stop - part.first
        fits = np.zeros(count, np.bool_)
        places = np.zeros(count, np.int64)
        fits[rows], places[rows] = True, np.arange(len(rows))
        for row in part.errors:
            fits[row - part.first] = False
        values = pa.concat_arrays([made, others]).take(pa.array(places, mask=~fits))
        return self._beside(content.slice(part.first, count), values, fits, part)

    def _beside(self, content: pa.Array, values: pa.Array, fits: np.ndarray, part: "_Part") -> list[pa.Array]:
        as_bytes = pc.if_else(pa.array(fits), pa.scalar(None, pa.binary()), content)
        errors = pc.if_else(as_bytes.is_valid(), pa.scalar(_UNNAMED), pa.scalar(None, pa.string()))
        if part.errors:
            rows = sorted(part.errors)
            mask = np.zeros(len(values), np.bool_)
            mask[np.array(rows) - part.first] = True
            errors = pc.replace_with_mask(errors, pa.array(mask), pa.array([part.errors[row] for row in rows]))
        return [values, as_bytes, errors]


class _Part:
    """Rows of a batch from `first` on, of which lines were made: by a kernel, in the room; by Python, in `others`."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.rows: list[Numbers] = []
        self.ends: list[Numbers] = []
        self.size = 0
        self.others = bytearray()
        self.other_rows: list[int] = []
        self.other_ends: list[int] = []
        self.errors: dict[int, str] = {}

    def all_ends(self) -> Numbers:
        """Where the lines in the room end."""
        return np.concatenate((np.empty(0, np.int64), *self.ends))
