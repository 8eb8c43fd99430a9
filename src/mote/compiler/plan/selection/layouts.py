"""The layouts of tensors between kernels."""

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
    """Layouts other than NHWC: of tensors whose consumers all prefer the same one, and whose producer can write it.
    Inputs and outputs of the model stay NHWC."""
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
    """Whether a consumer is pinned to a kernel that cannot read NHWC."""
    return any(candidates.pinned(ops) and not candidates.kernels(ops, how) for ops in readers)


def _preferred(candidates: Candidates, how: Lowering, op: Op, ops: Numbers, tensor: int) -> Layout | None:
    return candidates.preferred(ops, how) if op.inputs[0] == tensor else None


def between(how: Lowering, op: Op, layouts: Mapping[int, Layout]) -> Lowering:
    """The conditions that an operator's kernels are chosen for: its first input and its output in their layouts."""
    reads = layouts.get(op.inputs[0], NHWC) if op.inputs else NHWC
    return replace(how, reads=reads, writes=layouts.get(op.outputs[0], NHWC))
