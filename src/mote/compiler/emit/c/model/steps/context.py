"""The program that instructions are printed from, and the tables and arrays of pointers that they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mote.compiler.emit.c.c import Expression, Name, call, index, plus
from mote.compiler.emit.c.model.arenas import Arena
from mote.compiler.emit.c.model.control import BodyFunction
from mote.compiler.emit.c.model.handle import HANDLE, variable
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.emit.c.values import CTYPES, ConstantPool, CType, integer_type
from mote.compiler.kernels.contract import ALIGNMENT
from mote.compiler.lower.program import Place, Program
from mote.ir.graph.types import DType

N = Name("n")
"""The turns that the instruction has had in this inference."""
Y = Name("y")
"""The output row, or the tap of the window, of this turn."""
K = Name("k")
ROW = Name("row")


@dataclass(frozen=True)
class RowPointers:
    """An array of pointers to rows of elements of one type, which many instructions use."""

    element: CType
    output: bool = False

    @property
    def name(self) -> str:
        name = "outs" if self.output else "rows"
        return name if self.element == CTYPES[DType.INT8] else f"{name}_{self.element.suffix}"

    def declaration(self, count: int) -> str:
        return f"{'' if self.output else 'const '}{self.element.name} *{self.name}[{count}]"


@dataclass
class Tables:
    """The tables and arrays that the cases of a program use; complete when all of its cases are printed."""

    offsets: list[int] = field(default_factory=list)
    """Offsets of rows, in units of ALIGNMENT."""
    lists: dict[str, Sequence[int]] = field(default_factory=dict)
    """Tables for what no formula describes."""
    pointers: dict[RowPointers, int] = field(default_factory=dict)
    """The arrays of row pointers, and the number of pointers that each needs."""
    _slots: dict[tuple[int, ...], int] = field(default_factory=dict)
    """The index in `offsets` of row 0 of each buffer, by its tensors."""

    def slot(self, place: Place) -> int:
        """The index in the table of row offsets of row 0 of a place."""
        if place.tensors not in self._slots:
            self._slots[place.tensors] = len(self.offsets)
            self.offsets += [(offset or 0) // ALIGNMENT for offset in place.offsets]
        return self._slots[place.tensors]

    def array(self, array: RowPointers, count: int) -> RowPointers:
        """An array of pointers that has room for `count` of them."""
        self.pointers[array] = max(self.pointers.get(array, 0), count)
        return array


@dataclass(frozen=True)
class Context:
    """A program that is printed: a model's, or that of a body of control flow."""

    program: Program
    options: ProjectOptions
    arenas: Mapping[int, Arena]
    """By the number of their memory."""
    constants: ConstantPool
    mixed: bool
    """The model's memory is used for elements of several types."""
    body: BodyFunction | None = None
    """The body of control flow, or None for the model."""
    tables: Tables = field(default_factory=Tables)

    @property
    def prefix(self) -> str:
        """The beginning of the names of its tables and parameters."""
        return self.options.name if self.body is None else self.body.name

    @property
    def hint(self) -> str:
        """The prefix of the names of its constants, after the model's own name."""
        return "" if self.body is None else self.body.name[len(self.options.name) + 1 :] + "_"

    @property
    def rows_name(self) -> str:
        """The table of row offsets."""
        return f"{self.prefix}_rows"

    @property
    def order_name(self) -> str:
        """The table of the schedule."""
        return f"{self.prefix}_schedule"

    @property
    def split_name(self) -> str:
        """The table of the instructions that two cores share."""
        return f"{self.prefix}_split"

    @property
    def handle(self) -> list[Expression]:
        """The instance, as the first argument of the model's own functions."""
        return [HANDLE] if self.options.instances else []

    def variable(self, name: str) -> str:
        return variable(self.options, name)

    def scheduled(self, step: Expression) -> Expression:
        """The number of the instruction that a step of the schedule is a turn of."""
        return element_of(self.options, self.order_name, step, self.program.schedule)


def element_of(options: ProjectOptions, table: str, at: Expression, values: Sequence[int]) -> Expression:
    """An element of a table in flash that holds these values."""
    if not options.flash_apart:
        return index(table, at)
    return call(f"mote_flash_{CTYPES[DType(integer_type(values).name)].suffix}", plus(table, at))
