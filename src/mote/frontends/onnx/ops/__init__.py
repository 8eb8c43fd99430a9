"""The parsers of the operators that Mote knows, by domain and name: one file for each family, with its own PARSERS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mote.frontends.onnx.node import Group, Key, Parser
from mote.frontends.onnx.ops import (
    classical,
    elementwise,
    fused,
    matrix,
    moves,
    norms,
    quantized,
    reductions,
    resize,
    windows,
    written_out,
)

PARSERS: Mapping[Key, Parser] = {
    **classical.PARSERS,
    **elementwise.PARSERS,
    **fused.PARSERS,
    **matrix.PARSERS,
    **moves.PARSERS,
    **norms.PARSERS,
    **quantized.PARSERS,
    **reductions.PARSERS,
    **resize.PARSERS,
    **windows.PARSERS,
}

GROUPS: Sequence[Group] = (written_out.gelu,)
"""What is asked of each node before its parser."""
