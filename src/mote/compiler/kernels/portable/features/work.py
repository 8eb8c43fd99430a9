"""Estimated Cortex-M4 cycles of preprocessing kernels."""

from __future__ import annotations

from collections.abc import Callable

from mote.compiler.kernels.contract import View


def each(cycles: float) -> Callable[[View], float]:
    """Returns a cost estimate of `cycles` per output value."""
    return lambda view: cycles * view.output.size
