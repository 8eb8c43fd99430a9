"""Layout selection for the tensors between kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mote.compiler.kernels.contract import NHWC, Layout
from mote.compiler.plan.selection.candidates import Candidates
from mote.compiler.plan.selection.config import SelectionConfig
from mote.compiler.plan.selection.request import Lowering
from mote.ir.graph import Op
from mote.ir.graph.region import Numbers


def layouts_of(
    candidates: Candidates, how: Lowering, config: SelectionConfig, pieces: Mapping[Numbers, Op]
) -> dict[int, Layout]:
    """Tensors with a layout other than NHWC: all consumers prefer it, and the producer can write it. Inputs and outputs
    of the model stay NHWC. `pieces`: the operators of the graph, fused ones joined."""
    readers: dict[int, list[Numbers]] = {}
    for ops, op in pieces.items():
        for t in dict.fromkeys(op.inputs):
            readers.setdefault(t, []).append(ops)
    layouts = {}
    for ops, op in pieces.items():
        out = op.outputs[0]
        wanted = {_preferred(candidates, how, pieces[reader], reader, out) for reader in readers.get(out, [])}
        if len(wanted) == 1 and out not in candidates.graph.outputs:
            (layout,) = wanted
            if layout is not None and candidates.writes(ops, how, layout):
                layouts[out] = layout
    if config.layouts:
        return layouts
    return {t: layout for t, layout in layouts.items() if _only_others(candidates, how, readers[t])}


def _only_others(candidates: Candidates, how: Lowering, readers: Sequence[Numbers]) -> bool:
    """Whether a consumer is pinned to a kernel that does not read NHWC, so that lean selections need the layout."""
    return any(candidates.pinned(ops) and not candidates.kernels(ops, how) for ops in readers)


def _preferred(candidates: Candidates, how: Lowering, op: Op, ops: Numbers, tensor: int) -> Layout | None:
    """The layout that a consumer prefers for a tensor; only the first input of an operator may be other than NHWC."""
    return candidates.preferred(ops, how) if op.inputs[0] == tensor else None


def between(how: Lowering, op: Op, layouts: Mapping[int, Layout]) -> Lowering:
    """The conditions for an operator's kernels, with the chosen layouts of its first input and its output."""
    reads = layouts.get(op.inputs[0], NHWC) if op.inputs else NHWC
    return replace(how, reads=reads, writes=layouts.get(op.outputs[0], NHWC))
