"""The backend for command streams that come with a model, in files compiled by Vela. It does not need Vela."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mote.compiler.offload.contract import Artifact, Blob, Generator, Pointer
from mote.compiler.offload.ethos_u.artifact import NAME, artifact, job_words
from mote.compiler.offload.ethos_u.image import image_call
from mote.compiler.offload.ethos_u.job import MOST_TENSORS, NpuJob
from mote.compiler.offload.ethos_u.simulated import simulate
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op
from mote.ir.ops.control.ethos_u import NpuStream


class EthosUStreams(Generator):
    """Computes operators that are command streams: tensors are copied to their addresses in its working memory."""

    name = "ethos-u-stream"
    device = "ethos-u"
    about = "command streams in files that Vela has compiled"

    def serves(self, target: Target) -> bool:
        return target.npu is not None

    def claims(self, graph: Graph, target: Target) -> Iterable[Op]:
        return (op for op in graph.ops if isinstance(op, NpuStream))

    def simulate(self, memory: Sequence[NDArray[np.uint8]]) -> int:
        simulate(memory)
        return 0

    def build(self, region: Op, graph: Graph, target: Target) -> Artifact:
        assert isinstance(region, NpuStream) and target.npu is not None
        constants = region.input(graph, len(region.inputs) - 1).data
        assert constants is not None
        job = NpuJob(region.payload, constants.tobytes(), region.scratch, region.fast, (), ())
        made = artifact(job, (), (), target, region.macs(graph) / target.npu.macs)
        tensors = region.tensors
        places = [
            len(region.inputs) - 1,
            len(tensors),
            *(n for t, at in tensors for n in (at, graph.tensors[t].nbytes)),
        ]
        addresses: list[Pointer | int | str] = [
            *(Pointer(tensor) for tensor, _ in tensors),
            *["NULL"] * (MOST_TENSORS - len(tensors)),
        ]
        inside = {tensor: (graph.tensors[tensor].nbytes, at) for tensor, at in tensors}
        (call,) = made.calls
        before = call.arguments[:-MOST_TENSORS]
        return replace(
            made,
            calls=(replace(call, function=f"{NAME}_run_inside", arguments=(*before, Pointer("places"), *addresses)),),
            blobs=(*made.blobs, Blob("places", np.array(places, np.uint32))),
            image=image_call(job_words(job), job, region.inputs[:-1], region.outputs, inside),
        )
