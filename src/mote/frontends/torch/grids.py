"""Which nodes of a program that was quantized by the PT2E flow can run on int8 codes.

PyTorch runs such a program in float: it dequantizes, computes, and quantizes the results. Groups of nodes that begin
with dequantized values and end with quantized ones can be computed on the codes alone: they are found here.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mote.frontends.torch.program import TorchProgram
from mote.ir.graph.types import Activation, DType

QUANTIZE = "quantized_decomposed.quantize_per_tensor.default"
DEQUANTIZE = "quantized_decomposed.dequantize_per_tensor.default"
PER_CHANNEL = "quantized_decomposed.dequantize_per_channel.default"
BYTES = {"torch.int8": DType.INT8, "torch.uint8": DType.UINT8}
"""Code types."""
MOVES = frozenset(
    f"aten.{name}"
    for name in (
        *("view.default", "unsqueeze.default", "squeeze.dims", "permute.default", "expand.default", "clone.default"),
        *("alias.default", "slice.Tensor", "select.int", "split_with_sizes.default", "flip.default", "roll.default"),
        *("repeat.default", "pixel_shuffle.default", "pixel_unshuffle.default", "constant_pad_nd.default"),
        *("max_pool2d_with_indices.default", "upsample_nearest2d.vec", "amax.default", "index_select.default"),
        *("reflection_pad1d.default", "reflection_pad2d.default", "replication_pad2d.default"),
    )
)
"""Operators whose results are elements of their operands, on codes as on floats."""
LIMITS: Mapping[tuple[float, float], Activation] = {
    (0, math.inf): Activation.RELU,
    (0, 6): Activation.RELU6,
    (-1, 1): Activation.RELU_N1_TO_1,
    (0, 1): Activation.RELU_0_TO_1,
}
"""Bounds of results that are fused activations."""
FUNCTIONS = frozenset(
    f"aten.{name}.default"
    for name in (
        *("relu", "relu6", "hardtanh", "sigmoid", "tanh", "hardswish", "hardsigmoid", "gelu", "silu", "mish", "elu"),
        *("leaky_relu", "softplus", "abs", "neg", "exp", "sqrt", "clamp", "square", "celu", "selu"),
    )
)
"""Element-wise functions, which are lookup tables of codes."""


@dataclass(frozen=True)
class Grid:
    """scale * (code - zero), over the range of a code type or some of it."""

    scale: float
    zero: int
    dtype: DType
    low: int
    high: int

    @property
    def whole(self) -> bool:
        """Whether it has all codes of its type."""
        return (self.low, self.high) == self.dtype.limits

    @property
    def inverse(self) -> float:
        """The reciprocal of the scale, by which PyTorch multiplies to quantize."""
        return 1.0 / self.scale


@dataclass(frozen=True)
class Group:
    """Nodes that are computed on codes: the first one, those whose results are on the grid of the final quantization,
    and the operands, each with a grid of its own."""

    anchor: Any
    between: tuple[Any, ...]
    end: Any
    grid: Grid
    activation: Activation
    operands: tuple[Any, ...]


@dataclass
class Grids:
    """The grids of a program's values by name, and its groups by the name of their first node."""

    program: TorchProgram
    of: dict[str, Grid] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)

    @classmethod
    def collect(cls, program: TorchProgram) -> Grids:
        grids = cls(program)
        for node in program.nodes:
            grids._visit(node)
        return grids

    def _visit(self, node: Any) -> None:
        code = str(node.target)
        if code == DEQUANTIZE:
            if node.args[0].name not in self.program.given and (grid := grid_of(node)):
                self.of[node.name] = grid
        elif code in MOVES or node.target is operator.getitem:
            source = node.args[0]
            if source.name in self.of and not _fills(node):
                self.of[node.name] = self.of[source.name]
        elif code in FINDERS and node.name not in self.of:
            self._find(node, FINDERS[code](self, node))

    def _find(self, node: Any, operands: tuple[Any, ...] | None) -> None:
        end = None if operands is None else self._end(node)
        if operands is None or end is None:
            return
        quantize, between, activation = end
        grid = grid_of(quantize)
        if grid is None:
            return
        self.groups[node.name] = Group(node, between, quantize, grid, activation, operands)
        self.of |= {part.name: grid for part in between}

    def _end(self, node: Any) -> tuple[Any, tuple[Any, ...], Activation] | None:
        """The quantize node at the end of a group, the nodes up to it whose results are on its grid already, and the
        fused activation."""
        between: tuple[Any, ...] = (node,)
        activation, moved = Activation.NONE, False
        while (user := self._only_user(node)) is not None:
            if str(user.target) == QUANTIZE:
                return user, between, activation
            limits = limits_of(user)
            if limits is not None and limits in LIMITS and activation is Activation.NONE and not moved:
                activation = LIMITS[limits]
                between = (*between, user)
            elif (str(user.target) in MOVES or user.target is operator.getitem) and user.args[0] is node:
                moved = True
            else:
                return None
            node = user
        return None

    def _only_user(self, node: Any) -> Any:
        """The only consumer of a value; None where there are several, or it is an output or a state."""
        kept = {kept.after for kept in self.program.states}
        alone = len(node.users) == 1 and node.name not in self.program.outputs and node.name not in kept
        return next(iter(node.users)) if alone else None

    def is_on_grid(self, argument: Any) -> bool:
        return getattr(argument, "name", None) in self.of


def _fills(node: Any) -> bool:
    """Whether a node inserts elements that may be off the grid: zero is on every grid."""
    return str(node.target) == "aten.constant_pad_nd.default" and len(node.args) > 2 and node.args[2] != 0


def grid_of(node: Any) -> Grid | None:
    """The grid of a quantize or dequantize node; None where its codes are none of 8 bits."""
    _, scale, zero, low, high, dtype = (*node.args, *node.kwargs.values())[:6]
    kind = BYTES.get(str(dtype))
    if kind is None or not isinstance(scale, float) or scale <= 0:
        return None
    least, most = kind.limits
    return Grid(scale, int(zero), kind, low, high) if least <= low < high <= most else None


def limits_of(node: Any) -> tuple[float, float] | None:
    """The bounds of a node that only clamps; None for others."""
    code = str(node.target)
    if code in ("aten.relu.default", "aten.relu6.default"):
        return 0, math.inf if code == "aten.relu.default" else 6
    if code not in ("aten.hardtanh.default", "aten.clamp.default"):
        return None
    names = ("min_val", "max_val") if code == "aten.hardtanh.default" else ("min", "max")
    usual = (-1.0, 1.0) if code == "aten.hardtanh.default" else (-math.inf, math.inf)
    given = [
        node.args[i + 1] if len(node.args) > i + 1 else node.kwargs.get(name, usual[i]) for i, name in enumerate(names)
    ]
    low, high = (usual[i] if x is None else x for i, x in enumerate(given))
    return float(low), float(high)


# What groups begin with: the operands that are on grids, or None where the node begins none


def is_weight(argument: Any) -> bool:
    """Whether an argument is a dequantized constant."""
    return str(getattr(argument, "target", "")) in (DEQUANTIZE, PER_CHANNEL)


def _layer(grids: Grids, node: Any) -> tuple[Any, ...] | None:
    """A convolution or a matrix product with quantized constant weights; the bias must be constant too."""
    x, weight, bias = (*node.args, None)[:3]
    given = grids.program.given
    if not grids.is_on_grid(x) or not is_weight(weight) or weight.args[0].name not in given:
        return None
    if bias is not None and bias.name not in given and not (is_weight(bias) and bias.args[0].name in given):
        return None
    transposed = str(node.target) == "aten.convolution.default" and node.args[6]
    wide = len(weight.meta["val"].shape) > 4
    return None if transposed or wide or not _has_bytes(grids, weight) else (x,)


def _has_bytes(grids: Grids, weight: Any) -> bool:
    """Whether weights are 8-bit codes, with scales along output channels."""
    codes = grids.program.given[weight.args[0].name]
    per_channel = str(weight.target) == PER_CHANNEL
    return str(codes.dtype) in BYTES and (not per_channel or weight.args[3] == 0)


def _pair(grids: Grids, node: Any) -> tuple[Any, ...] | None:
    x, y = node.args[:2]
    plain = node.kwargs.get("alpha", 1) == 1
    return (x, y) if plain and grids.is_on_grid(x) and grids.is_on_grid(y) else None


def _one(grids: Grids, node: Any) -> tuple[Any, ...] | None:
    return (node.args[0],) if grids.is_on_grid(node.args[0]) else None


def _several(grids: Grids, node: Any) -> tuple[Any, ...] | None:
    return tuple(node.args[0]) if all(map(grids.is_on_grid, node.args[0])) else None


def _average(grids: Grids, node: Any) -> tuple[Any, ...] | None:
    """Average pooling of images, divided by the window size."""
    plain = len(node.args[0].meta["val"].shape) == 4 and (*node.args, *[None] * 7)[6] is None
    return _one(grids, node) if plain and node.kwargs.get("divisor_override") is None else None


def _pool(grids: Grids, node: Any) -> tuple[Any, ...] | None:
    """Global average pooling; other adaptive sizes may have windows of different sizes."""
    return _one(grids, node) if set(node.meta["val"].shape[-2:]) == {1} else None


FINDERS: Mapping[str, Callable[[Grids, Any], tuple[Any, ...] | None]] = {
    "aten.convolution.default": _layer,
    "aten.linear.default": _layer,
    "aten.matmul.default": _pair,
    "aten.bmm.default": _pair,
    "aten.add.Tensor": _pair,
    "aten.mul.Tensor": _pair,
    "aten.cat.default": _several,
    "aten.mean.dim": _one,
    "aten.adaptive_avg_pool2d.default": _pool,
    "aten.avg_pool2d.default": _average,
    **dict.fromkeys(FUNCTIONS, _one),
}
