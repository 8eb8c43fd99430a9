"""The Builder: tensors and operators of a graph under construction, and values that know their layout in tensors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from mote.base.errors import UnsupportedNodeError, working_on
from mote.frontends import limits
from mote.frontends.model import Model, SourceLayer, checked
from mote.frontends.source import EDGES, FixedInput
from mote.ir.graph import Graph, Op, Quantization, State, Tensor
from mote.ir.graph.element_order import Atom, ElementOrder, permuted_axes
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.control.state import Assign
from mote.ir.ops.moves.pad_concat_transpose import Transpose
from mote.ir.ops.moves.reshape import Reshape

NARROWED = {DType.FLOAT64: DType.FLOAT32, DType.FLOAT16: DType.FLOAT32, DType.BFLOAT16: DType.FLOAT32}
"""Element types of files that are computed in another type."""
CHANNELS_LAST, MODEL = EDGES
"""Layout of images in the inputs and outputs of a compiled model: channels last, or as in the file."""

ONE = ElementOrder.plain(1)


@dataclass(frozen=True, eq=False)
class Value:
    """A value of the model's file: its shape and type there, and its tensor. A constant is its data in the file's
    layout, and becomes a tensor in the layout that an operator needs; any other value is in `tensor` with the layout
    `arrangement`."""

    shape: Shape
    dtype: DType
    tensor: int = ABSENT
    arrangement: ElementOrder = ONE
    data: Array | None = None
    name: str = ""
    quant: Quantization | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def constant(self) -> bool:
        return self.data is not None

    @property
    def atoms(self) -> list[Atom]:
        """The parts of the axes, in storage order."""
        arrangement = ElementOrder.plain(self.size) if self.constant else self.arrangement
        atoms = arrangement.split(self.shape)
        assert atoms is not None, f"{self.arrangement} does not fit {self.shape}"
        return atoms

    def axis(self, axis: int) -> int:
        """An axis as a non-negative index; negative ones count from the end."""
        if not -self.rank <= axis < self.rank:
            raise UnsupportedNodeError(f"axis {axis} does not fit a value of the shape {self.shape}")
        return axis % self.rank

    def axes(self, axes: Sequence[int]) -> tuple[int, ...]:
        """Several axes, each non-negative, sorted, without duplicates."""
        return tuple(sorted({self.axis(a) for a in axes}))


def ordered(atoms: Sequence[Atom], axes: Sequence[int], free: Collection[int] = ()) -> list[Atom]:
    """The atoms of some axes, axis after axis: those of free axes in storage order, the others in index order."""
    order = []
    for axis in axes:
        own = [atom for atom in atoms if atom.axis == axis]
        order += own if axis in free else sorted(own)
    return order


def places(atoms: Sequence[Atom]) -> Array:
    """The index along an axis of each element, for an axis whose atoms are stored in this order."""
    counted = sorted(atoms)
    sizes = [atom.size for atom in counted]
    return (
        np.arange(prod(sizes), dtype=np.int64).reshape(sizes).transpose([counted.index(a) for a in atoms]).reshape(-1)
    )


class Builder:
    """Builds the graph of a model, layer by layer."""

    def __init__(self, where: str, edges: str = CHANNELS_LAST, constants: Sequence[FixedInput] = ()) -> None:
        """`constants` are the inputs that are replaced by constants."""
        self.where = where
        self.constants = {fixed.name: fixed for fixed in constants}
        self.edges = edges
        self.tensors: dict[int, Tensor] = {}
        self.warnings: list[str] = []
        self.assumed: list[str] = []
        self._layers: list[SourceLayer] = []
        self._ops: list[Op] = []
        self._inputs: list[int] = []
        self._outputs: list[int] = []
        self._states: list[State] = []
        self._last: list[Op] = []
        self._assigns: list[Op] = []
        self._index, self._name = -1, ""
        self._moved: dict[tuple[int, Shape, tuple[int, ...]], int] = {}
        self._known: dict[tuple[Any, ...], tuple[int, Quantization | None]] = {}

    # Values

    def input(
        self, name: str, shape: Shape, dtype: DType, *, channels_last: bool = False, features: Sequence[str] = ()
    ) -> Value:
        """An input of the model. `channels_last`: it is an image (or a sequence, or a volume) with its channels on axis
        1, which the first layers take channels-last; the input has that layout unless `edges` says otherwise.
        `features`: the column names of a table."""
        if name in self.constants:
            return self.constant(self.constants[name].array(shape, dtype), name)
        dtype = self._computed_type(name, dtype)
        atoms = [Atom(axis, 0, n) for axis, n in enumerate(shape)]
        turned = channels_last and self.edges == CHANNELS_LAST and len(shape) > 2
        if turned:
            atoms = [atoms[0], *atoms[2:], atoms[1]]
        arrangement = ElementOrder.of(atoms)
        stored = tuple(atom.size for atom in atoms)
        i = self._add(stored, dtype, name, arrangement=arrangement if turned else None)
        self.tensors[i] = replace(self.tensors[i], labels=tuple(features))
        self._inputs.append(i)
        return Value(shape, dtype, i, arrangement, name=name)

    def constant(self, array: Array | float | int, name: str = "", quant: Quantization | None = None) -> Value:
        """A constant value. Floats of any width are held as float32."""
        data = np.asarray(array)
        if data.dtype.kind == "f" or data.dtype.name == "bfloat16":
            with np.errstate(over="ignore"):
                data = data.astype(np.float32)
        dtype = DType(data.dtype.name) if data.dtype.name in list(DType) else DType.UNKNOWN
        if not dtype.stored:
            raise UnsupportedNodeError(f"a constant of type {data.dtype} is not supported")
        return Value(data.shape, dtype, data=data, name=name, quant=quant, arrangement=ElementOrder.plain(data.size))

    def placeholder(self, name: str, shape: Shape, dtype: DType) -> Value:
        """A stand-in for the result of an unsupported layer, so that the layers after it are checked too."""
        return self.value(self._add(shape, NARROWED.get(dtype, dtype), name), shape)

    def value(self, tensor: int, shape: Shape, atoms: Sequence[Atom] | None = None) -> Value:
        """The value in a tensor: of that shape, with its atoms stored in this order (by default in index order). It is
        a constant where the tensor is one."""
        t = self.tensors[tensor]
        arrangement = ElementOrder.plain(t.size) if atoms is None else ElementOrder.of(atoms)
        assert prod(arrangement.atoms) == t.size == prod(shape), f"{arrangement} in {t} for {shape}"
        data = None if t.data is None else arrangement.logical(t.data, shape)
        return Value(shape, t.dtype, tensor if data is None else ABSENT, arrangement, data, t.name, t.quant)

    def known(self, value: Value, what: str) -> Array:
        """The data of a value that must be constant."""
        if value.data is None:
            raise UnsupportedNodeError(f"{what} must be a constant, or follow from shapes")
        return value.data

    def named(self, value: Value, name: str) -> Value:
        """The value under a name of the file. The tensor that holds it takes that name, unless it has one."""
        if not value.constant and (t := self.tensors[value.tensor]).inner:
            plain = value.arrangement.is_plain and t.shape == value.shape
            arrangement = None if plain else value.arrangement
            self.tensors[t.id] = replace(t, name=name, inner=False, arrangement=arrangement)
            self._rename(t.id, name)
        return replace(value, name=name)

    def state(self, name: str, initial: Array) -> tuple[Value, int]:
        """A state that the model keeps between inferences: its value before an inference, and the tensor with its value
        after it, which an operator computes or `written` assigns."""
        constant = self.constant(initial)
        before, after = (
            self._add(constant.shape, constant.dtype, f"{name} ({when})", inner=True) for when in ("before", "after")
        )
        self.tensors[after] = replace(self.tensors[after], copy_of=before)
        self._states.append(State(before, after, np.asarray(constant.data)))
        return self.value(before, constant.shape), after

    def written(self, value: Value, after: int) -> None:
        """Assign a value to a state, after all other operators."""
        state = next(s for s in self._states if s.after == after)
        before = self.tensors[state.before]
        if (value.dtype, value.shape) != (before.dtype, before.shape):
            has, wants = f"{value.dtype} {value.shape}", f"{before.dtype} {before.shape}"
            raise UnsupportedNodeError(f"a state of {wants} cannot become {has}")
        inputs = (state.before, self.plain(value))
        self._assigns.append(Assign(inputs=inputs, outputs=(after,), name=self._name, index=self._index))

    # Layers

    @contextmanager
    def layer(self, index: int, code: str, name: str) -> Iterator[None]:
        """Operators that are added inside belong to this layer of the file, which is marked where they are
        unsupported."""
        begin, problem = len(self._ops), None
        self._index, self._name = index, name
        try:
            with working_on(SourceLayer(index, code, name, (), (), ())):
                yield
        except UnsupportedNodeError as reason:
            problem = reason.problem
            del self._ops[begin:]
        own = tuple(self._ops[begin:])
        made = {o for op in own for o in op.outputs}
        inputs = dict.fromkeys(i for op in own for i in op.inputs if i != ABSENT and i not in made)
        outputs = sorted(o for o in made if not self.tensors[o].inner) or sorted(made)[-1:]
        self._layers.append(SourceLayer(index, code, name, tuple(inputs), tuple(outputs), own, problem))
        self._index, self._name = -1, ""

    def op(
        self,
        kind: type[Op],
        inputs: Sequence[int],
        shape: Shape,
        dtype: DType | None = None,
        /,
        *,
        quant: Quantization | None = None,
        **attributes: Any,
    ) -> int:
        """Append an operator and return its output tensor, of the first input's type by default. Operators on constants
        are folded at once."""
        dtype = self.tensors[inputs[0]].dtype if dtype is None else dtype
        output = self._add(shape, dtype, self._name, quant=quant, inner=True)
        made = kind(inputs=tuple(inputs), outputs=(output,), name=self._name, index=self._index, **attributes)
        given = [self.tensors[i] for i in inputs if i != ABSENT]
        if all(t.data is not None for t in given):
            self._fold(made)
        else:
            self._ops.append(made)
        return output

    def several(
        self, kind: type[Op], inputs: Sequence[int], results: Sequence[tuple[Shape, DType]], **attributes: Any
    ) -> list[int]:
        """Append an operator with several outputs, which is not folded."""
        outputs = [self._add(shape, dtype, self._name, inner=True) for shape, dtype in results]
        made = kind(inputs=tuple(inputs), outputs=tuple(outputs), name=self._name, index=self._index, **attributes)
        if problem := made.unsupported(Graph("", self.tensors, (made,), (), made.outputs)):
            raise UnsupportedNodeError(problem)
        self._ops.append(made)
        return outputs

    def maker(self, tensor: int) -> Op | None:
        """The operator that computes a tensor."""
        return next((op for op in reversed(self._ops) if tensor in op.outputs), None)

    def tensor(self, data: Array, quant: Quantization | None = None, name: str = "") -> int:
        """A constant tensor; those with the same data are one."""
        value = self.constant(np.asarray(data, order="C"), quant=quant)
        assert value.data is not None
        key = (value.data.tobytes(), value.shape, value.dtype, name, id(quant))
        if key not in self._known:
            made = self._add(value.shape, value.dtype, name or self._name, quant=quant, data=value.data)
            self._known[key] = made, quant
        return self._known[key][0]

    # Orders of elements

    def arranged(self, value: Value, axes: Sequence[Sequence[int]]) -> int:
        """The tensor of a value whose stored axes consist of these axes each (an empty group is an axis of one
        element)."""
        return self.loosely(value, axes)[0]

    def loosely(
        self, value: Value, axes: Sequence[Sequence[int]], free: Collection[int] = ()
    ) -> tuple[int, list[list[Atom]]]:
        """The tensor of a value whose stored axes are groups of these axes, and the atoms of each stored axis. The
        elements along `free` axes keep their storage order."""
        atoms = value.atoms
        wanted = [ordered(atoms, group, free) for group in axes]
        shape = tuple(prod(atom.size for atom in group) for group in wanted)
        return self.ordered(value, [atom for group in wanted for atom in group], shape), wanted

    def ordered(self, value: Value, atoms: Sequence[Atom], shape: Shape) -> int:
        """The tensor of a value with its atoms stored in this order, under that shape. Constants are rearranged at
        compile time, other values by operators where their layout differs. The atoms may divide the axes otherwise than
        the value does."""
        if value.data is not None:
            return self.tensor(ElementOrder.of(atoms).stored(value.data, shape), value.quant, value.name)
        wanted = ElementOrder.of(atoms)
        if value.arrangement == wanted:
            return self.view(value.tensor, shape)
        return self.view(self._transposed(value.tensor, value.arrangement, wanted, shape), shape)

    def view(self, tensor: int, shape: Shape) -> int:
        """A tensor under another shape."""
        t = self.tensors[tensor]
        if t.shape == shape:
            return tensor
        if (key := (tensor, shape, ())) not in self._moved:
            self._moved[key] = self.op(Reshape, [tensor], shape, quant=t.quant, shape=shape)
        return self._moved[key]

    def channels_last(self, value: Value) -> int:
        """The tensor of an image (or a sequence, or a volume) with its channels, axis 1 of the value, last."""
        return self.arranged(value, [[0], *([a] for a in range(2, value.rank)), [1]])

    def plain(self, value: Value) -> int:
        """The tensor of a value in index order, as the file has it."""
        return self.arranged(value, [[a] for a in range(value.rank)])

    def _transposed(self, tensor: int, has: ElementOrder, wants: ElementOrder, wanted_shape: Shape = ()) -> int:
        """A tensor with its elements in another layout, of that shape where a permutation of its axes has it."""
        move = has.move(wants)
        if move is None:
            plain = ElementOrder.plain(prod(has.atoms))
            return self._transposed(self._transposed(tensor, has, plain), plain, wants, wanted_shape)
        sizes, permutation = permuted_axes(self.tensors[tensor].shape, wanted_shape, *move) or move
        if (key := (tensor, sizes, permutation)) not in self._moved:
            shape = tuple(sizes[i] for i in permutation)
            source, quant = self.view(tensor, sizes), self.tensors[tensor].quant
            self._moved[key] = self.op(Transpose, [source], shape, quant=quant, permutation=permutation)
        return self._moved[key]

    # The end

    def output(
        self,
        value: Value,
        name: str,
        labels: Sequence[str] = (),
        through: Callable[[Builder, Value], Value] | None = None,
    ) -> None:
        """Add an output of the model: channels-last where the value is stored so and `edges` allows it, else as in the
        file. `labels`: the class names that it indexes; `through`: a function that is applied to it first."""
        self._name = name
        begin = len(self._ops)
        value = value if through is None else through(self, value)
        channels_last = ordered(value.atoms, [0, *range(2, value.rank), 1]) if value.rank > 2 else []
        moved = not value.constant and not value.arrangement.is_plain
        turned = self.edges == CHANNELS_LAST and moved and value.atoms == channels_last
        axes = [0, *range(2, value.rank), 1] if turned else list(range(value.rank))
        shape = tuple(value.shape[a] for a in axes)
        atoms = ordered(value.atoms, axes)
        tensor = self.ordered(value, atoms, shape)
        t = self.tensors[tensor]
        given = tensor in (*self._inputs, *self._outputs, *(s.before for s in self._states)) or t.data is not None
        if given or not (t.inner or t.name == name):
            tensor = self._copy(t)
        if t.data is not None:
            self.warnings.append(f"output '{name}' is a constant, which is copied")
        plain = axes == list(range(value.rank))
        arrangement = None if plain else ElementOrder.of(atoms)
        self.tensors[tensor] = replace(
            self.tensors[tensor], name=name, inner=False, arrangement=arrangement, labels=tuple(labels)
        )
        self._rename(tensor, name)
        self._last += self._ops[begin:]
        self._name = ""
        self._outputs.append(tensor)

    def finish(self) -> Model:
        """The model, with its unsupported layers marked."""
        limits.check_layers(len(self._layers))
        edges = tuple(self._inputs), tuple(self._outputs)
        states, last, warnings = tuple(self._states), (*self._last, *self._assigns), tuple(self.warnings)
        model = Model(self.where, self.tensors, tuple(self._layers), *edges, states, (), last, warnings)
        return checked(replace(model, assumed=tuple(self.assumed)))

    def _copy(self, t: Tensor) -> int:
        """Another tensor with the same elements."""
        made = self._add(t.shape, t.dtype, t.name, quant=t.quant, inner=True)
        self._ops.append(Reshape(inputs=(t.id,), outputs=(made,), name=self._name, index=self._index, shape=t.shape))
        return made

    def _fold(self, op: Op) -> None:
        """Evaluate an operator whose inputs are all constant."""
        graph = Graph("", self.tensors, (op,), (), op.outputs)
        if problem := op.unsupported(graph):
            raise UnsupportedNodeError(problem)
        folded = graph.evaluate({})[op.outputs[0]]
        self.tensors[op.outputs[0]] = replace(self.tensors[op.outputs[0]], data=folded)

    def _rename(self, tensor: int, name: str) -> None:
        """Name an operator after the tensor that it computes."""
        for i in range(len(self._ops) - 1, -1, -1):
            if tensor in self._ops[i].outputs:
                self._ops[i] = self._ops[i].with_(name=name)
                return

    def _computed_type(self, name: str, dtype: DType) -> DType:
        if dtype in NARROWED:
            self.warnings.append(f"'{name}' is {dtype} in the file, and computed in {NARROWED[dtype]}")
            return NARROWED[dtype]
        if not dtype.computable:
            raise UnsupportedNodeError(f"'{name}' has type {dtype}")
        return dtype

    def _add(
        self,
        shape: Shape,
        dtype: DType,
        name: str,
        *,
        quant: Quantization | None = None,
        data: Array | None = None,
        arrangement: ElementOrder | None = None,
        inner: bool = False,
    ) -> int:
        i = len(self.tensors)
        t = Tensor(i, name, shape, dtype, quant, data, inner=inner, arrangement=arrangement)
        limits.check_tensor(t, constant=data is not None)
        self.tensors[i] = t
        return i
