"""RFFT2D, COMPLEX_ABS, REAL and IMAG."""

from __future__ import annotations

from mote.base.errors import UnsupportedNodeError
from mote.frontends.tflite.node import Node
from mote.frontends.tflite.ops.elementwise import unary
from mote.ir.graph import Op
from mote.ir.ops.signal.fft import LENGTHS
from mote.ir.ops.signal.rfft2d import ComplexAbs, Imag, RealPart, Rfft2d


def rfft2d(node: Node) -> Op:
    node.arity(2)
    x, lengths = node.input().shape, node.integers(1, "the length of a transform")
    most = LENGTHS[1]
    if len(x) < 2 or len(lengths) != 2:
        raise UnsupportedNodeError(f"lengths {lengths} do not fit an input of shape {x}")
    height, width = lengths
    if not all(1 <= n <= most and n & (n - 1) == 0 for n in lengths) or width < 2:
        raise UnsupportedNodeError(
            f"a transform of {height}x{width} is not supported (only powers of two, to {most}, and columns from 2 on)"
        )
    return Rfft2d(**{**node.same(), "inputs": node.inputs[:1]}, height=height, width=width)


complex_abs, imag, real_part = unary(ComplexAbs), unary(Imag), unary(RealPart)
