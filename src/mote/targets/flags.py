"""How the C compiler is to optimize a model: what it is measured with, and what its own build files carry."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Optimization:
    """The level, and what gcc is told beside it; other compilers do not know that."""

    level: str
    gcc: tuple[str, ...] = ()


OPTIMIZATION = {
    # gcc -O3 clones kernels for the constants of one call, and then spills in their inner loops.
    "speed": Optimization("-O3", ("-fno-ipa-cp-clone",)),
    "balanced": Optimization("-O2"),
    "size": Optimization("-Os"),
}
"""By what `--optimize` says."""
