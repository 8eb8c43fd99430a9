"""The conditions under which kernels are candidates: core features, optimization policy, layouts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mote.compiler.kernels.contract import NHWC, Fixed, Layout


class Policy(StrEnum):
    """The optimization policy (`--optimize`)."""

    SPEED = "speed"
    """Minimize cycles."""
    BALANCED = "balanced"
    """Save RAM and flash where that hardly costs cycles."""
    SIZE = "size"
    """Minimize flash."""


@dataclass(frozen=True)
class Lowering:
    """The conditions under which kernels are candidates for an operator: the core's features, the policy, and the
    layouts of its first input (`reads`) and its output (`writes`)."""

    features: frozenset[str] = frozenset()
    optimize: Policy = Policy.BALANCED
    reads: Layout = NHWC
    writes: Layout = NHWC
    coded: bool = False
    """Whether kernels with compressed weights are candidates."""
    sealed: bool = False
    """Whether constants are encrypted in flash."""
    copied: bool = False
    """Whether the core cannot load data from flash (as on AVR): constants are copied to scratch for kernels that have
    no instructions for it."""
    fixed: Fixed | None = None
    """The kernels of the firmware, if an image is compiled for an existing one; None: all."""
    priced: frozenset[str] | None = None
    """If the cost table lacks some families of kernels: the families that it has. Others are candidates only where no
    kernel of these fits. None: the table has all."""
