"""Updates of int8 weights and int32 biases that several samples add up, and what momentum keeps of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.ops.training.noise import hashed

KEPT_BITS = 16
"""Bits behind the point of momentum."""


def kept_share(momentum: float) -> int:
    """The momentum as an integer."""
    return round(momentum * (1 << KEPT_BITS))


@dataclass(frozen=True)
class Momentum:
    """How an update changes what learns: with the last of `every` samples it is added, rounded stochastically, and
    what momentum keeps of it begins the next one. It has 2^bits steps for each step of what it changes."""

    every: int
    kept: int
    """The momentum as an integer: `kept_share`."""
    bits: int
    seed: int

    def added(self, before: Ints, update: Ints, number: int, most: int) -> tuple[Ints, Ints]:
        """The state, at most `most`, and its update after a sample."""
        if (number + 1) % (1 << 32) % self.every:
            return before, update
        noise = hashed(number, before.size, self.seed).astype(np.int64).reshape(before.shape)
        change = update + (noise >> 32 - self.bits) >> self.bits
        kept = update * self.kept + (noise & (1 << KEPT_BITS) - 1) >> KEPT_BITS
        return np.clip(np.clip(before, -most, most) + change, -most, most), kept
