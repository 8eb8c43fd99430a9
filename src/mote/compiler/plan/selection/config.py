"""Options of a selection of kernels and layouts, and the exchange rates between flash and cycles.

Example: for CONV, POOL, FULLY_CONNECTED on a core with DSP instructions, `ROOMY` takes the kernel of CONV that reads
planar rows, `SelectionConfig(group=4)` one that computes four rows per call, and `LEAN` one that reads NHWC rows, with
less RAM. The planner combines these selections: a plan may use a different one in each of its segments.
"""

from __future__ import annotations

from dataclasses import dataclass

from mote.compiler.plan.selection.request import Policy

RATES = {Policy.SPEED: 0.0, Policy.BALANCED: 30.0, Policy.SIZE: 225.0}
"""Exchange rate of flash by policy: cycles per inference that a byte of constants must save."""


@dataclass(frozen=True)
class SelectionConfig:
    """Constraints on a selection of kernels and layouts."""

    layouts: bool = True
    """Whether tensors may have layouts other than NHWC, which take more RAM."""
    group: int = 1
    """Maximum number of output rows per call, for kernels that can compute several at once."""
    fused: bool = False
    """Whether to fuse operators wherever a kernel can, even if slower, as intermediate tensors then take no RAM."""
    apart: bool = False
    """Whether to fuse no operators, except by external generators and pins."""
    shifted: bool = False
    """Whether groups of rows are shifted to end where a group of the consumer does (see `shifted_groups`): fewer rows
    are live, for one more call."""
    room: int | None = None
    """Maximum RAM of a region that an external generator computes (inputs, outputs and scratch), in bytes, unless it is
    pinned; None: no limit."""


ROOMY = SelectionConfig()
"""Any layout, fusion where it is faster: the fastest kernels."""
APART = SelectionConfig(apart=True)
LEAN = SelectionConfig(layouts=False, room=0)
"""NHWC only, fusion where it takes no more scratch: the least RAM."""
