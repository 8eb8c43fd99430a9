"""The contract of a kernel: what it computes, what it needs, and how it is given its work, as data.

A `Kernel` is an entry of the catalogue: which operators it computes, between which types, on which cores. Its `pack`
takes a `View` (an operator with its tensors, constants and value ranges) and gives `Packed`, all that a plan, the code
generator and an interpreter need to call it for that operator, or a `Refusal` that says why it does not fit. Whether
the constants of a fast kernel exist is only known once they were looked for, so one function answers both questions.
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
"""The name in the tables of costs of kernels of preprocessing and post-processing."""
OTHER, OTHER_S16, OTHER_F32 = "other", "other_s16", "other_f32"
"""The names in the tables of costs of all kernels that nothing has to choose between and that take little of a model's
time: for int8 and for moves of any type, for int16, and for floating point."""

TUNED = frozenset({"dsp"})
"""The features whose instructions loops in portable C use."""

Knob = int | str
"""A value of a parameter of a kernel's generator."""
Knobs = tuple[tuple[str, Knob], ...]
"""Values of some of these parameters, by name."""

T = TypeVar("T")
O = TypeVar("O", bound=Op)  # noqa: E741

ALIGNMENT = 4
"""Every strip of rows, and all working memory, starts at a multiple of this many bytes; rows also at one of the size of
their elements."""
SEALED_ALIGNMENT = 8
"""Alignment in bytes of constants that are decrypted, whatever their type."""
_OPERAND = "operand_"


def aligned(nbytes: int, alignment: int = ALIGNMENT) -> int:
    return -(-nbytes // alignment) * alignment


@dataclass(frozen=True, eq=False)
class Structs:
    """A constant array of C structs, one row of integers each (`mote_channel_t`, say)."""

    ctype: str
    rows: NDArray[np.int64]


Value = int | float | Array | Structs | Mapping[str, "Value"]
Params = dict[str, Value]
"""The fields of a kernel's struct: numbers, which take four bytes each; arrays, which become constants in flash; nested
mappings, which become nested structs."""


class Layout(Protocol):
    """How a tensor lies in its buffer. Kernels say what they read and write, the planner chooses for each buffer; the
    model's inputs and outputs are always NHWC. A folder of kernels may bring layouts of its own: frozen dataclasses,
    which compare equal where tensors lie the same."""

    name: ClassVar[str]

    @property
    def planes(self) -> tuple[int, int]:
        """Where each channel has a line of its own inside a row, as in `mote_planar_s8.h`: the bytes of a line, and
        those before its first pixel. Zeros otherwise."""
        ...

    def row_bytes(self, tensor: Tensor, rows: int) -> int:
        """Bytes of a row, of a tensor that has so many of them."""
        ...

    def load(self, flat: Array, shape: Shape) -> Array:
        """A buffer's elements as NHWC values."""
        ...

    def store(self, values: Array) -> Array:
        """NHWC values as they lie in a buffer."""
        ...


@dataclass(frozen=True)
class Nhwc:
    """Channels innermost, the order of the model file."""

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
    """How much of its output a kernel computes in a call, and the arguments that say so."""

    FLAT = "flat"
    """Any run of units (elements or pixels): `kernel(&params, inputs..., out, units)`."""

    ROWS = "rows"
    """Output rows lo..hi-1: `kernel(&params, inputs..., out, lo, hi)`."""

    CHANNELS = "channels"
    """Output channels lo..hi-1, where no byte of the output is of two channels: `kernel(&params, inputs..., out, lo,
    hi)`. Only two cores call kernels so; the catalogue has WHOLE ones, which name them (`ByChannels`)."""

    WHOLE = "whole"
    """The whole tensor only: `kernel(&params, inputs..., out)`."""

    ADDS = "adds"
    """One input row at a time into running sums: `kernel(&params, row, tap, part, sums, out)`, once for each tap whose
    row lies inside the image, in any order. Bit 0 of `part` is set in the first call, which begins the sums, bit 1 in
    the last one, which turns them into the output; that may lie where the sums begin."""

    RING = "ring"
    """New rows into a ring buffer: `kernel(&params, rows, buffer, &oldest)`."""


@dataclass(frozen=True)
class Coding:
    """The work of a kernel that decodes compressed weights (see `pack/coding.py`)."""

    symbols: int
    """Codes that it decodes."""
    expanded: int = 0
    """Weights that it writes into working memory."""
    passes: int = 1
    """How often it goes through its inputs, each time for some of the channels."""


@lru_cache(maxsize=256)
def _instructions(code: tuple[str, ...]) -> int:
    return sum(not line.lstrip().startswith(".") and not line.rstrip().endswith(":") for line in code)


@dataclass(frozen=True)
class Instance:
    """A macro of the kernel's header that defines functions with `arguments`, what is known at compile time, built into
    them; `code` is assembly that was made for the shape. An interpreter links a fixed set of instances, the compiler
    any."""

    macro: str
    arguments: tuple[str | int, ...]
    code: tuple[str, ...] = ()
    facts: tuple[str | int, ...] = ()
    """Constants built into the code beside the arguments, for the check of parameters in images."""
    apart: bool = field(default=False, compare=False)
    """It runs behind the kernel's other code, not in turns with it, so that a cache need not keep both."""

    @property
    def instructions(self) -> int:
        """Lines of the assembly that are neither labels nor directives."""
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
        """The macro beside it that defines the check of parameters, where the kernel's header of checks has one."""
        return f"{self.macro}_FITS({', '.join(map(str, (*self.arguments, *self.facts)))})"


@dataclass(frozen=True)
class Entry:
    """The C functions of a kernel, and the arguments that they take."""

    call: Call = Call.WHOLE
    units: int = 0
    """FLAT kernels: how many units the whole output has."""
    operands: tuple[int, ...] = (0,)
    """The positions of the operator's inputs that are passed as pointers."""
    taps: int = 0
    """Rows of the window, for kernels that keep a pointer to each."""
    row: str = ""
    """The function that computes one output row wherever its input rows lie: `mote_<row>(&params, rows, out)`, and the
    scratch memory where there is some. FLAT kernels need none; other ROWS kernels without one read row `lo` of
    every operand at the operand's address for `lo` = 0."""
    rows: str = ""
    """The function that computes up to `group` output rows at once, one below the other, from the input rows under all
    of them: `mote_<rows>(&params, rows, outs, count)`, and the scratch memory. It stands in for `row`."""
    ordered: bool = False
    """ADDS kernels: they take all rows of the first input, from the top, and the output may not lie over the sums."""
    row_index: bool = False
    """The row function takes the number of the row that it computes: `(&params, rows, y, out)`."""
    group: int = 1
    """How many output rows it wants to compute at once, by rows."""
    moves: bool = False
    """It copies elements whatever their type is: to its row functions they are bytes."""
    together: tuple[int, ...] = ()
    """The positions of inputs whose rows lie one after another also where it is called for rows of the output: it finds
    all of them from where the first one begins."""
    fails: bool = False
    """An accelerator does the work, and may fail: the function of a WHOLE kernel takes the address of a word after all
    else, which it sets to 0 then. Only runtimes have such kernels."""


@dataclass(frozen=True)
class Needs:
    """The memory that a kernel works in, and how its tensors must lie."""

    scratch: int | None = None
    """Working memory in bytes, None where the function takes none."""
    sums: int = 0
    """Bytes of the running sums of an ADDS kernel."""
    in_place: tuple[int, ...] = ()
    """The positions of inputs that the output may lie over, where they are of the same size."""
    overlays: bool = False
    """It runs whole, and row y of its output may lie over row y of such an input whatever else is computed from that:
    it has read what it writes over, or leaves it as it is."""
    reads: Layout = NHWC
    writes: Layout = NHWC
    converts: bool = False
    """It brings its input into another layout by itself: better where that cannot be written there at once."""
    alignment: int = ALIGNMENT
    """Alignment in bytes of its scratch memory."""
    tensor_alignment: int = ALIGNMENT
    """Alignment in bytes of the tensors that it reads and writes, where it runs whole."""
    memories: tuple[str, ...] = ()
    """The only memories, by name, that these and its working memory may lie in; none named: any."""


@dataclass(frozen=True, eq=False)
class Price:
    """The inputs of the estimates of a kernel's time and flash."""

    costs: str = ""
    """Its name in the tables of costs: the family, unless it costs like others."""
    more: str = ""
    """The name in these tables of what it does beside that, where it computes several operators."""
    parts: tuple[Packed, ...] = ()
    """Of a region that costs what its operators do: a kernel for each of them."""
    paid: tuple[str, ...] = ()
    """Of such a part: features that it does not take time for, because another part does."""
    lanes: int = 1
    """Output channels that it computes at once."""
    tile: tuple[int, int] = (1, 1)
    """How many rows and columns of the output it computes at once."""
    tile_rows: int = 1
    """Rows of tiles that it computes at once, where tiles have several rows."""
    whole_tiles: bool = False
    """Where fewer are left it computes as many all the same."""
    whole_windows: bool = False
    """Where channels do not mix: it computes what is outside of the image, too, and as many channels as at once."""
    padded: bool = False
    """Where channels do not mix: it computes with padding as with pixels."""
    density: float = 1.0
    """The share of its products that are computed: the others have weights of zero; above 1 where it computes more,
    with weights of zero that pad vectors."""
    coding: Coding | None = None
    """Where its weights are coded."""
    cost: float | None = None
    """About what it takes, where no table says that: it is made of other kernels, or its own operator says more."""
    opening: float = 0.0
    """About the cycles of what it does first in each call, beside the work of a table's family."""
    written: int = 0
    """Bytes of code, about, of C that was written for this operator alone."""
    linked: tuple[tuple[str, int], ...] = ()
    """Of an external generator's: the functions that it calls, each with its bytes of code, about. Others may call them
    too."""
    work: float = 0.0
    """About the cycles that it takes on a Cortex-M4, of kernels in the family SIGNAL: a table says how many times as
    many another core takes."""


@dataclass(frozen=True, eq=False)
class Sealed:
    """Constants that a kernel finds in RAM: before it is called they are decrypted or copied into its working memory,
    behind the part that it uses itself."""

    arrays: Mapping[str, Array | Structs]
    """By the path of the parameter, or by `operand_<position>`."""
    scratch: int | None
    """The kernel's own working memory in bytes, None where its function takes none."""
    loaded: bool = False
    """They are copied because flash is waited for. The layer then runs whole, so that each is read from flash once."""

    @property
    def begin(self) -> int:
        """Where the first of them lies in the working memory."""
        return aligned(self.scratch or 0, SEALED_ALIGNMENT)

    @property
    def paths(self) -> list[str]:
        """The parameters among them."""
        return [name for name in self.arrays if not name.startswith(_OPERAND)]

    @cached_property
    def offsets(self) -> dict[str, int]:
        """Where each of them lies, from the first one on."""
        sizes = [aligned(_nbytes(value), SEALED_ALIGNMENT) for value in self.arrays.values()]
        return dict(zip(self.arrays, accumulate(sizes, initial=0), strict=False))

    @cached_property
    def nbytes(self) -> int:
        return sum(aligned(_nbytes(value), SEALED_ALIGNMENT) for value in self.arrays.values())


def operand_name(position: int) -> str:
    """The name of a constant among those that are sealed, which is no parameter but an input of the operator."""
    return f"{_OPERAND}{position}"


@dataclass(frozen=True, eq=False)
class Biases:
    """Where the biases of a layer's channels lie among its kernel's parameters, so that learned ones can be added."""

    path: str
    """The parameter: an array of structs or of 32-bit integers. Empty: it finds them behind its own working memory."""
    step: int = 0
    """32-bit words from a channel's bias to that of the next one; 0: `owners` says where they are."""
    scale: NDArray[np.int64] | None = None
    """The factor that each channel's sums come with: 0 where its result is always the same; None: 1 for all."""
    starts: Array | None = None
    """Where sums begin without learned biases, if that is no parameter."""
    paired: bool = False
    """Of these the sum of every second channel also has that of the channel before it."""
    owners: NDArray[np.int64] | None = None
    """For each word of the array the channel whose bias it has, counted from 1; 0: it has none."""


@dataclass(frozen=True, eq=False)
class ByChannels:
    """The differences of a call of a WHOLE kernel where two cores compute channels of their own."""

    name: str
    """The kernel that takes a run of channels: `mote_<name>`, with the same parameters."""
    instances: tuple[Instance, ...]
    headers: tuple[str, ...]
    """The C files `mote_<header>.h` of its instances."""


@dataclass(frozen=True, eq=False)
class Packed:
    """A kernel bound to one operator: the call of the C function `mote_<name>`, as data.

    `params` fill its struct `mote_<name>_t`, known at run time; `instances` are what was fixed at compile time.
    """

    name: str
    params: Mapping[str, Value]
    entry: Entry = Entry()
    needs: Needs = Needs()
    price: Price = Price()
    instances: tuple[Instance, ...] = ()
    headers: tuple[str, ...] = ()
    """The C files `mote_<header>.h` that its instances need: that of the catalogue's entry comes first."""
    family: str = ""
    """The kernel's name in the catalogue, or that of the one that it is made from."""
    isa: frozenset[str] = frozenset()
    """Features whose instructions it uses: what its kernel needs, or what its loops in portable C use where the core
    has them."""
    beats: tuple[str, ...] = ()
    """Kernels that are worse in every way for this operator, and so are not offered beside it."""
    sealed: Sealed | None = None
    """Its constants where they are decrypted or copied before it is called; `params` has none then."""
    knobs: Knobs = ()
    """The parameters of its generator that differ from their defaults."""
    biases: Biases | None = None
    """Of a layer, where its biases can be learned."""
    by_channels: ByChannels | None = None
    """How two cores share it, where it computes all of the output in one call otherwise."""

    @property
    def variant(self) -> str:
        """Its name, with the knobs that differ from their defaults: `gemm4[columns=2]`."""
        return f"{self.name}{written(self.knobs)}"

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(f"mote_{header}.h" for header in self.headers)

    @cached_property
    def code_bytes(self) -> int:
        """Bytes of the assembly that was made for its shape and runs in turns, at most."""
        turns = sum(instance.instructions for instance in self.instances if not instance.apart)
        return WORD * max(turns, *(i.instructions for i in self.instances if i.apart), 0)

    @cached_property
    def constants(self) -> int:
        """Bytes of the arrays in its parameters, encrypted or not."""
        return _nbytes(self.params) + (self.sealed.nbytes if self.sealed else 0)

    @property
    def loaded(self) -> bool:
        """Whether its constants are copied to RAM because flash is waited for."""
        return self.sealed is not None and self.sealed.loaded

    def seal(self, operands: Mapping[int, Array], *, loaded: bool = False) -> Packed:
        """The kernel with its constants encrypted, or copied because flash is waited for (`loaded`), and with those of
        the operator's inputs that are constants."""
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
        """The kernel as two cores call it, each for channels of its own, where there is a way to do so."""
        how = self.by_channels
        if how is None:
            return self
        headers = tuple(dict.fromkeys((*self.headers, *how.headers)))
        entry = replace(self.entry, call=Call.CHANNELS)
        return replace(self, name=how.name, instances=how.instances, headers=headers, entry=entry, by_channels=None)

    @property
    def own_flash(self) -> int:
        """Bytes of flash that only this operator takes: constants, and code that was written for it."""
        return self.constants + self.price.written


def written(knobs: Knobs) -> str:
    """Knobs as they stand behind the name of a kernel; empty where there are none."""
    return f"[{','.join(f'{name}={value}' for name, value in knobs)}]" if knobs else ""


def _arrays(params: Mapping[str, Value], path: str = "") -> Iterator[tuple[str, Array | Structs]]:
    """The arrays among parameters by the paths of their fields."""
    for name, value in params.items():
        if isinstance(value, Mapping):
            yield from _arrays(value, f"{path}{name}.")
        elif isinstance(value, np.ndarray | Structs):
            yield path + name, value


def _numbers(params: Mapping[str, Value]) -> dict[str, Value]:
    """Parameters without arrays."""
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
    """Why a kernel does not fit an operator; `mote plan` prints it."""

    why: str


@dataclass(frozen=True, eq=False)
class Fixed:
    """The kernels that a firmware already has: nothing else may be chosen."""

    lacks: Callable[[Packed], str]
    """Why the firmware cannot run a kernel, in words; empty where it can."""


@dataclass(frozen=True, eq=False)
class View:
    """The work that a kernel is bound to: an operator, or a region of them, in its graph, and how the planner wants the
    first input and the last output to lie."""

    graph: Graph
    ops: tuple[Op, ...]
    reads: Layout = NHWC
    writes: Layout = NHWC
    small: bool = False
    """Flash counts more than time."""
    fast: bool = False
    """Flash does not count."""
    _known: dict[Callable[[View], Any], Any] = field(default_factory=dict, repr=False)

    @property
    def op(self) -> Op:
        return self.ops[0]

    def the(self, kind: type[O]) -> O:
        """The operator, of which it is known what it is."""
        assert isinstance(self.op, kind)
        return self.op

    @property
    def input(self) -> Tensor:
        return self.op.input(self.graph)

    @property
    def output(self) -> Tensor:
        return self.ops[-1].output(self.graph)

    def constant(self, position: int) -> Array:
        """The value of an input that is known at compile time."""
        data = self.op.input(self.graph, position).data
        assert data is not None
        return data

    def once(self, work: Callable[[View], T]) -> T:
        """The result of `work` on this view, computed once: packing weights and proving constants takes time, and
        kernels that differ in little share it."""
        if work not in self._known:
            self._known[work] = work(self)
        result: T = self._known[work]
        return result


@dataclass(frozen=True)
class Signature:
    """Element types of the first input and of the output that a kernel computes; none named: any."""

    inputs: frozenset[DType] = frozenset()
    outputs: frozenset[DType] = frozenset()
    weights: frozenset[DType] = frozenset()
    """Types of weights; none named: float32 for float32 inputs, int8 for others."""

    def admits(self, view: View) -> bool:
        pairs = (self.inputs, view.input.dtype), (self.outputs, view.output.dtype)
        fits = all(not types or dtype in types for types, dtype in pairs)
        return fits and all(self._takes(view.graph, op) for op in view.ops)

    def _takes(self, graph: Graph, op: Op) -> bool:
        """Whether the operator's weights, if it has any, are of a type that the kernel reads."""
        if op.weights is None:
            return True
        usual = DType.FLOAT32 if op.input(graph).dtype == DType.FLOAT32 else DType.INT8
        return op.input(graph, op.weights).dtype in (self.weights or {usual})


def signature(inputs: DType, outputs: DType) -> Signature:
    return Signature(frozenset({inputs}), frozenset({outputs}))


INT8 = signature(DType.INT8, DType.INT8)
FLOAT32 = signature(DType.FLOAT32, DType.FLOAT32)
HYBRID = Signature(frozenset({DType.FLOAT32}), frozenset({DType.FLOAT32}), frozenset({DType.INT8}))
"""float32 with int8 weights, which stay a byte each in flash."""
ANY_TYPE = Signature()


@dataclass(frozen=True, eq=False)
class Kernel:
    """An entry of the catalogue. Cheap facts are data, so that most kernels are ruled out without being asked."""

    name: str
    computes: tuple[type[Op], ...]
    """The operator that it computes, or those that it computes together, each the only reader of the one before."""
    types: Signature
    pack: Callable[..., Packed | Refusal]
    """Takes the view, and by keyword the knobs that differ from their defaults."""
    header: str = ""
    """The C file `mote_<header>.h`; the name and the type where it is not given."""
    isa: frozenset[str] = frozenset()
    """Features that the core must have."""
    unless: frozenset[str] = frozenset()
    """Features for which there are other kernels that are always better."""
    tuned: bool = False
    """Its loops in portable C use the instructions of `TUNED` where the core has them."""
    lanes: int = 1
    """Output channels that it computes at once."""
    costs: str = ""
    """Its name in the tables of costs, where it costs like others."""
    work: Callable[[View], float] | None = None
    """About the cycles that it takes on a Cortex-M4, of kernels in the family SIGNAL."""
    call: Call | None = None
    """ADDS or RING, which are asked for by name; None: one of the others."""
    coded: bool = False
    """Its weights are coded, which is offered only where flash is what counts."""
    general: bool = False
    """Its code takes layers of any shape: it is offered only where the kernels of a firmware are fixed."""
    reads: Callable[[View], Layout | None] | None = None
    """The layout other than NHWC in which it reads its input, if it does; None where there is none for the shape."""
    writes: tuple[type[Layout], ...] = ()
    """The kinds of layouts other than NHWC that it can write."""
    learned: frozenset[int] = frozenset()
    """The positions of a layer's weights and bias that may be states, which learn; others must be constants."""
    knobs: Callable[[View], Mapping[str, tuple[Knob, ...]]] | None = None
    """The parameters of its generator, and the values to choose from for an operator, of which the first is the
    default; None where it has no parameters. `pack` refuses combinations that do not fit."""

    def on(self, features: frozenset[str]) -> bool:
        """Whether it is for cores with these features."""
        return self.isa <= features and not self.unless & features

    def keeps_alignment(self, view: View) -> bool:
        """Whether all words that it loads and stores lie at multiples of four. In portable C the compiler sees to that;
        assembly does it where the channels of all tensors come in words."""
        if not self.isa:
            return True
        tensors = (t for op in view.ops for t in (*op.activations(view.graph), op.output(view.graph)))
        return all(t.shape and t.shape[-1] * t.dtype.itemsize % ALIGNMENT == 0 for t in tensors)

    def computed(self, view: View) -> bool:
        """Whether it computes this at all, between tensors of these types and layouts."""
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
        """The knobs that it has for an operator, and their values, the default first."""
        return {} if self.knobs is None else view.once(self.knobs)

    def bind(self, view: View, knobs: Knobs = ()) -> Packed | Refusal:
        """`pack` with some knobs, and with what is known of this kernel."""
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
        turned = tuple(changed.items())
        return replace(packed, family=family, price=price, headers=tuple(headers), isa=isa, knobs=turned)


@dataclass(frozen=True)
class Variant:
    """A kernel with values for its knobs, which can be bound to operators."""

    kernel: Kernel
    knobs: Knobs

    def __call__(self, view: View) -> Packed | Refusal:
        return self.kernel.bind(view, self.knobs)


def _no_such(name: str, value: Knob, choices: Mapping[str, tuple[Knob, ...]]) -> str:
    """Why a kernel cannot have a value for a knob."""
    if name in choices:
        return f"its {name} is one of {', '.join(map(str, choices[name]))}, not {value}"
    return f"it has no knob '{name}'" + (f", but {', '.join(choices)}" if choices else "")


def units_of(shape: Shape, unit: int = 1) -> int:
    """How many units of `unit` elements a tensor has."""
    return prod(shape) // unit
