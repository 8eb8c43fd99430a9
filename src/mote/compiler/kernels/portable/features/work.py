"""Cycles of kernels on a Cortex-M4, about, by the size of their output."""

from __future__ import annotations

from collections.abc import Callable

from mote.compiler.kernels.contract import View


def each(cycles: float) -> Callable[[View], float]:
    """So many cycles for each value of the output."""
    return lambda view: cycles * view.output.size
