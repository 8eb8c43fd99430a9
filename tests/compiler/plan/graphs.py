"""Small graphs made at random: every way in which operators join rows to rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import ANY_TYPE, OTHER, Call, Entry, Kernel, Needs, Packed, View
from mote.compiler.kernels.pack.planar import Planar
from mote.ir.graph import Graph, Op, Quantization, Tensor
from mote.ir.graph.rows import row_count
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis
from mote.ir.ops.elementwise.activations import LeakyRelu, Logistic
from mote.ir.ops.elementwise.arithmetic import Add, Mul
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.moves.pad_concat_transpose import Concatenation, Pad, Transpose
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.moves.slice import Slice
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.reductions.softmax import Softmax
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.pool import AveragePool, MaxPool
from mote.ir.ops.windows.resize import ResizeBilinear, ResizeNearest
from tests.helpers.network import SCALE, alive

ZERO = 3
ONE = Axis(1)
UNIT = 1 / 256, -128
"""The quantization of what lies between 0 and 1."""


@dataclass
class GraphNet:
    """A graph as it grows. Methods add an operator and return its output.

    `network.Net` writes files; this one makes what no file can say: any padding before and behind an image, and
    operators that only pretend to have a kernel with running sums.
    """

    seed: int = 0
    dtype: str = "int8"
    tensors: dict[int, Tensor] = field(default_factory=dict)
    ops: list[Op] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def graph(self, *outputs: int) -> Graph:
        return Graph("net", self.tensors, tuple(self.ops), tuple(self.inputs), outputs).verify()

    def shape(self, t: int) -> Shape:
        return self.tensors[t].shape

    def input(self, *shape: int) -> int:
        self.inputs.append(self._tensor(shape, SCALE, ZERO))
        return self.inputs[-1]

    def constant(self, *shape: int) -> int:
        return self._tensor(shape, SCALE, ZERO, self.rng.integers(-127, 128, shape).astype(np.int8), "int8")

    def op(
        self, kind: Callable[..., Op], *inputs: int, quant: tuple[float, int] = (SCALE, ZERO), **attributes: Any
    ) -> int:
        y = len(self.tensors)
        op = kind(inputs=inputs, outputs=(y,), name=f"{kind.__name__}{y}", index=len(self.ops), **attributes)
        (shape,) = op.shapes(Graph("net", self.tensors, (), (), ()))
        self.ops.append(op)
        return self._tensor(shape, *quant)

    def conv(self, x: int, channels: int, v: Axis = ONE, h: Axis = ONE, kind: Callable[..., Op] = Conv2D) -> int:
        weights = self._weights((channels, v.kernel, h.kernel, self.shape(x)[3]), channels)
        return self.op(kind, x, *weights, vertical=v, horizontal=h)

    def depthwise(self, x: int, v: Axis, h: Axis, kind: Callable[..., Op] = DepthwiseConv2D) -> int:
        weights = self._weights((1, v.kernel, h.kernel, self.shape(x)[3]), self.shape(x)[3])
        return self.op(kind, x, *weights, vertical=v, horizontal=h)

    def fully_connected(self, x: int, units: int) -> int:
        return self.op(FullyConnected, x, *self._weights((units, self.shape(x)[-1]), units))

    def reshape(self, x: int, *shape: int) -> int:
        return self.op(Reshape, x, shape=shape)

    def _tensor(self, shape: Shape, scale: float, zero: int, data: Array | None = None, dtype: str = "") -> int:
        t = len(self.tensors)
        quant = Quantization(np.array([scale], np.float32), np.array([zero]))
        self.tensors[t] = Tensor(t, f"t{t}", tuple(shape), DType(dtype or self.dtype), quant, data)
        return t

    def _weights(self, shape: Shape, channels: int) -> tuple[int, int]:
        weights = self.rng.integers(-127, 128, shape).astype(np.int8)
        bias = self.rng.integers(-2000, 2000, channels).astype(np.int32)
        scale = alive(weights, channels)
        if self.dtype == "float32":
            weights, bias = np.float32(weights * scale), np.float32(bias * scale * SCALE)
        return self._tensor(shape, scale, 0, weights), self._tensor(bias.shape, SCALE * scale, 0, bias, bias.dtype.name)


class Adds(Op):
    """An operator with one output row and a kernel that keeps running sums, whether it really has one or not."""


def _sums(view: View) -> Packed:
    return Packed("sums", {}, Entry(Call.ADDS), Needs(sums=4 * view.output.size, writes=view.writes))


SUMS = Kernel("sums", (Adds,), ANY_TYPE, _sums, "common", call=Call.ADDS, writes=(Planar,), costs=OTHER)
catalogue.KERNELS.append(SUMS)


class AddingPool(Adds, AveragePool):
    pass


class AddingMean(Adds, Mean):
    pass


class AddingConv(Adds, Conv2D):
    pass


class AddingDepthwise(Adds, DepthwiseConv2D):
    pass


Draw = Callable[[st.SearchStrategy[Any]], Any]


def axis(draw: Draw, size: int, *, most: int = 4, stride: int = 3) -> Axis:
    """A window axis over `size` positions with one output at least; no window misses them all."""
    kernel = draw(st.integers(1, most))
    dilation = draw(st.integers(1, min(2, size))) if kernel > 1 else 1
    extent = (kernel - 1) * dilation + 1
    before, after = draw(st.integers(0, extent - 1)), draw(st.integers(0, extent - 1))
    missing = extent - size - before - after
    return Axis(kernel, draw(st.integers(1, stride)), dilation, before, after + max(missing, 0))


def same(draw: Draw) -> Axis:
    kernel = draw(st.sampled_from((1, 3, 5)))
    return Axis(kernel, 1, 1, kernel // 2, kernel // 2)


def convolution(draw: Draw, net: GraphNet, x: int) -> int:
    _, height, width, _ = net.shape(x)
    return net.conv(x, draw(st.integers(1, 5)), axis(draw, height), axis(draw, width))


def pointwise(draw: Draw, net: GraphNet, x: int) -> int:
    return net.conv(x, draw(st.integers(1, 9)))


def strided_pointwise(draw: Draw, net: GraphNet, x: int) -> int:
    return net.conv(x, draw(st.integers(1, 5)), Axis(1, 2), Axis(1, 2))


def depthwise(draw: Draw, net: GraphNet, x: int) -> int:
    _, height, width, _ = net.shape(x)
    return net.depthwise(x, axis(draw, height), axis(draw, width))


def plain_depthwise(draw: Draw, net: GraphNet, x: int) -> int:
    return net.depthwise(x, Axis(3, 1, 1, 1, 1), Axis(3, 1, 1, 1, 1))


def separable(draw: Draw, net: GraphNet, x: int) -> int:
    return plain_depthwise(draw, net, pointwise(draw, net, x))


def pool(draw: Draw, net: GraphNet, x: int) -> int:
    _, height, width, _ = net.shape(x)
    windows = [Axis(min(k, n), draw(st.integers(1, 3))) for k, n in ((2, height), (2, width))]
    kind = draw(st.sampled_from((AveragePool, MaxPool)))
    return net.op(kind, x, vertical=windows[0], horizontal=windows[1])


def unary(draw: Draw, net: GraphNet, x: int) -> int:
    return net.op(LeakyRelu, x, alpha=0.3)


def resize(draw: Draw, net: GraphNet, x: int) -> int:
    size = draw(st.integers(1, 9)), draw(st.integers(1, 6))
    return net.op(draw(st.sampled_from((ResizeNearest, ResizeBilinear))), x, size=size)


def pad(draw: Draw, net: GraphNet, x: int) -> int:
    sides = [(draw(st.integers(0, 2)), draw(st.integers(0, 1))) for _ in range(2)]
    return net.op(Pad, x, paddings=((0, 0), *sides, (0, 0)), value=0 if net.dtype == "float32" else ZERO)


def cut(draw: Draw, net: GraphNet, x: int) -> int:
    """Some rows, columns or channels."""
    shape = net.shape(x)
    on = draw(st.integers(1, 3))
    begin = draw(st.integers(0, shape[on] - 1))
    size = draw(st.integers(1, shape[on] - begin))
    return net.op(
        Slice,
        x,
        begin=tuple(begin if i == on else 0 for i in range(4)),
        size=(cut_shape := tuple(size if i == on else n for i, n in enumerate(shape))),
        strides=(1, 1, 1, 1),
        shape=cut_shape,
    )


def transpose(draw: Draw, net: GraphNet, x: int) -> int:
    return net.op(Transpose, x, permutation=draw(st.sampled_from(((0, 2, 1, 3), (0, 3, 1, 2), (0, 1, 3, 2)))))


def view(draw: Draw, net: GraphNet, x: int) -> int:
    n, h, w, c = net.shape(x)
    return net.reshape(x, *draw(st.sampled_from(((n, h * w, 1, c), (n, 1, h * w, c), (n, w, h, c)))))


def residual(draw: Draw, net: GraphNet, x: int) -> int:
    y = x
    for _ in range(draw(st.integers(1, 2))):
        y = net.conv(y, draw(st.integers(1, 5)), same(draw), same(draw))
    return net.op(Add, *draw(st.permutations((net.conv(y, net.shape(x)[3]), x))))


def shortcut(draw: Draw, net: GraphNet, x: int) -> int:
    """A strided block whose shortcut is strided too."""
    channels = draw(st.integers(1, 4))
    y = net.conv(x, channels, Axis(3, 2, 1, 1, 1), Axis(3, 2, 1, 1, 1))
    return net.op(Add, net.conv(x, channels, Axis(1, 2), Axis(1, 2)), y)


def excite(draw: Draw, net: GraphNet, x: int) -> int:
    """Squeeze and excite: every row needs all rows."""
    means = net.op(AddingMean, x, axes=(1, 2), keep_dims=True)
    gate = net.op(Logistic, net.conv(means, net.shape(x)[3]), quant=UNIT)
    return net.op(Mul, *draw(st.permutations((x, gate))))


def columns(draw: Draw, net: GraphNet, x: int) -> int:
    """The mean row added to every row."""
    return net.op(Add, x, net.op(Mean, x, axes=(1,), keep_dims=True))


def side_by_side(draw: Draw, net: GraphNet, x: int) -> int:
    parts = [net.conv(x, draw(st.integers(1, 4)), same(draw), same(draw)) for _ in range(draw(st.integers(1, 2)))]
    return net.op(Concatenation, *draw(st.permutations((x, *parts))), axis=3)


def one_below_the_other(draw: Draw, net: GraphNet, x: int) -> int:
    _, height, _, channels = net.shape(x)
    return net.op(Concatenation, *draw(st.permutations((x, net.conv(x, channels, axis(draw, height))))), axis=1)


def collapse(draw: Draw, net: GraphNet, x: int) -> int:
    """All rows into one, some of the window in the padding."""
    _, height, width, _ = net.shape(x)
    before = draw(st.integers(0, 2))
    v, h = Axis(height + before, draw(st.integers(1, 2)), 1, before), axis(draw, width)
    return net.conv(x, 3, v, h, AddingConv) if draw(st.booleans()) else net.depthwise(x, v, h, AddingDepthwise)


STAGES = (
    convolution, pointwise, strided_pointwise, depthwise, separable, pool, unary, resize, pad, cut, transpose, view,
    residual, shortcut, excite, columns, side_by_side, one_below_the_other, collapse,
)  # fmt: skip


def nothing(draw: Draw, net: GraphNet, x: int) -> int:
    return x


def global_pool(draw: Draw, net: GraphNet, x: int) -> int:
    _, height, width, _ = net.shape(x)
    return net.op(AddingPool, x, vertical=Axis(height), horizontal=Axis(width))


def global_mean(draw: Draw, net: GraphNet, x: int) -> int:
    return net.op(AddingMean, x, axes=(1, 2))


def classifier(draw: Draw, net: GraphNet, x: int) -> int:
    batch, *rest = net.shape(x)
    flat = net.reshape(x, batch, int(np.prod(rest)))
    return net.op(Softmax, net.fully_connected(flat, draw(st.integers(1, 9))), quant=UNIT)


def row_classes(draw: Draw, net: GraphNet, x: int) -> int:
    return net.op(Softmax, x, quant=UNIT)


ENDS = (nothing, global_pool, global_mean, classifier, row_classes)


@st.composite
def graphs(draw: st.DrawFn, most: int = 6, stages: Sequence[Callable[[Draw, GraphNet, int], int]] = STAGES) -> Graph:
    """A few stages one after another; sometimes a value on the way is an output too."""
    dtype, seed = draw(st.sampled_from(("int8", "int8", "int8", "float32"))), draw(st.integers(0, 99))
    net = GraphNet(seed, dtype)
    width = draw(st.sampled_from((1, 2, 5, 26)))
    x = net.input(draw(st.sampled_from((1, 1, 1, 2))), draw(st.integers(1, 9)), width, draw(st.integers(1, 5)))
    met = []
    for _ in range(draw(st.integers(1, most))):
        x = draw(st.sampled_from(stages))(draw, net, x)
        met.append(x)
    x = draw(st.sampled_from(ENDS))(draw, net, x)
    others = draw(st.lists(st.sampled_from(met), max_size=1)) if draw(st.booleans()) else []
    return net.graph(*dict.fromkeys((x, *others)))


def pushable(graph: Graph) -> bool:
    return len(graph.inputs) == 1 and row_count(graph.tensors[graph.inputs[0]].shape) > 1
