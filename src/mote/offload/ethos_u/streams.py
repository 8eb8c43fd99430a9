"""The backend of command streams that come with a model: files that Vela has compiled. It needs no Vela."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mote.graph import Graph, Op
from mote.offload.contract import SCRATCH, Artifact, Generator, Invocation, Pointer
from mote.offload.ethos_u.artifact import NAME, artifact
from mote.offload.ethos_u.job import NpuJob
from mote.ops.control.ethos_u import NpuStream
from mote.targets import Target


class EthosUStreams(Generator):
    """Operators that are a command stream: its tensors are copied to their places in its working memory."""

    name = "ethos-u-stream"
    about = "command streams in files that Vela has compiled"

    def serves(self, target: Target) -> bool:
        return target.npu is not None

    def claims(self, graph: Graph, target: Target) -> Iterable[Op]:
        return (op for op in graph.ops if isinstance(op, NpuStream))

    def build(self, region: Op, graph: Graph, target: Target) -> Artifact:
        assert isinstance(region, NpuStream) and target.npu is not None
        constants = region.input(graph, len(region.inputs) - 1).data
        assert constants is not None
        job = NpuJob(region.payload, constants.tobytes(), region.scratch, region.fast, (), ())
        made = artifact(job, (), (), target, region.macs(graph) / target.npu.macs)
        given = len(region.inputs) - 1
        copies = [
            Invocation(
                f"{NAME}_{'put' if number < given else 'get'}",
                (Pointer(SCRATCH), at, Pointer(tensor), graph.tensors[tensor].nbytes),
            )
            for number, (tensor, at) in enumerate(region.tensors)
        ]
        return replace(made, calls=(*copies[:given], *made.calls, *copies[given:]))
