"""Constants that all Helium kernels share: the required core feature and a common reason for refusing a layer."""

from __future__ import annotations

from mote.compiler.kernels.contract import Refusal

HELIUM = frozenset({"mve"})
NO_CONSTANTS = Refusal("no constants requantize its sums exactly in lanes")
