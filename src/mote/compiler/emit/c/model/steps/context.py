"""The program that instructions are printed from, with the tables and pointer arrays that they need."""

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
"""The C variable with the number of times that the instruction has run in this inference."""
Y = Name("y")
"""The C variable with the output row that is computed, or the tap of the window."""
K = Name("k")
ROW = Name("row")


@dataclass(frozen=True)
class RowPointers:
    """A C array of pointers to rows with elements of one type; instructions share it."""

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
    """The tables and pointer arrays that the cases of a program use; complete after all cases are printed."""

    offsets: list[int] = field(default_factory=list)
    """The table of row offsets, in units of ALIGNMENT."""
    lists: dict[str, Sequence[int]] = field(default_factory=dict)
    """Tables of integers, such as row numbers, that no formula describes, by name."""
    pointers: dict[RowPointers, int] = field(default_factory=dict)
    """The arrays of row pointers, with the number of pointers that each needs."""
    _slots: dict[tuple[int, ...], int] = field(default_factory=dict)
    """By the tensors of a buffer: the index of its row 0 in `offsets`."""

    def slot(self, place: Place) -> int:
        """The index of a place's row 0 in the table of row offsets; its rows are added at first use."""
        if place.tensors not in self._slots:
            self._slots[place.tensors] = len(self.offsets)
            self.offsets += [(offset or 0) // ALIGNMENT for offset in place.offsets]
        return self._slots[place.tensors]

    def array(self, array: RowPointers, count: int) -> RowPointers:
        """An array of pointers with room for at least `count`."""
        self.pointers[array] = max(self.pointers.get(array, 0), count)
        return array


@dataclass(frozen=True)
class Context:
    """A program that is printed as C: a model's, or a control flow body's."""

    program: Program
    options: ProjectOptions
    arenas: Mapping[int, Arena]
    """The arenas by memory number."""
    constants: ConstantPool
    mixed: bool
    """Whether tensors of different element types use the same memory in turn."""
    body: BodyFunction | None = None
    """The body of control flow, or None for the model."""
    tables: Tables = field(default_factory=Tables)

    @property
    def prefix(self) -> str:
        """Prefix of the names of the program's tables and parameters."""
        return self.options.name if self.body is None else self.body.name

    @property
    def hint(self) -> str:
        """Prefix of the names of the program's constants, after the model's name."""
        return "" if self.body is None else self.body.name[len(self.options.name) + 1 :] + "_"

    @property
    def rows_name(self) -> str:
        """Name of the table of row offsets."""
        return f"{self.prefix}_rows"

    @property
    def order_name(self) -> str:
        """Name of the table of the schedule."""
        return f"{self.prefix}_schedule"

    @property
    def split_name(self) -> str:
        """Name of the table that says which instructions two cores share."""
        return f"{self.prefix}_split"

    @property
    def handle(self) -> list[Expression]:
        """The pointer to the instance, as the first argument of the model's own functions; empty without instances."""
        return [HANDLE] if self.options.instances else []

    def variable(self, name: str) -> str:
        return variable(self.options, name)

    def scheduled(self, step: Expression) -> Expression:
        """The C expression for the number of the instruction that a step of the schedule runs."""
        return element_of(self.options, self.order_name, step, self.program.schedule)


def element_of(options: ProjectOptions, table: str, at: Expression, values: Sequence[int]) -> Expression:
    """The C expression for an element of a table in flash. `values`: the contents of the table, which decide its
    type."""
    if not options.flash_apart:
        return index(table, at)
    return call(f"mote_flash_{CTYPES[DType(integer_type(values).name)].suffix}", plus(table, at))
