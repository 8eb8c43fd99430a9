"""A model prepared for quantization-aware training, with the original's inputs and outputs."""

from __future__ import annotations

import torch
from torch import nn

from mote.base.errors import MoteError
from mote.bench.execute.torch.float32.common import Value
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.io_order import model_shape
from mote.optimize.compress.quantize_aware.aware import AwareModule


class Prepared(nn.Module):
    """Drop-in replacement for a model in any training loop: same inputs, outputs and channel order, but quantized
    arithmetic. `aware` is the inner channels-last module."""

    def __init__(self, aware: AwareModule, origin: object) -> None:
        super().__init__()
        self.aware = aware
        self.origin = origin
        """Source model and calibration, needed by `convert`."""

    def forward(self, *inputs: Value) -> Value | tuple[Value, ...]:
        """Dequantized outputs: one tensor, or a tuple of several."""
        graph = self.aware.source
        values = self.aware.values(*self._in_graph_layout(inputs), wanted=graph.outputs)
        outputs = tuple(as_model(graph.tensors[i], values[i]) for i in graph.outputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def stored(self, *inputs: Value) -> tuple[Value, ...]:
        """Integer outputs, as the quantized model returns them."""
        graph: Graph = self.aware.source
        values = self.aware.stored(*self._in_graph_layout(inputs))
        return tuple(as_model(graph.tensors[i], x) for i, x in zip(graph.outputs, values, strict=True))

    def _in_graph_layout(self, inputs: tuple[Value, ...]) -> list[Value]:
        graph = self.aware.source
        if len(inputs) != len(graph.inputs):
            raise MoteError(f"{len(inputs)} inputs were given, it has {len(graph.inputs)}", where=graph.name)
        return [as_graph(graph.tensors[i], x) for i, x in zip(graph.inputs, inputs, strict=True)]


def as_graph(t: Tensor, x: Value) -> Value:
    """Converts samples from the model's channel order to the graph's."""
    if t.arrangement is None:
        return x
    shape = model_shape(t)[1:]
    if tuple(x.shape[1:]) != shape:
        raise MoteError(
            f"input '{t.name}' has the shape {list(x.shape)}, it should be [samples, {', '.join(map(str, shape))}]"
        )
    return torch.movedim(x, 1, -1)


def as_model(t: Tensor, x: Value) -> Value:
    """Converts samples from the graph's channel order to the model's."""
    return x if t.arrangement is None else torch.movedim(x, -1, 1)
