"""Update accumulators of int8 weights and int32 biases: gradient accumulation over several samples, and momentum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.ops.training.noise import hashed

KEPT_BITS = 16
"""Fraction bits of the momentum factor."""


def kept_share(momentum: float) -> int:
    """The momentum factor in fixed point with KEPT_BITS fraction bits."""
    return round(momentum * (1 << KEPT_BITS))


@dataclass(frozen=True)
class Momentum:
    """Update rule: after every `every` samples the update accumulator is added to the state, rounded stochastically,
    and multiplied by the momentum. The accumulator has `bits` more fraction bits than the state."""

    every: int
    kept: int
    """The momentum factor in fixed point (see `kept_share`)."""
    bits: int
    seed: int

    def added(self, before: Ints, update: Ints, number: int, most: int) -> tuple[Ints, Ints]:
        """State (clamped to +-`most`) and update accumulator after sample `number`."""
        if (number + 1) % (1 << 32) % self.every:
            return before, update
        noise = hashed(number, before.size, self.seed).astype(np.int64).reshape(before.shape)
        change = update + (noise >> 32 - self.bits) >> self.bits
        kept = update * self.kept + (noise & (1 << KEPT_BITS) - 1) >> KEPT_BITS
        return np.clip(np.clip(before, -most, most) + change, -most, most), kept
