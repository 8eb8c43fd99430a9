"""RFFT2D, COMPLEX_ABS, REAL and IMAG: 2D spectra of real images (mostly of one row) in float32, and their parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType


class Rfft2d(Op):
    """RFFT2D: the 2D FFT of the last two axes, cropped or zero-padded to `height` and `width`."""

    height: int
    width: int
    kind = "RFFT2D"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(*self.input(g).shape[:-2], self.height, self.width // 2 + 1)]

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        if x.dtype != DType.FLOAT32 or y.dtype != DType.COMPLEX64:
            return f"{x.dtype} input with {y.dtype} output is not supported (only float32 to complex64)"
        return None

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        """With a batch axis, each image is a row and independent; a single image is transformed as a whole."""
        return (y,) if position == 0 and len(self.input(g).shape) > 2 else None

    def macs(self, g: Graph) -> int:
        stages = max(self.width.bit_length() + self.height.bit_length() - 2, 1)
        return 2 * self.output(g).size * stages

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x = values[0]
        assert x is not None
        return [np.fft.rfft2(x.astype(np.float64), (self.height, self.width)).astype(np.complex64)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x = values[0]
        assert x is not None
        total = x[..., : self.height, : self.width].sum(axis=(-2, -1), keepdims=True)
        return [np.broadcast_to(total, self.output(g).shape).astype(np.float32)]


class OfComplex(Op):
    """Base of element-wise functions from complex64 to float32."""

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        if x.dtype != DType.COMPLEX64 or y.dtype != DType.FLOAT32:
            return f"{x.dtype} input with {y.dtype} output is not supported (only complex64 to float32)"
        return None

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,)


class ComplexAbs(OfComplex):
    kind = "COMPLEX_ABS"

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        return [np.abs(x.astype(np.complex128)).astype(np.float32)]


class RealPart(OfComplex):
    kind = "REAL"

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        return [np.real(x)]


class Imag(OfComplex):
    kind = "IMAG"

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        return [np.imag(x)]
