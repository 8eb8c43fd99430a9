"""Optimization flags of the C compiler for a model: in measurements, and in its own build files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Optimization:
    """The optimization level, and gcc's own options, which other compilers do not know."""

    level: str
    gcc: tuple[str, ...] = ()


OPTIMIZATION = {"speed": Optimization("-O3"), "balanced": Optimization("-O2"), "size": Optimization("-Os")}
"""By what `--optimize` says."""
SLOWER = ("cortex-m0", "cortex-m0plus", "cortex-m23")
"""Cores for which gcc's -O3 makes some models slower than -O2 does: it takes more registers than they have."""


def optimization(optimize: str, cpu: str) -> Optimization:
    """The compiler flags that were measured to be best for a core."""
    return OPTIMIZATION["balanced" if optimize == "speed" and cpu in SLOWER else optimize]


def only_gcc(core_flags: Sequence[str], how: Optimization) -> tuple[str, ...]:
    """Flags for gcc alone, for any core that the user's flags choose."""
    return (*(flag for flag in core_flags if flag.startswith("-f")), *how.gcc)
