"""Command streams that come with a model: the backend that they need, and the check of the target's accelerator."""

from __future__ import annotations

from mote.base.errors import MoteError
from mote.hardware.targets import Target
from mote.ir.graph import Graph
from mote.ir.ops.control.ethos_u import NpuStream

BACKEND = "ethos-u-stream"


def stream_backends(graph: Graph, target: Target) -> tuple[str, ...]:
    """The backend for a graph's command streams; none if it has no streams. An error if a stream is for another
    accelerator than the target's."""
    streams = [op for op in graph.ops if isinstance(op, NpuStream)]
    for op in streams:
        core = op.stream.config.name
        if target.npu is None or target.npu.core != core:
            has = "has no Ethos-U" if target.npu is None else f"has {target.npu.core}"
            raise MoteError(
                f"its command stream is for {core}, and the target {target.name} {has}",
                where=op.where,
                remedy="compile the model that Vela was given, with --backend ethos-u where the target has an Ethos-U",
            )
    return (BACKEND,) if streams else ()
