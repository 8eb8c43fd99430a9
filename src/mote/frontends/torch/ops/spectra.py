"""Spectra of real signals: `torch.stft` and `torch.fft.rfft`, and what is made of their complex numbers.

No value of a graph is complex but a transform itself: what reads it are its real parts, its imaginary parts or their
magnitudes. Moves of elements in between are done to those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import sqrt

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise, matrix, moves
from mote.frontends.build.builder import Builder, Value
from mote.frontends.torch.node import Node, Parser
from mote.ir.graph.types import DType
from mote.ir.ops.signal.fft import LENGTHS
from mote.ir.ops.signal.rfft2d import ComplexAbs, Imag, OfComplex, RealPart, Rfft2d

TRANSFORM = "aten._fft_r2c.default"
MOVES = frozenset(
    f"aten.{name}"
    for name in (
        *("view.default", "_unsafe_view.default", "reshape.default", "permute.default", "transpose.int", "t.default"),
        *("squeeze.dim", "squeeze.dims", "squeeze.default", "unsqueeze.default", "slice.Tensor", "select.int"),
        *("clone.default", "alias.default", "contiguous.default", "expand.default"),
    )
)
"""Operators on complex numbers that only move them."""

Part = type[OfComplex]


@dataclass(frozen=True)
class Complex:
    """Complex numbers, as functions that compute their magnitudes, real parts or imaginary parts."""

    make: Callable[[Part], Value]
    made: dict[Part, Value] = field(default_factory=dict, compare=False)

    def part(self, kind: Part) -> Value:
        """A part, which is computed once."""
        if kind not in self.made:
            self.made[kind] = self.make(kind)
        return self.made[kind]


def of_complex(node: Node, parsers: Mapping[str, Parser]) -> Value | Complex | None:
    """The result of an operator that makes or reads complex numbers; None for others."""
    code = str(node.call.target)
    if code == TRANSFORM:
        return _transform(node)
    first = str(getattr(node.call.args[0], "name", "")) if node.call.args else ""
    given = node.values.get(first)
    if not isinstance(given, Complex):
        return None
    if code in MOVES:
        return Complex(lambda kind: _moved(node, first, given.part(kind), parsers[code]))
    if code == "aten.abs.default":
        return given.part(ComplexAbs)
    real, imaginary = given.part(RealPart), given.part(Imag)
    if code == "aten.view_as_real.default":
        return moves.stack(node.b, [real, imaginary], real.rank)
    if code == "aten.angle.default":
        return elementwise.atan2(node.b, imaginary, real)
    raise UnsupportedNodeError(
        "of complex numbers only magnitudes (abs), phases (angle), and real and imaginary parts (view_as_real) are"
        " supported"
    )


def _moved(node: Node, name: str, part: Value, parser: Parser) -> Value:
    """A part after a move of the complex numbers."""
    moved = parser(replace(node, values={**node.values, name: part}))
    assert isinstance(moved, Value)
    return moved


def _transform(node: Node) -> Complex:
    """The transform of a real signal along one axis: an FFT for powers of two, else a matrix product."""
    b, x, dims = node.b, node.value("self"), node.integers("dim")
    if len(dims) != 1 or x.dtype != DType.FLOAT32:
        raise UnsupportedNodeError(
            f"a transform of {x.dtype} along {len(dims)} axes is not supported (only float32, 1)"
        )
    axis = x.axis(dims[0])
    order = [*(a for a in range(x.rank) if a != axis), axis]
    signal, length = moves.transpose(b, x, order), x.shape[axis]
    factor = {0: 1.0, 1: 1 / sqrt(length), 2: 1 / length}[node.integer("normalization")]
    half = bool(node.given("onesided"))
    fast = half and 2 <= length <= LENGTHS[1] and length & (length - 1) == 0
    made = (_fast if fast else _product)(b, signal, length // 2 + 1 if half else length)
    back = [order.index(a) for a in range(x.rank)]

    def part(kind: Part) -> Value:
        return moves.transpose(b, elementwise.scaled(b, made.part(kind), factor), back)

    return Complex(part)


def _fast(b: Builder, x: Value, count: int) -> Complex:
    lead, length = x.shape[:-1], x.shape[-1]
    rows = b.plain(moves.reshape(b, x, (*lead, 1, length)))
    spectrum = b.op(Rfft2d, [rows], (*lead, 1, count), DType.COMPLEX64, height=1, width=length)

    def part(kind: Part) -> Value:
        return b.value(b.op(kind, [spectrum], (*lead, 1, count), DType.FLOAT32), (*lead, count))

    return Complex(part)


def _product(b: Builder, x: Value, count: int) -> Complex:
    length = x.shape[-1]
    angles = 2 * np.pi * np.outer(np.arange(length, dtype=np.int64), np.arange(count, dtype=np.int64)) / length

    def part(kind: Part) -> Value:
        if kind is ComplexAbs:
            real, imaginary = (elementwise.square(b, part(p)) for p in (RealPart, Imag))
            return elementwise.sqrt(b, elementwise.add(b, real, imaginary))
        table = np.cos(angles) if kind is RealPart else -np.sin(angles)
        return matrix.linear(b, x, table.astype(np.float32))

    return Complex(part)
