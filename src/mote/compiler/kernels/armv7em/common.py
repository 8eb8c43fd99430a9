"""Constants that all Armv7E-M DSP kernels share: the required core feature and common reasons for refusing a layer."""

from __future__ import annotations

from mote.compiler.kernels.contract import Refusal

DSP = frozenset({"dsp"})
CUTS_OFF = Refusal("the activation cuts off more than int8 does")
NO_CONSTANTS = Refusal("no constants requantize its sums exactly in the few instructions that it has for that")
FEW_ZEROS = Refusal("too few blocks of its weights are zero")
