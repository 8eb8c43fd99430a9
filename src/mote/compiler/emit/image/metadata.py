"""Metadata of an image for tools: the layer of each op, and the tensors of the model file that it computes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mote.compiler.kernels.contract import NHWC
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.scheduling.rows import PushedInput
from mote.ir.graph import Tensor
from mote.version import __version__

TURNED = "channels_last"
"""Key for the indices of ports (inputs, then outputs) that are channels-last in the image but not in the model."""


def about(plan: Plan, options: Mapping[str, Any]) -> dict[str, Any]:
    """The contents of the section `about`. Its ops are the first ones of the image, one per operator of the plan."""
    metadata = {"mote": __version__, "options": dict(options), "ops": [_op(plan, i) for i in range(len(plan.works))]}
    turned = [i for i, t in enumerate((*plan.graph.inputs, *plan.graph.outputs)) if plan.graph.tensors[t].arrangement]
    return metadata | ({TURNED: turned} if turned else {})


def _op(plan: Plan, i: int) -> dict[str, Any]:
    """The metadata of an operator of the plan: its layer, kernel and traced tensors."""
    op, steps = plan.works[i]
    kernel, buffer = steps[0].kernel, plan.place[op.outputs[0]]
    shown = [plan.graph.tensors[t] for t in plan.shown(op)]
    rows = plan.traced(steps)
    described: dict[str, Any] = {
        "layer": plan.number(steps[0]),
        "kind": op.kind,
        "kernel": "" if isinstance(op, PushedInput) else kernel.name,
        "family": kernel.family,
        "tensors": [_tensor(t) for t in shown],
        "macs": op.macs(plan.graph),
    }
    if rows != list(range(len(buffer.offsets))):
        described["rows"] = rows
    if buffer.layout != NHWC:
        described["layout"] = [buffer.layout.name, *vars(buffer.layout).values()]
    return described


def _tensor(tensor: Tensor) -> dict[str, Any]:
    described: dict[str, Any] = {
        "id": tensor.id,
        "source": tensor.source,
        "dtype": str(tensor.dtype),
        "shape": list(tensor.shape),
    }
    if tensor.newest is not None:
        described["newest"] = tensor.newest
    if tensor.kept is not None:
        described["kept"] = list(tensor.kept)
    if tensor.inner:
        described["inner"] = True
    if tensor.arrangement is not None:
        described["arrangement"] = [list(tensor.arrangement.atoms), list(tensor.arrangement.order)]
    return described
