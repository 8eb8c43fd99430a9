"""NARROW: rounds float32 to a narrower float format (float16, bfloat16, float8); results stay float32."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.common import activation_type
from mote.ir.ops.pointwise import Pointwise


class FloatFormat(StrEnum):
    """A narrower float format. `FN`: without infinities; `UZ`: without negative zero."""

    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT8E4M3FN = "float8e4m3fn"
    FLOAT8E4M3FNUZ = "float8e4m3fnuz"
    FLOAT8E5M2 = "float8e5m2"
    FLOAT8E5M2FNUZ = "float8e5m2fnuz"
    FLOAT4E2M1 = "float4e2m1"


@dataclass(frozen=True)
class Digits:
    """The values that a float format can represent: `kept` fraction bits, exponents from `least` on (below, the step
    size stays constant: subnormals), and magnitudes up to `most`."""

    kept: int
    least: int
    most: float
    infinite: bool = False
    """Whether the float format has infinities."""
    number: bool = False
    """Whether the format has neither infinities nor NaN: overflow saturates, and NaN becomes 0."""


DIGITS = {
    FloatFormat.FLOAT16: Digits(10, -14, 65504.0, infinite=True),
    FloatFormat.BFLOAT16: Digits(7, -126, float(np.float32(3.3895314e38)), infinite=True),
    FloatFormat.FLOAT8E4M3FN: Digits(3, -6, 448.0),
    FloatFormat.FLOAT8E4M3FNUZ: Digits(3, -7, 240.0),
    FloatFormat.FLOAT8E5M2: Digits(2, -14, 57344.0, infinite=True),
    FloatFormat.FLOAT8E5M2FNUZ: Digits(2, -15, 57344.0),
    FloatFormat.FLOAT4E2M1: Digits(1, 0, 6.0, number=True),
}


class RoundToFormat(Pointwise):
    """NARROW: rounds to the nearest value of a float format, halves to even. Overflow gives the largest value if it
    `saturates`, else infinity, or NaN if the format has no infinity."""

    format: FloatFormat
    saturates: bool = False
    kind = "NARROW"

    @property
    def digits(self) -> Digits:
        return DIGITS[self.format]

    @property
    def beyond(self) -> float:
        """The result for floats too large for the format: its largest value, infinity or NaN."""
        if self.saturates or self.digits.number:
            return self.digits.most
        return np.inf if self.digits.infinite else np.nan

    def unsupported(self, g: Graph) -> str | None:
        return activation_type(g, self, dtypes=(DType.FLOAT32,))

    def misjudged(self, g: Graph) -> str | None:
        return "LiteRT has no such operator"

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        with np.errstate(all="ignore"):
            size = np.abs(x.astype(np.float64))
            _, exponent = np.frexp(size)
            step = np.ldexp(1.0, np.maximum(exponent - 1, self.digits.least) - self.digits.kept)
            rounded = np.where(np.isfinite(size), np.rint(size / step) * step, size)
            rounded = np.where(rounded > self.digits.most, self.beyond, rounded)
            signed = np.copysign(rounded, x).astype(np.float32)
            return [np.where(np.isnan(x), np.float32(0), signed) if self.digits.number else signed]
