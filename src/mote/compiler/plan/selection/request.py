"""The planner's request to the kernels: core, optimization policy, layouts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mote.compiler.kernels.contract import NHWC, Fixed, Layout


class Policy(StrEnum):
    """The optimization policy (`--optimize`)."""

    SPEED = "speed"
    """Minimize cycles."""
    BALANCED = "balanced"
    """Save RAM and flash, where that hardly costs speed."""
    SIZE = "size"
    """Minimize flash."""


@dataclass(frozen=True)
class Lowering:
    """The conditions that kernels are chosen for: the core's features, the policy, and the layouts of the operator's
    first input and output."""

    features: frozenset[str] = frozenset()
    optimize: Policy = Policy.BALANCED
    reads: Layout = NHWC
    writes: Layout = NHWC
    coded: bool = False
    """Whether kernels with coded weights may be chosen."""
    sealed: bool = False
    """Whether constants are encrypted in flash."""
    copied: bool = False
    """Whether loads of data do not reach constants in flash: kernels that do not read them by other means are given
    copies in working memory."""
    fixed: Fixed | None = None
    """The available kernels, where the firmware is fixed."""
    priced: frozenset[str] | None = None
    """The families of kernels with measured costs, where the table of costs lacks some: kernels of others are chosen
    only where there is no other. None: any kernel may be chosen."""
