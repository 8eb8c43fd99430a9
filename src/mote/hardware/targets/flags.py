"""Optimization flags of the C compiler for a model, in measurements and in generated build files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Optimization:
    """The optimization level, and gcc-only options, which other compilers do not know."""

    level: str
    gcc: tuple[str, ...] = ()


OPTIMIZATION = {"speed": Optimization("-O3"), "balanced": Optimization("-O2"), "size": Optimization("-Os")}
"""Optimization flags by the value of `--optimize`."""
SETS = {
    "O2": Optimization("-O2"),
    "O3": Optimization("-O3"),
    "Os": Optimization("-Os"),
    "O2-unroll": Optimization("-O2", ("-funroll-loops",)),
    "O3-unroll": Optimization("-O3", ("-funroll-loops",)),
    "O2-no-pre": Optimization("-O2", ("-fno-gcse", "-fno-tree-pre")),
    "O3-align": Optimization("-O3", ("-falign-loops=8",)),
}
"""Alternative sets of optimization flags, by the names that the option `flags` takes and tuning chooses from."""
SLOWER = ("cortex-m0", "cortex-m0plus", "cortex-m23")
"""Cores for which gcc's -O3 makes some models slower than -O2, because it needs more registers than they have."""


NATIVE = ("-march=native", "-mcpu=native")
"""Compiler options for all instructions of the host; the first one that the compiler knows is used."""
UNFUSED = "-ffp-contract=off"
"""Option that forbids fused multiply-add, which would change float32 results."""
STANDARD = "-std=gnu99"
"""The dialect of C in measurements: with -std=c99 gcc never fuses multiply-adds and generates other float32 code."""


def optimization(optimize: str, cpu: str) -> Optimization:
    """The optimization flags that measured best for a core, or a set of SETS by its name."""
    if optimize in SETS:
        return SETS[optimize]
    return OPTIMIZATION["balanced" if optimize == "speed" and cpu in SLOWER else optimize]


def only_gcc(core_flags: Sequence[str], how: Optimization) -> tuple[str, ...]:
    """The flags that only gcc knows: of the core, and of the optimization."""
    return (*(flag for flag in core_flags if flag.startswith("-f")), *how.gcc)
