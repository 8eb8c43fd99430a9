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
SETS = {
    "O2": Optimization("-O2"),
    "O3": Optimization("-O3"),
    "Os": Optimization("-Os"),
    "O2-unroll": Optimization("-O2", ("-funroll-loops",)),
    "O3-unroll": Optimization("-O3", ("-funroll-loops",)),
    "O2-no-pre": Optimization("-O2", ("-fno-gcse", "-fno-tree-pre")),
    "O3-align": Optimization("-O3", ("-falign-loops=8",)),
}
"""Sets of flags in the place of those that `--optimize` says, by the names that the option `flags` takes and tuning
chooses from."""
SLOWER = ("cortex-m0", "cortex-m0plus", "cortex-m23")
"""Cores for which gcc's -O3 makes some models slower than -O2 does: it takes more registers than they have."""


NATIVE = ("-march=native", "-mcpu=native")
"""Options of compilers for all instructions of this computer: the first that one knows."""
UNFUSED = "-ffp-contract=off"
"""The option without which such instructions change results of float32: no product is fused with a sum."""
STANDARD = "-std=gnu99"
"""The dialect of C in measurements: with -std=c99 gcc fuses nothing, and has other code for float32."""


def optimization(optimize: str, cpu: str) -> Optimization:
    """The compiler flags that were measured to be best for a core, or a set of them by its name."""
    if optimize in SETS:
        return SETS[optimize]
    return OPTIMIZATION["balanced" if optimize == "speed" and cpu in SLOWER else optimize]


def only_gcc(core_flags: Sequence[str], how: Optimization) -> tuple[str, ...]:
    """Flags for gcc alone, for any core that the user's flags choose."""
    return (*(flag for flag in core_flags if flag.startswith("-f")), *how.gcc)
