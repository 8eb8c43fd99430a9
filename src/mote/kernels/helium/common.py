"""What the kernels of this folder share: the feature that they need, and why they do not fit."""

from __future__ import annotations

from mote.kernels.contract import Refusal

HELIUM = frozenset({"mve"})
NO_CONSTANTS = Refusal("no constants requantize its sums exactly in lanes")
