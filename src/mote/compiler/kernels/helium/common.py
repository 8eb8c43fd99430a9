"""Shared by the kernels of this folder: the feature of the core that they need, and their refusals."""

from __future__ import annotations

from mote.compiler.kernels.contract import Refusal

HELIUM = frozenset({"mve"})
NO_CONSTANTS = Refusal("no constants requantize its sums exactly in lanes")
