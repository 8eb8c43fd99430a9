"""Element-wise float32 functions that LiteRT lacks: trigonometric and hyperbolic functions and their inverses, erf,
log1p."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from mote.ir.graph import Graph
from mote.ir.ops.elementwise.activations import Floats
from mote.ir.ops.elementwise.unary_math import UnaryFloat


class DoublePrecision(UnaryFloat):
    """Base of float32 functions whose reference is NumPy's function in double precision, rounded to float32."""

    function: ClassVar[np.ufunc]

    def misjudged(self, g: Graph) -> str | None:
        return f"LiteRT has no {self.kind}"

    def real(self, x: Floats) -> Floats:
        with np.errstate(all="ignore"):
            results: Floats = self.function(x.astype(np.float64)).astype(np.float32)
            return results


class Tan(DoublePrecision):
    kind = "TAN"
    function = np.tan


class Asin(DoublePrecision):
    kind = "ASIN"
    function = np.arcsin


class Acos(DoublePrecision):
    kind = "ACOS"
    function = np.arccos


class Atan(DoublePrecision):
    kind = "ATAN"
    function = np.arctan


class Sinh(DoublePrecision):
    kind = "SINH"
    function = np.sinh


class Cosh(DoublePrecision):
    kind = "COSH"
    function = np.cosh


class Asinh(DoublePrecision):
    kind = "ASINH"
    function = np.arcsinh


class Acosh(DoublePrecision):
    kind = "ACOSH"
    function = np.arccosh


class Atanh(DoublePrecision):
    kind = "ATANH"
    function = np.arctanh


class Log1p(DoublePrecision):
    kind = "LOG1P"
    function = np.log1p


class Erf(DoublePrecision):
    kind = "ERF"
    function = np.frompyfunc(math.erf, 1, 1)
