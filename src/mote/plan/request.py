"""What the planner asks of kernels: for which core, for the sake of what, in which layouts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mote.kernels.contract import NHWC, Fixed, Layout


class Policy(StrEnum):
    """What is worth most: `--optimize`."""

    SPEED = "speed"
    """Few cycles, whatever RAM and flash they take."""
    BALANCED = "balanced"
    """Little RAM and flash, where that hardly costs speed."""
    SIZE = "size"
    """Little flash."""


@dataclass(frozen=True)
class Lowering:
    """What kernels may count on: the core's features, what to optimize for, and the layouts that the planner chose
    for the operator's first input and its output."""

    features: frozenset[str] = frozenset()
    optimize: Policy = Policy.BALANCED
    reads: Layout = NHWC
    writes: Layout = NHWC
    coded: bool = False
    """Kernels that expand coded weights may be chosen."""
    fixed: Fixed | None = None
    """The kernels that there are, where the firmware is not made for the model."""
