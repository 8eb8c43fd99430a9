"""The parsers of the supported operators, by domain and name: one file for each family, with its own PARSERS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mote.frontends.onnx.node import Group, Key, Parser
from mote.frontends.onnx.ops import (
    casts,
    classical,
    elementwise,
    forests,
    fused,
    matrix,
    moves,
    norms,
    numbers,
    places,
    qonnx,
    quantized,
    recurrent,
    reductions,
    refused,
    requant,
    resize,
    sampling,
    signals,
    suppression,
    thresholds,
    windows,
    written_out,
)

PARSERS: Mapping[Key, Parser] = {
    **casts.PARSERS,
    **classical.PARSERS,
    **elementwise.PARSERS,
    **forests.PARSERS,
    **fused.PARSERS,
    **matrix.PARSERS,
    **moves.PARSERS,
    **norms.PARSERS,
    **numbers.PARSERS,
    **places.PARSERS,
    **qonnx.PARSERS,
    **quantized.PARSERS,
    **recurrent.PARSERS,
    **reductions.PARSERS,
    **refused.PARSERS,
    **requant.PARSERS,
    **resize.PARSERS,
    **sampling.PARSERS,
    **signals.PARSERS,
    **suppression.PARSERS,
    **thresholds.PARSERS,
    **windows.PARSERS,
}

GROUPS: Sequence[Group] = (written_out.gelu,)
"""Pattern matchers that are tried on each node before its parser."""
