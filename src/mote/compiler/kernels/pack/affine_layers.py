"""Kernels of affine layers (requantization by multiplier, shift and addend), adapted from those of ordinary layers.

The search for requantization constants works from the accumulator-to-output steps of a layer, so the kernels work for
any formula.
"""

from __future__ import annotations

from dataclasses import replace

from mote.compiler.kernels.contract import Kernel, Knob, Packed, Refusal, View
from mote.ir.graph import Graph, Op
from mote.ir.graph.ranges import Range
from mote.ir.graph.types import DType, Rounding
from mote.ir.ops.matrix.accumulators import Accumulators
from mote.ir.ops.matrix.affine_layer import AffineConv2D, AffineDepthwiseConv2D, AffineFullyConnected, AffineLayer
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D


class _PlainConv2D(Conv2D):
    """A convolution whose requantization is that of an affine layer."""

    layer: AffineLayer

    def sums(self, g: Graph, inputs: Range) -> Accumulators:
        return self.layer.sums(g, inputs)


class _PlainDepthwiseConv2D(DepthwiseConv2D):
    """A depthwise convolution whose requantization is that of an affine layer."""

    layer: AffineLayer

    def sums(self, g: Graph, inputs: Range) -> Accumulators:
        return self.layer.sums(g, inputs)


class _PlainFullyConnected(FullyConnected):
    """A fully connected layer whose requantization is that of an affine layer."""

    layer: AffineLayer

    def sums(self, g: Graph, inputs: Range) -> Accumulators:
        return self.layer.sums(g, inputs)


PLAIN: dict[type[Op], tuple[type[AffineLayer], type[Op]]] = {
    Conv2D: (AffineConv2D, _PlainConv2D),
    DepthwiseConv2D: (AffineDepthwiseConv2D, _PlainDepthwiseConv2D),
    FullyConnected: (AffineFullyConnected, _PlainFullyConnected),
}
"""For each operator class of kernels: the affine layer class, and the plain class that stands in for it while kernels
are bound."""
NARROWER = Refusal("its output range is narrower than int8")
GROUPS = Refusal("it is for ungrouped convolutions")


def affine(kernel: Kernel) -> Kernel:
    """The variant of a kernel that computes affine layers."""
    computes, stands_in = PLAIN[kernel.computes[0]]

    def plain(view: View) -> View:
        made = stands_in.like(view.op, layer=view.op, rounding=Rounding.EVEN)
        return View(view.graph, (made,), view.reads, view.writes, view.small)

    def pack(view: View, **knobs: Knob) -> Packed | Refusal:
        op = view.op
        assert isinstance(op, AffineLayer)
        if op.limits != DType.INT8.limits:
            return NARROWER
        if isinstance(op, AffineConv2D) and op.groups(view.graph) != 1:
            return GROUPS
        packed = kernel.bind(view.once(plain), tuple(knobs.items()))
        return packed if isinstance(packed, Refusal) else replace(packed, family="", beats=())

    reads, knobs = kernel.reads, kernel.knobs
    return replace(
        kernel,
        name=f"{kernel.name}_affine",
        computes=(computes,),
        pack=pack,
        costs=kernel.costs or kernel.name,
        header=kernel.header,
        reads=None if reads is None else lambda view: reads(plain(view)),
        knobs=None if knobs is None else lambda view: knobs(view.once(plain)),
    )


def affines(*kernels: Kernel) -> tuple[Kernel, ...]:
    """The affine variants of all kernels that compute a single convolution, depthwise or fully connected layer."""
    return tuple(affine(k) for k in kernels if len(k.computes) == 1 and k.computes[0] in PLAIN)
