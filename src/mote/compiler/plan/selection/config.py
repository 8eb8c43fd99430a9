"""Options of a selection, and the exchange rates of its policy."""

from __future__ import annotations

from dataclasses import dataclass

from mote.compiler.plan.selection.request import Policy

RATES = {Policy.SPEED: 0.0, Policy.BALANCED: 30.0, Policy.SIZE: 225.0}
"""Exchange rate of flash by policy: cycles per inference that a byte of constants must save."""


@dataclass(frozen=True)
class SelectionConfig:
    """Options of a selection of kernels and layouts."""

    layouts: bool = True
    """Whether tensors may have other layouts than NHWC, which take more RAM."""
    group: int = 1
    """Maximum number of rows per call, for kernels that prefer several."""
    fused: bool = False
    """Whether to fuse operators wherever a kernel can, even if that is slower: intermediate tensors then take no
    RAM."""
    apart: bool = False
    """Whether to fuse no operators: code of a region is shared by fewer layers."""
    shifted: bool = False
    """Whether groups of rows end where those of the operator behind them want it: fewer rows wait, in one more
    group."""
    room: int | None = None
    """The most bytes that regions of external generators take, with their whole inputs and outputs and their working
    memory; larger ones are not taken unless they are pinned. None: any."""


ROOMY = SelectionConfig()
APART = SelectionConfig(apart=True)
LEAN = SelectionConfig(layouts=False, room=0)
