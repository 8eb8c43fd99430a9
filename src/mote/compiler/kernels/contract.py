"""Data types of the kernel interface: catalogue entries, calling conventions, memory needs, cost inputs.

A `Kernel` is a catalogue entry: the operators that it computes, their element types, the cores that can run it. Its
`pack` takes a `View` (an operator with its tensors, constants and value ranges) and returns `Packed`, everything that
the planner, the code generator and an interpreter need to call the kernel for that operator, or a `Refusal` with the
reason why it does not fit. One function both decides and packs, because a fast kernel's requantization constants only
exist if a search finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from itertools import accumulate
from math import prod
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import working_on
from mote.hardware.targets import WORD
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.common import learned

SIGNAL = "signal"
"""Name in the cost tables of all preprocessing and post-processing kernels."""
OTHER, OTHER_S16, OTHER_F32 = "other", "other_s16", "other_f32"
"""Names in the cost tables of all kernels without alternatives that take little of a model's time: int8 operators and
data movement of any type, int16 operators, float operators."""

TUNED = frozenset({"dsp"})
"""Core features whose instructions C compilers use in portable loops."""

Knob = int | str
"""Value of a knob, a parameter of a kernel's code generator."""
Knobs = tuple[tuple[str, Knob], ...]
"""Knob names with their values, for those that are set."""

T = TypeVar("T")
O = TypeVar("O", bound=Op)  # noqa: E741

ALIGNMENT = 4
"""Alignment in bytes of every contiguous block of rows and of scratch memory. Rows are also aligned to their element
size."""
SEALED_ALIGNMENT = 8
"""Alignment in bytes of encrypted constants after decryption to RAM, whatever their type."""
_OPERAND = "operand_"


def aligned(nbytes: int, alignment: int = ALIGNMENT) -> int:
    return -(-nbytes // alignment) * alignment


@dataclass(frozen=True, eq=False)
class Structs:
    """A constant array of C structs of 32-bit integers (`ctype` `mote_channel_t`, say): one row of `rows` for each
    struct."""

    ctype: str
    rows: NDArray[np.int64]


Value = int | float | Array | Structs | Mapping[str, "Value"]
Params = dict[str, Value]
"""The fields of a kernel's parameter struct: numbers take four bytes each, arrays become constants in flash, nested
mappings become nested structs."""


class Layout(Protocol):
    """Memory layout of a tensor in its buffer. Kernels say which layouts they read and write, and the planner chooses
    one for each buffer; the model's inputs and outputs are always NHWC. An instruction set's folder may define its own
    layouts: frozen dataclasses, which compare equal if and only if the layouts are identical."""

    name: ClassVar[str]

    @property
    def planes(self) -> tuple[int, int]:
        """For planar layouts (`mote_planar_s8.h`), where each channel has a contiguous line in every row: the bytes of
        a line, and its bytes before the first pixel. (0, 0) for other layouts."""
        ...

    def row_bytes(self, tensor: Tensor, rows: int) -> int:
        """Bytes of one row of a tensor that has `rows` rows."""
        ...

    def load(self, flat: Array, shape: Shape) -> Array:
        """Converts a buffer in this layout to an NHWC array."""
        ...

    def store(self, values: Array) -> Array:
        """Converts an NHWC array to this layout."""
        ...


@dataclass(frozen=True)
class Nhwc:
    """The layout with the channel as innermost dimension, as in model files."""

    name: ClassVar[str] = "nhwc"

    @property
    def planes(self) -> tuple[int, int]:
        return 0, 0

    def row_bytes(self, tensor: Tensor, rows: int) -> int:
        return tensor.nbytes // rows

    def load(self, flat: Array, shape: Shape) -> Array:
        return flat.reshape(shape)

    def store(self, values: Array) -> Array:
        return values

    def __str__(self) -> str:
        return self.name


NHWC = Nhwc()


class Call(StrEnum):
    """Calling convention: how much of its output a kernel computes in one call, and the arguments that say which
    part."""

    FLAT = "flat"
    """Any number of contiguous units (elements or pixels): `kernel(&params, inputs..., out, units)`."""

    ROWS = "rows"
    """Output rows lo..hi-1: `kernel(&params, inputs..., out, lo, hi)`."""

    CHANNELS = "channels"
    """Output channels lo..hi-1, if no output byte is shared by two channels: `kernel(&params, inputs..., out, lo, hi)`.
    Used only where two cores share a layer; no catalogue entry has it, but WHOLE kernels may name such a variant
    (`ByChannels`)."""

    WHOLE = "whole"
    """The whole tensor at once: `kernel(&params, inputs..., out)`."""

    ADDS = "adds"
    """One input row at a time into running sums: `kernel(&params, row, tap, part, sums, out)`, once for each kernel tap
    whose row is inside the image, in any order. Bit 0 of `part` marks the first call, which initializes the sums; bit 1
    the last one, which writes the output. The output may begin at the address of the sums."""

    RING = "ring"
    """Writes new rows into a ring buffer: `kernel(&params, rows, buffer, &oldest)`."""


@dataclass(frozen=True)
class Coding:
    """Counts of the decoding in one call of a kernel for entropy-coded weights (`pack/weights/coding.py`)."""

    symbols: int
    """Number of code symbols that are decoded."""
    expanded: int = 0
    """Number of decoded weights that are written to scratch memory."""
    passes: int = 1
    """Number of passes over the inputs; each pass computes some of the output channels."""


@lru_cache(maxsize=256)
def _instructions(code: tuple[str, ...]) -> int:
    return sum(not line.lstrip().startswith(".") and not line.rstrip().endswith(":") for line in code)


@dataclass(frozen=True)
class Instance:
    """One expansion of a macro in the kernel's header, which defines C functions. `arguments` are constants built into
    the functions; `code` is assembly generated for the layer's shape. Firmware with an interpreter links a fixed set of
    instances, while compiled models may have any."""

    macro: str
    arguments: tuple[str | int, ...]
    code: tuple[str, ...] = ()
    facts: tuple[str | int, ...] = ()
    """Constants in the generated code that are not among the macro's arguments. The parameter checks for model images
    get them, too."""
    apart: bool = field(default=False, compare=False)
    """Whether its code runs after the kernel's main loop and not inside of it, so that an instruction cache need not
    hold both at once."""

    @property
    def instructions(self) -> int:
        """Number of instructions in the assembly: lines that are neither labels nor directives."""
        return _instructions(self.code)

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        given = ", ".join(map(str, self.arguments))
        lines = "".join(f'\n    "{line}\\n"' for line in self.code)
        return f"{self.macro}({given},{lines})" if self.code else f"{self.macro}({given})"

    @property
    def fits(self) -> str:
        """The call of the macro `<macro>_FITS`, which defines the parameter check of this instance, if the kernel's
        header of checks has that macro."""
        return f"{self.macro}_FITS({', '.join(map(str, (*self.arguments, *self.facts)))})"


@dataclass(frozen=True)
class Entry:
    """The C functions of a kernel and the arguments that they take."""

    call: Call = Call.WHOLE
    units: int = 0
    """For FLAT kernels: number of units in the whole output."""
    operands: tuple[int, ...] = (0,)
    """Positions of the operator's inputs that are passed as pointers."""
    taps: int = 0
    """Height of the window in input rows, for kernels that take an array of row pointers."""
    row: str = ""
    """Name of the function that computes one output row from pointers to its input rows, which need not be contiguous:
    `mote_<row>(&params, rows, out)`, followed by the scratch memory if there is any. FLAT kernels need none. A ROWS
    kernel without one is called with `lo` = 0 and the address of the input row."""
    rows: str = ""
    """Name of the function that computes up to `group` consecutive output rows from pointers to all input rows that
    they need: `mote_<rows>(&params, rows, outs, count)`, followed by the scratch memory. Used instead of `row`."""
    ordered: bool = False
    """For ADDS kernels: all rows of the first input must come from top to bottom, and the output must not overlap the
    sums."""
    row_index: bool = False
    """Whether the row function also takes the index of its output row: `(&params, rows, y, out)`."""
    group: int = 1
    """Number of output rows that the kernel prefers to compute in one call where a layer runs row by row."""
    moves: bool = False
    """Whether the kernel copies elements of any type: its row functions take rows as bytes."""
    together: tuple[int, ...] = ()
    """Positions of inputs that must be contiguous even if the kernel computes single output rows: it computes the
    address of every row from that of the first one."""
    fails: bool = False
    """Whether the call can fail because an accelerator does the work: a WHOLE kernel then takes a pointer to an error
    word as last argument, which it sets to 0 on failure. Only runtimes have such kernels."""


@dataclass(frozen=True)
class Needs:
    """Memory requirements of a kernel: scratch memory, alignment, layouts, and which inputs the output may
    overwrite."""

    scratch: int | None = None
    """Scratch memory in bytes; None if the function takes no scratch pointer."""
    sums: int = 0
    """For ADDS kernels: bytes of the running sums."""
    in_place: tuple[int, ...] = ()
    """Positions of inputs that the output may overwrite in place, if they have the same size."""
    overlays: bool = False
    """For WHOLE kernels that copy one input and change parts of it: output row y may overwrite row y of an `in_place`
    input even though other output rows depend on that row, because the kernel reads all values before it overwrites
    them, or leaves them unchanged."""
    reads: Layout = NHWC
    writes: Layout = NHWC
    converts: bool = False
    """Whether it converts its input into another layout itself, which costs more than if the producer writes it so."""
    alignment: int = ALIGNMENT
    """Alignment of the scratch memory in bytes."""
    tensor_alignment: int = ALIGNMENT
    """Alignment in bytes of the input and output tensors, if the kernel runs on whole tensors."""
    memories: tuple[str, ...] = ()
    """Names of the only memories that its tensors and its scratch memory may be placed in; empty: any."""


@dataclass(frozen=True, eq=False)
class Price:
    """Inputs of the cost model: what a kernel's time and flash are estimated from."""

    costs: str = ""
    """Family whose row of the cost table applies; empty until `Kernel.bind` sets it."""
    more: str = ""
    """For fused kernels: second family of the cost table whose cost is added."""
    parts: tuple[Packed, ...] = ()
    """For a fused region that costs as much as its operators: the kernels whose costs are summed, one for each
    operator."""
    excluded_features: tuple[str, ...] = ()
    """For a kernel in another one's `parts`: cost features that are not counted because another part counts them."""
    lanes: int = 1
    """Number of output channels computed at once."""
    groups: int = 1
    """Number of groups of channels whose inputs are read one group after another."""
    tile: tuple[int, int] = (1, 1)
    """Rows and columns of the output tile that is computed at once."""
    tile_rows: int = 1
    """Number of rows of tiles computed at once, if a tile has several rows."""
    whole_tiles: bool = False
    """Whether partial tiles at the edges cost as much as full ones."""
    row_tiles: bool = False
    """Whether tiles that are one row high end with each row, also where several rows are computed at once."""
    whole_windows: bool = False
    """For operators whose channels do not mix (depthwise, pooling): whether the cost includes taps outside of the image
    and a number of channels rounded up to `lanes`."""
    padded: bool = False
    """Whether padding costs as much as pixels, for operators whose channels do not mix."""
    density: float = 1.0
    """Computed products per product of the dense layer: below 1 where zero weights are skipped, above 1 where vectors
    are padded with zero weights."""
    coding: Coding | None = None
    """Cost of decoding the weights; None if they are not coded."""
    cost: float | None = None
    """Estimated cycles if no cost table applies: for kernels built from other kernels, or operators that know their own
    cost. None: use the table."""
    opening: float = 0.0
    """Estimated cycles of set-up in each call, on top of the cost table's estimate."""
    written: int = 0
    """Estimated code bytes of C generated for this operator alone."""
    linked: tuple[tuple[str, int], ...] = ()
    """For code of an external generator: the functions that it calls, each with its estimated code bytes. Several
    layers may share them."""
    amounts: Mapping[str, float] = field(default_factory=dict)
    """For kernels made of others: work counts by cost feature, instead of those of the operator."""
    work: float = 0.0
    """Estimated cycles, which cost tables scale: on a Cortex-M4 for kernels of the SIGNAL family, otherwise for
    kernels whose work no feature describes. 0: the table has costs of features."""


@dataclass(frozen=True, eq=False)
class Sealed:
    """Constants of a kernel that are not read from flash: they are decrypted or copied to the end of its scratch memory
    before each call."""

    arrays: Mapping[str, Array | Structs]
    """The arrays, each by the path of its parameter field, or as `operand_<position>` for a constant input of the
    operator."""
    scratch: int | None
    """Bytes of scratch memory that the kernel itself uses, without these arrays; None if its function takes none."""
    loaded: bool = False
    """Whether they are copied (not decrypted) to avoid wait states of flash. The layer then runs in one call, so that
    each is copied once."""

    @property
    def begin(self) -> int:
        """Offset of the first array in the scratch memory."""
        return aligned(self.scratch or 0, SEALED_ALIGNMENT)

    @property
    def paths(self) -> list[str]:
        """Paths of the arrays that are parameter fields."""
        return [name for name in self.arrays if not name.startswith(_OPERAND)]

    @cached_property
    def offsets(self) -> dict[str, int]:
        """Offset of each array from the first one, in bytes."""
        sizes = [aligned(_nbytes(value), SEALED_ALIGNMENT) for value in self.arrays.values()]
        return dict(zip(self.arrays, accumulate(sizes, initial=0), strict=False))

    @cached_property
    def nbytes(self) -> int:
        return sum(aligned(_nbytes(value), SEALED_ALIGNMENT) for value in self.arrays.values())


def operand_name(position: int) -> str:
    """Name in `Sealed.arrays` of a constant input of the operator, as opposed to a parameter field."""
    return f"{_OPERAND}{position}"


@dataclass(frozen=True, eq=False)
class Biases:
    """Location of a layer's biases in its kernel's parameters, so that biases learned on the device can be added to
    them."""

    path: str
    """Path of the parameter array that contains the biases (structs or 32-bit integers). Empty: a kernel with `starts`,
    which reads them after its own scratch memory."""
    step: int = 0
    """Stride from a channel's bias to the next, in 32-bit words; 0: irregular, see `owners`."""
    scale: NDArray[np.int64] | None = None
    """Scale of each channel's accumulator, by which a learned bias is multiplied: 0 for channels with a constant
    output. None: 1 for all channels."""
    starts: Array | None = None
    """Initial accumulator values without learned biases, if they are not in a parameter array."""
    paired: bool = False
    """Whether every second entry of `starts` also contains the previous channel's value, so that a learned bias is
    added to both."""
    owners: NDArray[np.int64] | None = None
    """For each 32-bit word of the array: 1 + the channel whose bias it contains, or 0 if it contains none."""


@dataclass(frozen=True, eq=False)
class ByChannels:
    """Variant of a WHOLE kernel that two cores call for different output channels."""

    name: str
    """Name of the variant: `mote_<name>` takes the same parameters and a range of channels."""
    instances: tuple[Instance, ...]
    headers: tuple[str, ...]
    """Names of the C headers `mote_<header>.h` that the instances need."""


@dataclass(frozen=True, eq=False)
class Packed:
    """A kernel bound to one operator: a call of the C function `mote_<name>` as data.

    `params` fill its struct `mote_<name>_t` and are read at run time; `instances` are macro expansions with
    compile-time constants.
    """

    name: str
    params: Mapping[str, Value]
    entry: Entry = Entry()
    needs: Needs = Needs()
    price: Price = Price()
    instances: tuple[Instance, ...] = ()
    headers: tuple[str, ...] = ()
    """Names of the C headers `mote_<header>.h` that it needs; the first is the catalogue entry's own."""
    family: str = ""
    """Name of the catalogue entry, or for a generated variant the name of the kernel that it is derived from."""
    isa: frozenset[str] = frozenset()
    """Features of the core whose instructions it uses: those that the kernel requires, or for portable C those that its
    loops use if the core has them."""
    beats: tuple[str, ...] = ()
    """Names of kernels that are worse in every respect for this operator and are not offered for it."""
    sealed: Sealed | None = None
    """Constants that are decrypted or copied to RAM before each call; `params` then contains no arrays."""
    knobs: Knobs = ()
    """Generator parameters that differ from their defaults."""
    biases: Biases | None = None
    """For layers: location of the biases in `params`, if they can be learned on the device."""
    by_channels: ByChannels | None = None
    """For kernels that compute the whole output in one call: the variant for two cores, which splits the output
    channels."""

    @property
    def variant(self) -> str:
        """The kernel's name with the knobs that differ from their defaults, such as `gemm4[columns=2]`."""
        return f"{self.name}{written(self.knobs)}"

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(f"mote_{header}.h" for header in self.headers)

    @cached_property
    def code_bytes(self) -> int:
        """Upper bound for the bytes of assembly, generated for the layer's shape, that execute in one loop and compete
        for the instruction cache."""
        turns = sum(instance.instructions for instance in self.instances if not instance.apart)
        return WORD * max(turns, *(i.instructions for i in self.instances if i.apart), 0)

    @cached_property
    def constants(self) -> int:
        """Bytes of all constant arrays, encrypted or not."""
        return _nbytes(self.params) + (self.sealed.nbytes if self.sealed else 0)

    @property
    def loaded(self) -> bool:
        """Whether its constants are copied to RAM to avoid wait states of flash."""
        return self.sealed is not None and self.sealed.loaded

    def seal(self, operands: Mapping[int, Array], *, loaded: bool = False) -> Packed:
        """The kernel with all constant arrays moved to `sealed`, together with the constant inputs of the operator
        (`operands`, by position). `loaded`: copied to RAM to avoid wait states, not encrypted."""
        arrays = dict(_arrays(self.params)) | {operand_name(p): data for p, data in operands.items()}
        if not arrays:
            return self
        sealed = Sealed(arrays, self.needs.scratch, loaded)
        needs = replace(
            self.needs,
            scratch=sealed.begin + sealed.nbytes,
            alignment=max(self.needs.alignment, SEALED_ALIGNMENT),
        )
        return replace(self, params=_numbers(self.params), needs=needs, sealed=sealed)

    def for_channels(self) -> Packed:
        """The kernel as two cores call it, each for its range of output channels; unchanged if it has no such
        variant."""
        how = self.by_channels
        if how is None:
            return self
        headers = tuple(dict.fromkeys((*self.headers, *how.headers)))
        entry = replace(self.entry, call=Call.CHANNELS)
        return replace(self, name=how.name, instances=how.instances, headers=headers, entry=entry, by_channels=None)

    @property
    def own_flash(self) -> int:
        """Bytes of flash used by this operator alone: its constants, and code generated for it."""
        return self.constants + self.price.written


def written(knobs: Knobs) -> str:
    """Knobs as a suffix of the kernel's name, `[name=value,...]`; empty if there are none."""
    return f"[{','.join(f'{name}={value}' for name, value in knobs)}]" if knobs else ""


def _arrays(params: Mapping[str, Value], path: str = "") -> Iterator[tuple[str, Array | Structs]]:
    """All arrays among nested parameters, each with the path of its field."""
    for name, value in params.items():
        if isinstance(value, Mapping):
            yield from _arrays(value, f"{path}{name}.")
        elif isinstance(value, np.ndarray | Structs):
            yield path + name, value


def _numbers(params: Mapping[str, Value]) -> dict[str, Value]:
    """Parameters without their arrays; nested structs are kept."""
    kept = {name: value for name, value in params.items() if not isinstance(value, np.ndarray | Structs)}
    return {name: _numbers(value) if isinstance(value, Mapping) else value for name, value in kept.items()}


def _nbytes(value: Value) -> int:
    if isinstance(value, Mapping):
        return sum(map(_nbytes, value.values()))
    if isinstance(value, Structs):
        return 4 * value.rows.size
    return value.nbytes if isinstance(value, np.ndarray) else 0


@dataclass(frozen=True)
class Refusal:
    """The reason why a kernel cannot compute an operator; `mote plan` prints it."""

    why: str


@dataclass(frozen=True, eq=False)
class Fixed:
    """The fixed set of kernels in an existing firmware; others must not be chosen."""

    lacks: Callable[[Packed], str]
    """Reason why the firmware cannot run a kernel; empty if it can."""


@dataclass(frozen=True, eq=False)
class View:
    """The input of a kernel's `pack`: an operator or a fused region in its graph, and the layouts that the planner
    wants for its first input and last output."""

    graph: Graph
    ops: tuple[Op, ...]
    reads: Layout = NHWC
    writes: Layout = NHWC
    small: bool = False
    """Whether small flash is preferred to speed."""
    fast: bool = False
    """Whether only speed matters and flash does not."""
    _known: dict[Callable[[View], Any], Any] = field(default_factory=dict, repr=False)

    @property
    def op(self) -> Op:
        return self.ops[0]

    def the(self, kind: type[O]) -> O:
        """The operator, asserted to be of class `kind` for the type checker."""
        assert isinstance(self.op, kind)
        return self.op

    @property
    def input(self) -> Tensor:
        return self.op.input(self.graph)

    @property
    def output(self) -> Tensor:
        return self.ops[-1].output(self.graph)

    def constant(self, position: int) -> Array:
        """The value of a constant input."""
        data = self.op.input(self.graph, position).data
        assert data is not None
        return data

    def once(self, work: Callable[[View], T]) -> T:
        """The result of `work(self)`, memoized: packing weights and searching requantization constants is slow, and
        similar kernels share the results."""
        if work not in self._known:
            self._known[work] = work(self)
        result: T = self._known[work]
        return result


@dataclass(frozen=True)
class Signature:
    """Element types of the first input and of the output that a kernel supports; an empty set means any type."""

    inputs: frozenset[DType] = frozenset()
    outputs: frozenset[DType] = frozenset()
    weights: frozenset[DType] = frozenset()
    """Supported weight types; empty means float32 weights for float32 inputs and int8 weights otherwise."""

    def admits(self, view: View) -> bool:
        pairs = (self.inputs, view.input.dtype), (self.outputs, view.output.dtype)
        fits = all(not types or dtype in types for types, dtype in pairs)
        return fits and all(self._takes(view.graph, op) for op in view.ops)

    def _takes(self, graph: Graph, op: Op) -> bool:
        """Whether the kernel supports the operator's weight type; True if the operator has no weights."""
        if op.weights is None:
            return True
        usual = DType.FLOAT32 if op.input(graph).dtype == DType.FLOAT32 else DType.INT8
        return op.input(graph, op.weights).dtype in (self.weights or {usual})


def signature(inputs: DType, outputs: DType) -> Signature:
    return Signature(frozenset({inputs}), frozenset({outputs}))


INT8 = signature(DType.INT8, DType.INT8)
FLOAT32 = signature(DType.FLOAT32, DType.FLOAT32)
HYBRID = Signature(frozenset({DType.FLOAT32}), frozenset({DType.FLOAT32}), frozenset({DType.INT8}))
"""float32 activations with int8 weights, which stay int8 in flash."""
ANY_TYPE = Signature()


@dataclass(frozen=True, eq=False)
class Kernel:
    """A catalogue entry. Simple conditions are data, so that most kernels are ruled out without calling `pack`."""

    name: str
    computes: tuple[type[Op], ...]
    """The operator classes that it computes: one, or a chain that it fuses, where each output has the next operator as
    its only reader."""
    types: Signature
    pack: Callable[..., Packed | Refusal]
    """Binds the kernel to a view, or refuses it; takes as keywords the knobs that differ from their defaults."""
    header: str = ""
    """The kernel's C file is `mote_<header>.h`; empty: the name of the C function."""
    isa: frozenset[str] = frozenset()
    """Features that the core must have; empty for portable kernels."""
    unless: frozenset[str] = frozenset()
    """Features of cores on which it is not offered, because they have a kernel that is always better."""
    tuned: bool = False
    """Whether the C compiler uses the instructions of `TUNED` in its portable loops if the core has them."""
    lanes: int = 1
    """Number of output channels computed at once."""
    costs: str = ""
    """Family whose row of the cost table applies, if that is not the kernel's own name."""
    work: Callable[[View], float] | None = None
    """For kernels of the SIGNAL family: estimates their cycles on a Cortex-M4."""
    call: Call | None = None
    """ADDS or RING for kernels that the planner requests by calling convention; None for all others."""
    coded: bool = False
    """Whether its weights are entropy-coded; such kernels are only offered where flash is scarce."""
    general: bool = False
    """Whether its code handles layers of any shape; it is then only offered for firmware with a fixed set of
    kernels."""
    reads: Callable[[View], Layout | None] | None = None
    """Returns the layout other than NHWC that it reads its input in, or None if there is none for the shape. None for
    kernels that read NHWC."""
    writes: tuple[type[Layout], ...] = ()
    """Layout classes other than NHWC that it can write its output in."""
    learned: frozenset[int] = frozenset()
    """Positions of the weights and biases that may be states learned on the device; other inputs of a layer must be
    constants."""
    knobs: Callable[[View], Mapping[str, tuple[Knob, ...]]] | None = None
    """Returns the knobs of its generator for an operator, with the values to choose from, the default first; None if it
    has none. `pack` refuses combinations that do not fit."""

    def on(self, features: frozenset[str]) -> bool:
        """Whether it is offered on cores with these features."""
        return self.isa <= features and not self.unless & features

    def keeps_alignment(self, view: View) -> bool:
        """Whether all 32-bit accesses are aligned. In portable C the compiler ensures that; in assembly they are
        aligned if every tensor's channels take a multiple of four bytes."""
        if not self.isa:
            return True
        tensors = (t for op in view.ops for t in (*op.activations(view.graph), op.output(view.graph)))
        return all(t.shape and t.shape[-1] * t.dtype.itemsize % ALIGNMENT == 0 for t in tensors)

    def computed(self, view: View) -> bool:
        """Whether it computes the view's operators with their element types, layouts and learned weights; `pack` may
        still refuse."""
        if len(view.ops) != len(self.computes) or not all(map(isinstance, view.ops, self.computes)):
            return False
        if not (view.writes == NHWC or isinstance(view.writes, self.writes)) or not self.types.admits(view):
            return False
        if not all(self.learned.issuperset(learned(view.graph, op)) for op in view.ops):
            return False
        if self.reads is None or view.reads == NHWC:
            return self.reads is None and view.reads == NHWC
        return view.once(self.reads) == view.reads

    def choices(self, view: View) -> Mapping[str, tuple[Knob, ...]]:
        """The knobs for an operator and their possible values, the default first."""
        return {} if self.knobs is None else view.once(self.knobs)

    def bind(self, view: View, knobs: Knobs = ()) -> Packed | Refusal:
        """Calls `pack` with knob values, and completes the result with the catalogue entry's name, headers, features
        and cost family."""
        choices = self.choices(view) if knobs else {}
        for name, value in knobs:
            if value not in choices.get(name, ()):
                return Refusal(_no_such(name, value, choices))
        given = dict(knobs)
        changed = {name: given[name] for name, values in choices.items() if given.get(name, values[0]) != values[0]}
        with working_on(view.op):
            packed = self.pack(view, **changed)
        if isinstance(packed, Refusal):
            return packed
        family, headers = packed.family or self.name, dict.fromkeys((self.header or packed.name, *packed.headers))
        price = replace(packed.price, costs=packed.price.costs or self.costs or family, lanes=self.lanes)
        if self.work is not None:
            price = replace(price, work=self.work(view))
        isa = self.isa or (TUNED if self.tuned else self.isa)
        return replace(
            packed, family=family, price=price, headers=tuple(headers), isa=isa, knobs=tuple(changed.items())
        )


@dataclass(frozen=True)
class Variant:
    """A kernel with knob values: calling it binds the kernel to an operator."""

    kernel: Kernel
    knobs: Knobs

    def __call__(self, view: View) -> Packed | Refusal:
        return self.kernel.bind(view, self.knobs)


def _no_such(name: str, value: Knob, choices: Mapping[str, tuple[Knob, ...]]) -> str:
    """Error text for an unknown knob or knob value."""
    if name in choices:
        return f"its {name} is one of {', '.join(map(str, choices[name]))}, not {value}"
    return f"it has no knob '{name}'" + (f", but {', '.join(choices)}" if choices else "")


def units_of(shape: Shape, unit: int = 1) -> int:
    """Number of units of `unit` elements in a tensor."""
    return prod(shape) // unit
