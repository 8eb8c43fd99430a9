"""Functions of float32 numbers beside those that LiteRT has: angles, hyperbolic functions and their inverses, the error
function, and the logarithm of one more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mote.graph import Graph
from mote.ops.functions import Real
from mote.ops.unary import Floats


@dataclass(frozen=True, kw_only=True)
class DoublePrecision(Real):
    """The reference is NumPy's function in double precision, rounded once."""

    function: ClassVar[np.ufunc]

    def misjudged(self, g: Graph) -> str | None:
        return f"LiteRT has no {self.kind}"

    def real(self, x: Floats) -> Floats:
        with np.errstate(all="ignore"):
            found: Floats = self.function(x.astype(np.float64)).astype(np.float32)
            return found


@dataclass(frozen=True, kw_only=True)
class Tan(DoublePrecision):
    kind = "TAN"
    function = np.tan


@dataclass(frozen=True, kw_only=True)
class Asin(DoublePrecision):
    kind = "ASIN"
    function = np.arcsin


@dataclass(frozen=True, kw_only=True)
class Acos(DoublePrecision):
    kind = "ACOS"
    function = np.arccos


@dataclass(frozen=True, kw_only=True)
class Atan(DoublePrecision):
    kind = "ATAN"
    function = np.arctan


@dataclass(frozen=True, kw_only=True)
class Sinh(DoublePrecision):
    kind = "SINH"
    function = np.sinh


@dataclass(frozen=True, kw_only=True)
class Cosh(DoublePrecision):
    kind = "COSH"
    function = np.cosh


@dataclass(frozen=True, kw_only=True)
class Asinh(DoublePrecision):
    kind = "ASINH"
    function = np.arcsinh


@dataclass(frozen=True, kw_only=True)
class Acosh(DoublePrecision):
    kind = "ACOSH"
    function = np.arccosh


@dataclass(frozen=True, kw_only=True)
class Atanh(DoublePrecision):
    kind = "ATANH"
    function = np.arctanh


@dataclass(frozen=True, kw_only=True)
class Log1p(DoublePrecision):
    kind = "LOG1P"
    function = np.log1p


@dataclass(frozen=True, kw_only=True)
class Erf(DoublePrecision):
    kind = "ERF"
    function = np.frompyfunc(math.erf, 1, 1)
