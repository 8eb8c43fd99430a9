"""`mote.inspect`: a model's layers, shapes, types and sizes, and the layers that Mote cannot compile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mote import frontends
from mote.base.errors import explaining
from mote.base.notebook import table
from mote.base.results import Result
from mote.frontends.model import Model, SourceLayer
from mote.frontends.reading import reading
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.io_order import model_shape


@dataclass(frozen=True)
class TensorQuantization:
    """Scales and zero points of a tensor: one of each, or one for each channel."""

    scale: list[float]
    """The real value of a step."""
    zero_point: list[int]
    """The integer that stands for 0.0."""


@dataclass(frozen=True)
class InspectedTensor:
    """A tensor of the model file."""

    name: str
    """The name in the file."""
    shape: list[int]
    """The shape; for inputs and outputs as the model has it, for others as Mote's kernels have it."""
    dtype: str
    """The element type."""
    quantization: TensorQuantization | None
    """The quantization; None for tensors without one."""


@dataclass(frozen=True)
class InspectedLayer:
    """A layer of the model file."""

    index: int
    """The number of the layer in the file."""
    op: str
    """The operator, by the name that the format has for it."""
    name: str
    """The name of the layer."""
    inputs: list[InspectedTensor]
    """The tensors that the layer reads, without constants."""
    outputs: list[InspectedTensor]
    """The tensors that the layer computes."""
    macs: int | None
    """Multiply-accumulate operations; None for a layer that cannot be compiled."""
    weights: int
    """Bytes of constants."""
    bodies: list[dict[str, Any]]
    """The graphs inside of a layer of control flow."""
    unsupported: str | None
    """The reason why Mote cannot compile the layer; None if it can."""
    short: str
    """The layer's short name, the same in all reports."""


@dataclass(frozen=True)
class Inspection(Result):
    """The contents of a model file."""

    TITLE = "{model}"
    FACTS = "format, MACs=macs, weights:size"
    NOTES = "warnings"
    JSON = "*, unsupported"

    model: str
    """The file."""
    format: str
    """The format: tflite, onnx, torch, keras, sklearn, xgboost or lightgbm."""
    inputs: list[InspectedTensor]
    """The inputs, with the shapes that they have in the model."""
    outputs: list[InspectedTensor]
    """The outputs, with the shapes that they have in the model."""
    layers: list[InspectedLayer]
    """The layers in execution order."""
    macs: int
    """Multiply-accumulate operations of an inference."""
    weights: int
    """Bytes of constants."""
    warnings: list[str]
    """Warnings about the file."""

    @property
    def unsupported(self) -> list[InspectedLayer]:
        """The layers that Mote cannot compile."""
        return [layer for layer in self.layers if layer.unsupported]

    def __repr__(self) -> str:
        bad = f", {len(self.unsupported)} not supported" if self.unsupported else ""
        return (
            f"<Inspection of {self.model!r}: {len(self.layers)} layers{bad}, {self.macs:,} MACs,"
            f" {self.weights:,} bytes of weights>"
        )

    def _parts(self) -> list[str]:
        head = ("#", "layer", "op", "output", "MACs", "weight bytes", "not supported")
        rows = [(x.index, x.short, x.op, _shapes(x.outputs), x.macs, x.weights, x.unsupported) for x in self.layers]
        return [table(head, rows, left=4)]


def _shapes(tensors: Sequence[InspectedTensor]) -> str:
    return ", ".join(f"{t.dtype} {'x'.join(map(str, t.shape)) or 'scalar'}" for t in tensors)


@explaining()
def inspect(
    model: Any,
    *,
    shapes: Mapping[str, Sequence[int]] | Sequence[str] = (),
    signature: str = "",
    constants: Mapping[str, Any] | Sequence[str] = (),
    example_inputs: Any = None,
) -> Inspection:
    """Read a model (a file, its bytes, or an object) and list its layers with shapes, types, quantization, MACs and
    weights.

    A layer that Mote cannot compile is listed with the reason. `shapes` are those of inputs that the model leaves open,
    `signature` is one of several in a .tflite file, `constants` are inputs with fixed values, and `example_inputs`
    those of a module of PyTorch."""
    how = reading(shapes, signature, constants)
    source = frontends.source_of(model, **how, example_inputs=example_inputs)
    read = frontends.read(source)
    graph = read.partial()
    layers = [_layer(read, graph, layer) for layer in read.layers]
    inside = sum(_inner_weights(op) for layer in read.layers for op in layer.ops)
    return Inspection(
        model=source.where,
        format=str(source.format),
        inputs=[_edge(read.tensors[t]) for t in read.inputs],
        outputs=[_edge(read.tensors[t]) for t in read.outputs],
        layers=layers,
        macs=sum(layer.macs or 0 for layer in layers),
        weights=sum(t.nbytes for t in _constants(read)) + inside,
        warnings=list(read.warnings),
    )


def _constants(model: Model) -> list[Tensor]:
    used = {i for layer in model.layers for i in layer.inputs if i >= 0}
    return [model.tensors[i] for i in sorted(used) if model.tensors[i].data is not None]


def _layer(model: Model, graph: Graph, layer: SourceLayer) -> InspectedLayer:
    reads = [model.tensors[i] for i in layer.inputs if i >= 0]
    return InspectedLayer(
        index=layer.index,
        op=layer.code,
        name=layer.name,
        inputs=[_tensor(t, t.shape) for t in reads if t.data is None],
        outputs=[_tensor(model.tensors[i], model.tensors[i].shape) for i in layer.outputs],
        macs=sum(op.macs(graph) for op in layer.ops) if layer.problem is None else None,
        weights=sum(t.nbytes for t in reads if t.data is not None) + sum(map(_inner_weights, layer.ops)),
        bodies=[_body(body) for op in layer.ops for body in op.bodies],
        unsupported=layer.problem.reason if layer.problem else None,
        short=graph.layers[layer.index].name,
    )


def _body(graph: Graph) -> dict[str, Any]:
    """The layers of the bodies of control flow."""
    layers = [
        {"op": op.kind, "name": op.name, "macs": op.macs(graph), "bodies": [_body(body) for body in op.bodies]}
        for op in graph.ops
    ]
    return {"name": graph.name, "layers": layers}


def _inner_weights(op: Op) -> int:
    """Bytes of the constants inside of control flow."""
    inside = [t.nbytes for body in op.bodies for t in body.tensors.values() if t.data is not None]
    return sum(inside) + sum(_inner_weights(inner) for body in op.bodies for inner in body.ops)


def _edge(t: Tensor) -> InspectedTensor:
    """An input or output, with the shape that it has in the model."""
    return _tensor(t, model_shape(t))


def _tensor(t: Tensor, shape: Sequence[int]) -> InspectedTensor:
    quant = None
    if t.quant is not None:
        quant = TensorQuantization([float(x) for x in t.quant.scale], [int(x) for x in t.quant.zero_point])
    return InspectedTensor(t.name, list(shape), t.dtype, quant)
