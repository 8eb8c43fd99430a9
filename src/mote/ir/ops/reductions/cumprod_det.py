"""CUMPROD and DETERMINANT: cumulative products along an axis, and determinants of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.common import activation_type


class CumProd(Op):
    """CUMPROD along an axis. `exclusive`: without the element itself; `reverse`: from the end. Integers wrap."""

    axis: int
    exclusive: bool = False
    reverse: bool = False
    kind = "CUMPROD"
    types: ClassVar = (DType.INT32, DType.INT64, DType.FLOAT32)

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def unsupported(self, g: Graph) -> str | None:
        return activation_type(g, self, dtypes=self.types)

    def misjudged(self, g: Graph) -> str | None:
        return "LiteRT has no such operator"

    def work(self, g: Graph) -> int:
        return self.input(g).size

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        wide: NDArray[Any] = np.moveaxis(x.astype(np.float64) if x.dtype == np.float32 else x, self.axis, 0)
        wide = wide[::-1] if self.reverse else wide
        if self.exclusive:
            wide = np.concatenate([np.ones_like(wide[:1]), wide[:-1]])
        with np.errstate(all="ignore"):
            products = np.cumprod(wide, axis=0, dtype=wide.dtype)
            return [np.moveaxis(products[::-1] if self.reverse else products, 0, self.axis).astype(x.dtype)]


class Determinant(Op):
    """DETERMINANT of the square matrices in the last two axes."""

    kind = "DETERMINANT"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape[:-2]]

    def unsupported(self, g: Graph) -> str | None:
        x = self.input(g).shape
        if len(x) < 2 or x[-1] != x[-2]:
            return f"{x}: matrices that are not square have no determinant"
        return activation_type(g, self, dtypes=(DType.FLOAT32,))

    def misjudged(self, g: Graph) -> str | None:
        return "LiteRT has no such operator"

    def macs(self, g: Graph) -> int:
        x = self.input(g)
        return x.size * x.shape[-1] // 3

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        return [np.asarray(np.linalg.det(x.astype(np.float64))).astype(np.float32)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        """Magnitude (for tolerances): the product of the sums of absolute values of each row bounds every term."""
        (x,) = values
        assert x is not None
        return [np.asarray(np.prod(x.sum(axis=-1), axis=-1))]
