"""Noise for stochastic rounding: a hash of step and element, identical on every machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]


def hashed(step: int, count: int, seed: int = 0) -> Words:
    """32-bit hashes for elements 0, 1, .. of a step: MurmurHash3's finalizer of element * 0x9E3779B1 + step *
    0x85EBCA77 + seed, modulo 2^32."""
    begin = np.uint32(step * 0x85EBCA77 + seed & 0xFFFFFFFF)
    x: Words = np.arange(count, dtype=np.uint32) * np.uint32(0x9E3779B1) + begin
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = (x ^ x >> np.uint32(shift)) * np.uint32(factor)
    return x ^ x >> np.uint32(16)
