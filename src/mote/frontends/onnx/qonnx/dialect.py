"""The dialect QONNX: what its quantizers compute, in NumPy and in ONNX's own operators, and its operators on images
with channels last as ONNX's own between transposes. Beside it RequantShift, the quantizer of PULP's dialect.

Quant(x) = (round(clip(x / scale + zero point)) - zero point) * scale, in float32. The standard operators that a model
is written out in are those that qonnx's executor runs with NumPy and ONNX Runtime, one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import UnsupportedNodeError
from mote.ir.graph.tensor import Array

Reals = NDArray[np.float32]
GENERAL = ("qonnx.custom_op.general", "onnx.brevitas", "finn.custom_op.general")
"""The domains of its quantizers."""
CHANNELS_LAST = ("qonnx.custom_op.channels_last", "finn.custom_op.channels_last")
"""The domains of channels-last operators."""
LAST_OPERATORS = ("Conv", "MaxPool", "BatchNormalization")
QUANTS = ("Quant", "IntQuant")
QUANTIZERS = (*QUANTS, "BipolarQuant", "Trunc", "MultiThreshold")
PULP = ("", "PACTOps", "ai.onnx.contrib")
"""The domains of RequantShift, in files of quantlib (for PULP's DORY and Deeploy)."""
ROUND_SINCE = 11
"""The first opset with Round."""
SUM_OF_INPUT_SINCE = 13
"""The first opset whose ReduceSum has its axes as an input."""
FLOAT, INT32, DOUBLE = 1, 6, 11
"""Numbers of element types in TensorProto."""
MOST_DIV = 30
"""Logarithm of the largest divisor of a RequantShift."""
LARGE = 1.5 * 2**23
OLDEST_STANDARD = 13
"""The opset of a file that imports none."""


def _half_up(x: Reals) -> Reals:
    return np.sign(x) * np.floor(np.abs(x) + np.float32(0.5))


def _half_down(x: Reals) -> Reals:
    return np.sign(x) * np.ceil(np.abs(x) - np.float32(0.5))


def _up(x: Reals) -> Reals:
    return np.sign(x) * np.ceil(np.abs(x))


ROUNDINGS: Mapping[str, Callable[[Reals], Reals]] = {
    "ROUND": np.rint,
    "HALF_EVEN": np.rint,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
    "UP": _up,
    "DOWN": np.trunc,
    "ROUND_TO_ZERO": np.trunc,
    "HALF_UP": _half_up,
    "HALF_DOWN": _half_down,
}
"""Rounding modes, by their names in files."""


def rounding(mode: str) -> str:
    """A known rounding mode."""
    if mode.upper() not in ROUNDINGS:
        raise UnsupportedNodeError(f"the rounding mode {mode} is unknown; supported are {', '.join(ROUNDINGS)}")
    return mode.upper()


@dataclass(frozen=True, eq=False)
class Grid:
    """The grid of a Quant or a BipolarQuant: (code - zero) * scale, for codes from `low` to `high`."""

    scale: Reals
    zero: Reals
    bits: Reals
    signed: bool = True
    narrow: bool = False
    mode: str = "ROUND"
    bipolar: bool = False
    """Codes are the sign, 1 or -1."""

    @property
    def low(self) -> Reals:
        if not self.signed:
            return 0 * self.bits
        return np.float32(self.narrow) - np.float32(2) ** (self.bits - np.float32(1))

    @property
    def high(self) -> Reals:
        one = np.float32(1)
        if self.signed:
            return np.float32(2) ** (self.bits - one) - one
        return np.float32(2) ** self.bits - np.float32(1 + self.narrow)

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and the largest code of a grid with one bit width."""
        if self.bipolar:
            return -1, 1
        of = ROUNDINGS[self.mode]
        return int(of(self.low).reshape(-1)[0]), int(of(self.high).reshape(-1)[0])

    def codes(self, x: Reals) -> Reals:
        steps = x / self.scale + self.zero
        if self.bipolar:
            return np.where(steps >= 0, np.float32(1), np.float32(-1))
        return ROUNDINGS[self.mode](np.minimum(np.maximum(steps, self.low), self.high)).astype(np.float32)

    def __call__(self, x: Reals) -> Reals:
        return ((self.codes(x) - self.zero) * self.scale).astype(np.float32)


def quant_grid(parameters: Sequence[Array], *, signed: bool, narrow: bool, mode: str) -> Grid:
    """The grid of a Quant from its scale, zero point and bit width. One signed bit is bipolar."""
    scale, zero, bits = (np.asarray(given, np.float32) for given in parameters)
    return Grid(scale, zero, bits, signed, narrow, rounding(mode), bool(np.all(bits == 1)) and signed)


def bipolar_grid(scale: Array) -> Grid:
    """The grid of a BipolarQuant."""
    return Grid(np.asarray(scale, np.float32), np.zeros((), np.float32), np.ones((), np.float32), bipolar=True)


@dataclass(frozen=True)
class Shift:
    """A RequantShift: floor((x * mul + add) / div + 1/2), clipped to integers from `low` to `high`."""

    div: int
    low: int
    high: int

    def __call__(self, x: Array, mul: Array, add: Array) -> Reals:
        codes = np.floor((x.astype(np.float64) * mul + add) / self.div + 0.5)
        return np.clip(codes, self.low, self.high).astype(np.float32)


def shift_of(attributes: Mapping[str, Any]) -> Shift:
    """A RequantShift by its attributes, which are tensors of one number, or numbers."""
    levels = number_of(attributes, "n_levels_out" if "n_levels_out" in attributes else "n_levels")
    div, signed = number_of(attributes, "div"), number_of(attributes, "signed")
    if div < 1 or div & (div - 1) or div > 1 << MOST_DIV:
        raise UnsupportedNodeError(f"divides by {div}, which is no power of two up to 2^{MOST_DIV}")
    if levels < 2:
        raise UnsupportedNodeError(f"has {levels} levels")
    return Shift(div, -(levels // 2), levels // 2 - 1) if signed else Shift(div, 0, levels - 1)


def number_of(attributes: Mapping[str, Any], name: str) -> int:
    from onnx import TensorProto, helper, numpy_helper

    if name not in attributes:
        raise UnsupportedNodeError(f"the attribute {name} is missing")
    value = helper.get_attribute_value(attributes[name])
    given = numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)
    if given.size != 1 or given.dtype.kind not in "iufb" or not float(given.reshape(-1)[0]).is_integer():
        raise UnsupportedNodeError(f"the attribute {name} must be one integer")
    return int(given.reshape(-1)[0])


def ends_layer(domain: str, op_type: str) -> bool:
    """Whether an operator quantizes, so that the layer before it may be computed in integers."""
    return domain in GENERAL or (domain in PULP and op_type == "RequantShift")


def reached(x: Reals, thresholds: Reals, axis: int) -> NDArray[np.int64]:
    """The number of thresholds that each element reaches, by rows of thresholds for each channel or one for all."""
    above = np.moveaxis(x, axis, -1)[..., None] >= thresholds
    return np.moveaxis(np.count_nonzero(above, axis=-1), -1, axis)


# Models in ONNX's own operators


def channels_first(model: Any) -> None:
    """Rewrite channels-last operators as standard ones between transposes."""
    from onnx import helper

    graph = model.graph
    if not any(_is_last(node) for node in graph.node):
        return
    ranks = _ranks(graph)
    nodes = []
    for node in graph.node:
        if not _is_last(node):
            nodes.append(node)
            continue
        rank = _rank(node, ranks)
        first, last = (0, rank - 1, *range(1, rank - 1)), (0, *range(2, rank), 1)
        turned = [
            f"{name} (channels first of {node.output[0]})" if name else "" for name in (*node.input, *node.output)
        ]
        for place in range(min(2 if node.op_type == "Conv" else 1, len(node.input))):
            nodes.append(helper.make_node("Transpose", [node.input[place]], [turned[place]], perm=first))
            node.input[place] = turned[place]
        made, node.output[0], node.domain = node.output[0], turned[len(node.input)], ""
        nodes += [node, helper.make_node("Transpose", [node.output[0]], [made], perm=last)]
    del graph.node[:]
    graph.node.extend(nodes)
    if not any(entry.domain in ("", "ai.onnx") for entry in model.opset_import):
        model.opset_import.append(helper.make_opsetid("", OLDEST_STANDARD))


def _is_last(node: Any) -> bool:
    named = node.domain in CHANNELS_LAST and node.op_type in LAST_OPERATORS
    return named and bool(node.input) and bool(node.output)


def _ranks(graph: Any) -> dict[str, int]:
    """The ranks of values, as far as the file has them."""
    infos = (*graph.input, *graph.output, *graph.value_info)
    ranks = {i.name: len(i.type.tensor_type.shape.dim) for i in infos if i.type.tensor_type.HasField("shape")}
    return ranks | {t.name: len(t.dims) for t in graph.initializer}


def _rank(node: Any, ranks: Mapping[str, int]) -> int:
    """The rank of a node's images: that of its window plus two."""
    window = next((len(a.ints) + 2 for a in node.attribute if a.name == "kernel_shape"), 0)
    return window or next((ranks[name] for name in (node.input[0], node.output[0]) if name in ranks), 4)


def written_out(model: Any) -> str:
    """Rewrite a model's quantizers as standard operators, which ONNX Runtime has; returns the dialect's name, empty
    where there are none."""
    channels_first(model)
    version = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), ROUND_SINCE)
    names = set()
    nodes: list[Any] = []
    for place, node in enumerate(model.graph.node):
        general = node.domain in GENERAL and node.op_type in QUANTIZERS
        if general or (node.domain in PULP and node.op_type == "RequantShift"):
            nodes += _Steps(node, place, version).nodes()
            names.add("QONNX" if general else "PULP")
        else:
            nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return " and ".join(sorted(names))


class _Steps:
    """The nodes of one decomposed quantizer."""

    def __init__(self, node: Any, place: int, version: int) -> None:
        from onnx import helper

        self.node, self.place, self.version = node, place, version
        self.made: list[Any] = []
        given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        self.given = {name: value.decode() if isinstance(value, bytes) else value for name, value in given.items()}

    def nodes(self) -> Sequence[Any]:
        x, *given = self.node.input
        if self.node.op_type == "RequantShift":
            return self._ended(self._shifted(x, *given))
        scale, *rest = (self._op("Cast", name, to=FLOAT) for name in given)
        if self.node.op_type == "BipolarQuant":
            result = self._op("Mul", self._sign(x), scale)
        elif self.node.op_type == "Trunc":
            result = self._trunc(x, scale, *rest)
        elif self.node.op_type == "MultiThreshold":
            result = self._thresholded(x, scale)
        else:
            result = self._quant(x, scale, *rest)
        return self._ended(result)

    def _ended(self, result: str) -> Sequence[Any]:
        from onnx import helper

        return [*self.made, helper.make_node("Identity", [result], [self.node.output[0]])]

    def _op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        name = f"{self.node.output[0]} (step {len(self.made)} of {self.place})"
        self.made.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def _number(self, value: float) -> str:
        return self._constant(np.array(value, np.float32))

    def _double(self, value: float) -> str:
        return self._constant(np.array(value, np.float64))

    def _integers(self, *values: int) -> str:
        return self._constant(np.array(values, np.int64))

    def _constant(self, value: Array) -> str:
        from onnx import numpy_helper

        return self._op("Constant", value=numpy_helper.from_array(value))

    def _sign(self, x: str) -> str:
        negative = self._op("Less", x, self._number(0))
        return self._op("Where", negative, self._number(-1), self._number(1))

    def _bound(self, bits: str, *, high: bool) -> str:
        signed, narrow, one, two = self._flag("signed"), self._flag("narrow"), self._number(1), self._number(2)
        if signed:
            half = self._op("Pow", two, self._op("Sub", bits, one))
            return self._op("Sub", half, one) if high else self._op("Sub", self._number(narrow), half)
        return self._op("Sub", self._op("Pow", two, bits), self._number(1 + narrow)) if high else self._number(0)

    def _flag(self, name: str) -> int:
        """A flag of a quantizer; those of Trunc but `signed` default to 0, all others to 1."""
        return int(self.given.get(name, int(name == "signed" or self.node.op_type != "Trunc")))

    def _quant(self, x: str, scale: str, zero: str, bits: str) -> str:
        steps = self._op("Add", self._op("Div", x, scale), zero)
        codes = self._rounded(self._clipped(steps, bits))
        if self._flag("signed"):
            one = self._op("Less", self._op("Abs", self._op("Sub", bits, self._number(1))), self._number(1e-6))
            codes = self._op("Where", one, self._sign(steps), codes)
        return self._op("Mul", self._op("Sub", codes, zero), scale)

    def _clipped(self, steps: str, bits: str) -> str:
        above = self._op("Max", steps, self._bound(bits, high=False))
        return self._op("Min", above, self._bound(bits, high=True))

    def _trunc(self, x: str, scale: str, zero: str, bits: str, *rest: str) -> str:
        steps = self._even(self._op("Add", self._op("Div", x, scale), zero))
        two = self._number(2)
        if len(rest) == 1:
            parts = self._op("Pow", two, self._op("Sub", bits, rest[0]))
            codes = self._rounded(self._op("Div", steps, parts), "FLOOR")
            return self._op("Mul", self._op("Sub", codes, zero), scale)
        log2 = self._op("Div", self._op("Log", self._op("Div", rest[0], scale)), self._number(np.log(2)))
        parts = self._op("Pow", two, self._even(log2))
        codes = self._rounded(self._clipped(self._op("Div", steps, parts), rest[1]), "FLOOR")
        return self._op("Mul", self._op("Sub", codes, self._op("Div", zero, parts)), rest[0])

    def _shifted(self, x: str, *parameters: str) -> str:
        """In float64, where all of it is exact. Fractions, which only the model's inputs may have, are truncated."""
        shift = shift_of({a.name: a for a in self.node.attribute})
        x, mul, add = (self._op("Cast", name, to=DOUBLE) for name in (self._op("Cast", x, to=INT32), *parameters))
        half, div, low, high = (self._double(value) for value in (0.5, shift.div, shift.low, shift.high))
        quotient = self._op("Div", self._op("Add", self._op("Mul", x, mul), add), div)
        codes = self._op("Floor", self._op("Add", quotient, half))
        return self._op("Cast", self._op("Min", self._op("Max", codes, low), high), to=FLOAT)

    def _thresholded(self, x: str, thresholds: str) -> str:
        """The number of thresholds that elements reach: comparisons with all of their channel, added up."""
        shape = self._op("Shape", x)
        if str(self.given.get("data_layout", "NCHW")).endswith("C"):
            axis, each = -1, self._op("Reshape", x, self._op("Concat", shape, self._integers(1), axis=0))
        else:
            axis, each = 2, self._op("Reshape", x, self._integers(0, 0, 1, -1))
            thresholds = self._op("Reshape", thresholds, self._integers(0, 0, 1))
        reached = self._op("Cast", self._op("Not", self._op("Less", each, thresholds)), to=FLOAT)
        if self.version >= SUM_OF_INPUT_SINCE:
            counts = self._op("ReduceSum", reached, self._integers(axis), keepdims=0)
        else:
            counts = self._op("ReduceSum", reached, axes=[axis], keepdims=0)
        scale, bias = (self._number(float(self.given.get(name, n))) for name, n in (("out_scale", 1), ("out_bias", 0)))
        return self._op("Add", self._op("Mul", self._op("Reshape", counts, shape), scale), bias)

    def _even(self, x: str) -> str:
        """Rounding of halves to even; in opsets without Round by adding and subtracting a large number."""
        if self.version >= ROUND_SINCE:
            return self._op("Round", x)
        large = self._number(LARGE)
        return self._op("Sub", self._op("Add", x, large), large)

    def _rounded(self, x: str, default: str = "ROUND") -> str:
        mode = rounding(str(self.given.get("rounding_mode", default)))
        if mode in ("ROUND", "HALF_EVEN"):
            return self._even(x)
        if mode in ("CEIL", "FLOOR"):
            return self._op(mode.capitalize(), x)
        size, half = self._op("Abs", x), self._number(0.5)
        whole = {
            "UP": lambda: self._op("Ceil", size),
            "DOWN": lambda: self._op("Floor", size),
            "ROUND_TO_ZERO": lambda: self._op("Floor", size),
            "HALF_UP": lambda: self._op("Floor", self._op("Add", size, half)),
            "HALF_DOWN": lambda: self._op("Ceil", self._op("Sub", size, half)),
        }[mode]()
        return self._op("Mul", self._op("Sign", x), whole)
