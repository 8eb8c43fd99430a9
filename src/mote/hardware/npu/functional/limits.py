"""Limits on the work of one operation, as registers can demand more than any computer has time and memory for."""

from __future__ import annotations

from math import prod

from mote.hardware.npu.functional.memory import refuse
from mote.hardware.npu.stream import NpuOperation

MOST_ELEMENTS = 1 << 26
"""Maximum elements of a padded feature map; no part has memory for more."""
MOST_TERMS = 1 << 36
"""Maximum products or comparisons of an operation."""


def bounded(operation: NpuOperation) -> None:
    """Raises an error for impossible feature maps, which strides of 0 allow in little memory."""
    made = [operation.value(f"OFM_{axis}_M1") + 1 for axis in ("HEIGHT", "WIDTH", "DEPTH")]
    terms = elements = prod(made)
    if operation.name not in ("ELEMENTWISE", "RESIZE"):
        window = [operation.value(f"KERNEL_{axis}_M1") + 1 for axis in ("HEIGHT", "WIDTH")]
        depth = operation.value("IFM_DEPTH_M1") + 1
        steps = operation.register("KERNEL_STRIDE")
        strides = [1 + steps[f"{axis}_low"] + 2 * steps[f"{axis}_high"] for axis in "yx"]
        met = [(made[axis] - 1) * strides[axis] + window[axis] for axis in range(2)]
        elements = max(elements, prod(met) * max(depth, made[2]), prod(window) * depth * made[2])
        terms *= prod(window) * depth
    if elements > MOST_ELEMENTS or terms > MOST_TERMS:
        refuse(operation, f"it has {elements:,} elements and {terms:,} terms, more than any device computes")
