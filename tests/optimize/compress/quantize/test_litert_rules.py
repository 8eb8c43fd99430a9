"""Every operator that may compute with integers: LiteRT's reference gives the same, in all types of its family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.common import Axis
from mote.ir.ops.elementwise.activations import HardSwish, LeakyRelu, Logistic, Relu, Relu0To1, Relu6, ReluN1To1, Tanh
from mote.ir.ops.elementwise.arithmetic import Add, Mul, Sub
from mote.ir.ops.elementwise.binary_unscaled import Maximum, Minimum
from mote.ir.ops.elementwise.comparison import Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual
from mote.ir.ops.elementwise.division import Div
from mote.ir.ops.elementwise.prelu import PRelu
from mote.ir.ops.elementwise.select import Select
from mote.ir.ops.elementwise.squared_difference import SquaredDifference
from mote.ir.ops.elementwise.unary_math import Abs, Elu, Exp, Gelu, Log
from mote.ir.ops.indexing.gather import DynamicSlice, EmbeddingLookup, Gather, GatherNd
from mote.ir.ops.indexing.scatter import DynamicUpdateSlice, MatrixDiag
from mote.ir.ops.matrix.batch_matmul import BatchMatmul
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.moves.gather_constant import MirrorPad, Pick
from mote.ir.ops.moves.pad_concat_transpose import Concatenation, Pack, Pad, Transpose
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.moves.slice import Slice
from mote.ir.ops.moves.strided import BatchToSpace, BroadcastTo, DepthToSpace, Reverse, SpaceToBatch, SpaceToDepth, Tile
from mote.ir.ops.reductions.along_axis import ArgMax, ArgMin
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.reductions.normalize import L2Normalization, LogSoftmax
from mote.ir.ops.reductions.reduce import ReduceMax, ReduceMin
from mote.ir.ops.reductions.softmax import Softmax
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.grouped_conv import GroupedConv2D
from mote.ir.ops.windows.pool import AveragePool, MaxPool
from mote.ir.ops.windows.resize import ResizeBilinear, ResizeNearest
from mote.ir.ops.windows.transpose_conv import TransposeConv
from mote.optimize.compress.quantize.quantizer import integers
from mote.optimize.compress.quantize.types.litert_rules import FAMILIES, Rule
from mote.optimize.compress.quantize.types.precision import Precision, Scheme
from tests.helpers.float_nets import cases, check_litert, extremes
from tests.helpers.support import needs_litert

IMAGE: Shape = (1, 4, 6, 4)
RNG = np.random.default_rng(7)
THREE = {"vertical": Axis(3, 1, 1, 1, 1), "horizontal": Axis(3, 1, 1, 1, 1)}
TWO = {"vertical": Axis(2, 2), "horizontal": Axis(2, 2)}


def real(*shape: int) -> Array:
    return RNG.normal(size=shape).astype(np.float32)


class Single:
    """A graph of one operator; `x` is an input of a shape, or a constant."""

    def __init__(self, kind: type[Op], *operands: Shape | Array, **attributes: Any) -> None:
        tensors: dict[int, Tensor] = {}
        for i, given in enumerate(operands):
            data = given if isinstance(given, np.ndarray) else None
            shape = given.shape if isinstance(given, np.ndarray) else given
            dtype = DType(data.dtype.name) if data is not None else DType.FLOAT32
            tensors[i] = Tensor(i, f"x{i}", tuple(shape), dtype, None, data)
        y = len(operands)
        op = kind(inputs=tuple(range(y)), outputs=(y,), name="op", index=0, **attributes)
        dtype = {"ARG": DType.INT32}.get(kind.kind[:3], DType.FLOAT32)
        dtype = DType.BOOL if kind in COMPARISONS else dtype
        tensors[y] = Tensor(y, "y", (), dtype)
        inputs = tuple(i for i, t in tensors.items() if t.data is None and i != y)
        graph = Graph("one", tensors, (op,), inputs, (y,))
        tensors[y] = Tensor(y, "y", op.shapes(graph)[0], dtype)
        self.graph = graph.verify()


COMPARISONS = (Equal, NotEqual, Greater, GreaterEqual, Less, LessEqual)
BOX = {
    "given": (0, 1, 2, 3),
    "fixed": (0, 0, 0, 0),
    "size": (1, 2, 3, 4),
    "strides": (1, 1, 1, 1),
    "wraps": False,
    "shape": (1, 2, 3, 4),
}
PLACES = np.array([2, 0, 1, 1], np.int32)
SINGLES: Mapping[type[Op], Callable[[type[Op]], Single]] = {
    Conv2D: lambda k: Single(k, IMAGE, real(5, 3, 3, 4), real(5), activation=Activation.RELU, **THREE),
    GroupedConv2D: lambda k: Single(k, IMAGE, real(6, 3, 3, 2), real(6), **THREE),
    DepthwiseConv2D: lambda k: Single(k, IMAGE, real(1, 3, 3, 8), real(8), multiplier=2, **THREE),
    FullyConnected: lambda k: Single(k, (3, 12), real(7, 12), real(7)),
    TransposeConv: lambda k: Single(k, IMAGE, real(3, 2, 2, 4), real(3), size=(8, 12), **TWO),
    **dict.fromkeys((Add, Sub, Mul, SquaredDifference, Maximum, Minimum), lambda k: Single(k, IMAGE, real(4))),
    Div: lambda k: Single(k, IMAGE, np.abs(real(4)) + 1),
    BatchMatmul: lambda k: Single(k, (2, 3, 5), (2, 5, 4)),
    Mean: lambda k: Single(k, IMAGE, axes=(1, 2), keep_dims=True),
    **dict.fromkeys((Relu, Relu6, Relu0To1, ReluN1To1, Abs, HardSwish, Logistic, Tanh), lambda k: Single(k, IMAGE)),
    **dict.fromkeys((Exp, Log, Elu, LogSoftmax, L2Normalization, Softmax), lambda k: Single(k, IMAGE)),
    LeakyRelu: lambda k: Single(k, IMAGE, alpha=0.3),
    Gelu: lambda k: Single(k, IMAGE, approximate=True),
    PRelu: lambda k: Single(k, IMAGE, real(1, 1, 4)),
    **dict.fromkeys(COMPARISONS, lambda k: Single(k, IMAGE, IMAGE)),
    **dict.fromkeys((ArgMax, ArgMin), lambda k: Single(k, IMAGE, axis=3)),
    BatchToSpace: lambda k: Single(k, (4, 4, 6, 4), blocks=(2, 2)),
    SpaceToBatch: lambda k: Single(k, IMAGE, blocks=(2, 2)),
    **dict.fromkeys((ReduceMax, ReduceMin), lambda k: Single(k, IMAGE, axes=(1, 2))),
    Reshape: lambda k: Single(k, IMAGE, shape=(1, 24, 4)),
    Transpose: lambda k: Single(k, IMAGE, permutation=(0, 2, 1, 3)),
    Concatenation: lambda k: Single(k, IMAGE, real(*IMAGE), IMAGE, axis=3),
    Pack: lambda k: Single(k, IMAGE, IMAGE, axis=1),
    Pad: lambda k: Single(k, IMAGE, paddings=((0, 0), (1, 2), (0, 1), (0, 0)), value=-0.5),
    Slice: lambda k: Single(k, IMAGE, begin=(0, 1, 2, 0), size=(1, 3, 2, 4), strides=(1, 1, 2, 1), shape=(1, 3, 2, 4)),
    DynamicSlice: lambda k: Single(k, IMAGE, np.array([0, 1, 1, 0], np.int32), **BOX),
    Pick: lambda k: Single(k, IMAGE, places=(None, (2, 0), None, None), shape=(1, 2, 6, 4)),
    MirrorPad: lambda k: Single(k, IMAGE, places=(None, (1, 0, 1, 2, 3, 2), None, None), shape=(1, 6, 6, 4)),
    **dict.fromkeys((AveragePool, MaxPool), lambda k: Single(k, IMAGE, **TWO)),
    **dict.fromkeys((ResizeBilinear, ResizeNearest), lambda k: Single(k, IMAGE, size=(7, 9))),
    EmbeddingLookup: lambda k: Single(k, real(6, 5), PLACES, axis=0),
    DynamicUpdateSlice: lambda k: Single(k, IMAGE, (1, 2, 2, 4), np.array([0, 1, 1, 0], np.int32)),
    MatrixDiag: lambda k: Single(k, (3, 4)),
    Gather: lambda k: Single(k, IMAGE, PLACES, axis=1),
    GatherNd: lambda k: Single(k, IMAGE, np.array([[0, 1], [0, 3]], np.int32)),
    Select: lambda k: Single(k, RNG.integers(0, 2, IMAGE).astype(np.bool_), IMAGE, IMAGE),
    Tile: lambda k: Single(k, IMAGE, multiples=(1, 2, 1, 1)),
    Reverse: lambda k: Single(k, IMAGE, axes=(2,)),
    BroadcastTo: lambda k: Single(k, (1, 1, 6, 4), shape=IMAGE),
    DepthToSpace: lambda k: Single(k, IMAGE, block=2),
    SpaceToDepth: lambda k: Single(k, IMAGE, block=2),
}


def test_every_family_is_tried() -> None:
    """Those that are written as operators of their own are tried in `composites`."""
    assert set(SINGLES) == {kind for kind, family in FAMILIES.items() if family.rule is not Rule.COMPOSITE}


@needs_litert
@pytest.mark.parametrize("kind", list(SINGLES), ids=lambda kind: kind.__name__)
def test_integers_are_those_of_litert(kind: type[Op]) -> None:
    graph = SINGLES[kind](kind).graph
    samples = cases(graph, 4)
    if kind is Log:
        samples = [{t: np.abs(value) + np.float32(0.1) for t, value in case.items()} for case in samples]
    ranges = extremes(graph, samples)
    for dtype in FAMILIES[kind].types:
        made = integers(graph, ranges, Scheme(Precision(dtype.value)))
        assert not made.refused and set(made.precisions.values()) == {Precision(dtype.value)}
        check_litert(made.graph, samples[:2], fast=kind is Elu)
