"""Parsers of ATen operators."""

from __future__ import annotations

from collections.abc import Mapping

from mote.frontends.torch.node import Parser
from mote.frontends.torch.ops import (
    activations,
    arithmetic,
    indexing,
    matrix,
    moves,
    norms,
    recurrent,
    reductions,
    windows,
)

MODULES = (activations, arithmetic, indexing, matrix, moves, norms, recurrent, reductions, windows)

PARSERS: Mapping[str, Parser] = {name: parser for module in MODULES for name, parser in module.PARSERS.items()}
"""Parsers by operator name with overload."""
