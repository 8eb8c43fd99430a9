"""A file as a list of nodes of few kinds: PyTorch decomposes the others, and constants are folded."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import prod
from typing import Any

from mote.base.errors import MoteError, naming
from mote.base.extras import quiet, require
from mote.frontends import limits
from mote.frontends.torch.archive import MalformedArchiveError, opened
from mote.frontends.torch.signature import Assembled, assembled
from mote.ir.graph.tensor import Shape

WHOLE = (
    "linear.default",
    "matmul.default",
    "instance_norm.default",
    "rms_norm.default",
    "scaled_dot_product_attention.default",
    "lstm.input",
    "gru.input",
    "rnn_tanh.input",
    "rnn_relu.input",
    "gelu.default",
    "silu.default",
    "mish.default",
    "hardswish.default",
    "hardsigmoid.default",
    "softplus.default",
    "prelu.default",
    "selu.default",
    "celu.default",
    "elu.default",
    "leaky_relu.default",
    "log_sigmoid.default",
    "glu.default",
    "relu6.default",
    "adaptive_avg_pool1d.default",
    "adaptive_avg_pool2d.default",
    "adaptive_avg_pool3d.default",
    "upsample_nearest1d.vec",
    "upsample_nearest2d.vec",
    "upsample_nearest3d.vec",
    "upsample_linear1d.vec",
    "upsample_bilinear2d.vec",
    "upsample_bicubic2d.vec",
    "upsample_trilinear3d.vec",
    "upsample_linear1d.default",
    "upsample_trilinear3d.default",
    "pixel_shuffle.default",
    "pixel_unshuffle.default",
    "roll.default",
    "linalg_vector_norm.default",
    "im2col.default",
    "grid_sampler_2d.default",
    "grid_sampler_3d.default",
    "unfold.default",
    "reflection_pad1d.default",
    "reflection_pad2d.default",
    "reflection_pad3d.default",
    "replication_pad1d.default",
    "replication_pad2d.default",
    "replication_pad3d.default",
    "split_with_sizes.default",
    "logsumexp.default",
)
"""Operators that are not decomposed, since Mote computes them as they are."""

OF_SHAPES = frozenset(f"aten.{name}_like.default" for name in ("full", "zeros", "ones", "empty")) | frozenset(
    f"aten.new_{name}.default" for name in ("full", "zeros", "ones", "empty")
)
"""Operators that only read the shape and type of a tensor."""
UNWRITTEN = frozenset(f"aten.{name}" for name in ("empty.memory_format", "empty_like.default", "new_empty.default"))
"""Operators with uninitialized results: here they are zero."""
DEQUANTIZE = "quantized_decomposed.dequantize_"
"""Prefix of dequantize operators, which are not folded: Mote computes with their codes."""


@dataclass(frozen=True)
class Kept:
    """A buffer that the module writes: its name in the module, the graph input with its value before an inference, and
    the node with its value after it."""

    buffer: str
    before: str
    after: str


@dataclass(frozen=True)
class TorchProgram:
    """Nodes in topological order. Values have the names of PyTorch's graph."""

    torch: Any
    nodes: tuple[Any, ...]
    """Nodes that depend on inputs or states."""
    shapes: Mapping[str, Shape]
    inputs: tuple[str, ...]
    outputs: tuple[Any, ...]
    """The names of values, or numbers."""
    labels: tuple[str, ...]
    """The keys of outputs that the module returns in a dictionary; empty names for others."""
    states: tuple[Kept, ...]
    given: Mapping[str, Any]
    """Weights, buffers and folded constants, as tensors; of states their initial values."""
    types: Mapping[str, Any]
    placeholders: tuple[Any, ...]
    """The nodes of inputs, weights and buffers."""
    warnings: tuple[str, ...]
    assumed: tuple[str, ...] = ()
    """Dynamic first axes that were taken for a batch of 1, with what to do where they are none."""
    parts: Mapping[str, Any] = field(default_factory=dict)
    """The modules of subgraphs, by the names of the nodes that stand for them."""

    def inside(self, module: Any, known: Sequence[Any]) -> TorchProgram:
        """The program of a subgraph for operands, of which the known ones are constants."""
        places = [node for node in module.graph.nodes if node.op == "placeholder"]
        given = {node.name: x for node, x in zip(places, known, strict=True) if x is not None}
        (end,) = (node for node in module.graph.nodes if node.op == "output")
        returned = end.args[0]
        results = tuple(x.name for x in (returned if isinstance(returned, Sequence) else [returned]))
        inputs = tuple(node.name for node in places if node.name not in given)
        return _of_graph(self.torch, module, given, inputs, results, ("",) * len(results), (), ())

    @cached_property
    def names(self) -> dict[str, str]:
        """The model's names of values: outputs have the module's keys, others the path of their module."""
        labels: dict[str, str] = {}
        for node in self.nodes:
            module = (node.meta.get("custom") or {}).get("module")
            labels[node.name] = f"{module}/{node.name}" if module else node.name
        taken = {*labels.values(), *self.inputs}
        for label, name in zip(self.labels, self.outputs, strict=True):
            if label and name in labels and label not in taken:
                taken.add(label)
                labels[name] = label
        return labels

    @property
    def results(self) -> list[tuple[str, str]]:
        """The output values, and their names."""
        if wrong := [x for x in self.outputs if not isinstance(x, str)]:
            raise MoteError(
                f"the module returns {wrong[0]}, which is not a tensor", remedy="let it return tensors only"
            )
        return [(name, self.names.get(name, name)) for name in self.outputs]


def loaded(data: bytes, where: str, shapes: Mapping[str, Shape]) -> TorchProgram:
    """The program of a `.pt2` file for inputs of these shapes; other inputs have those of the file."""
    torch = require("torch", extra="torch", what="PyTorch models")
    with quiet():
        _operators_of_quantization()
    with naming(where), _explained(), quiet(), torch.no_grad():
        whole = assembled(torch, opened(data), shapes)
        simpler = whole.exported.run_decompositions(_table(torch))
    return _program(torch, simpler, whole)


@contextmanager
def _explained() -> Iterator[None]:
    """Report PyTorch's exceptions about a file as errors of the file."""
    try:
        yield
    except (MoteError, MemoryError, RecursionError):
        raise
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        damaged = isinstance(error, MalformedArchiveError)
        reason = "the file is damaged" if damaged else f"PyTorch does not take the program ({type(error).__name__})"
        remedy = "copy or export it again"
        raise MoteError(f"{reason}: {lines[0] if lines else ''}", remedy=remedy) from error


def _operators_of_quantization() -> None:
    """Register PyTorch's operators of quantized graphs, by importing them."""
    import torch.ao.quantization.fx._decomposed  # noqa: F401


def _table(torch: Any) -> Any:
    """The decomposition table."""
    table = torch.export.default_decompositions()
    for name in WHOLE:
        packet, _, overload = name.partition(".")
        function = getattr(getattr(torch.ops.aten, packet), overload)
        if function in table:
            table.pop(function)
    return table


def _program(torch: Any, exported: Any, whole: Assembled) -> TorchProgram:
    from torch.export.graph_signature import OutputKind

    signature = exported.graph_signature
    sources = {**exported.state_dict, **exported.constants}
    given = {spec.arg.name: sources[spec.target] for spec in signature.input_specs if spec.target is not None}
    buffers = {spec.target: spec.arg.name for spec in signature.input_specs if spec.target is not None}
    states = tuple(
        Kept(spec.target, buffers[spec.target], spec.arg.name)
        for spec in signature.output_specs
        if spec.kind == OutputKind.BUFFER_MUTATION
    )
    written = [spec.target for spec in signature.output_specs if spec.kind == OutputKind.USER_INPUT_MUTATION]
    notes = [*whole.warnings, *(f"the module writes its input '{name}', which is left as it is" for name in written)]
    outputs = [spec.arg for spec in signature.output_specs if spec.kind == OutputKind.USER_OUTPUT]
    results = tuple(x.name if not hasattr(x, "value") else x.value for x in outputs)
    program = _of_graph(torch, exported.graph_module, given, whole.inputs, results, whole.labels, states, tuple(notes))
    return replace(program, assumed=whole.assumed)


def _of_graph(
    torch: Any,
    module: Any,
    given: Mapping[str, Any],
    inputs: tuple[str, ...],
    results: tuple[Any, ...],
    labels: tuple[str, ...],
    states: tuple[Kept, ...],
    notes: tuple[str, ...],
) -> TorchProgram:
    """The program of a graph, with its constants folded."""
    graph = module.graph
    with torch.no_grad():
        known, nodes = _folded(torch, graph, given, {*inputs, *(kept.before for kept in states)})
    types, shapes = {}, {}
    for node in graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            types[node.name], shapes[node.name] = value.dtype, tuple(value.shape)
    placeholders = tuple(node for node in graph.nodes if node.op == "placeholder")
    parts = {node.name: getattr(module, node.target) for node in graph.nodes if node.op == "get_attr"}
    return TorchProgram(
        torch, nodes, shapes, inputs, results, labels, states, known, types, placeholders, notes, parts=parts
    )


def _folded(
    torch: Any, graph: Any, given: Mapping[str, Any], changing: set[str]
) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """All constant values, and the nodes of the others."""
    known = dict(given)
    fixed = {name: x for name, x in given.items() if name not in changing}
    left = []
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        known_ones = all(x.name in fixed for x in node.all_input_nodes)
        if (known_ones or str(node.target) in OF_SHAPES) and _is_foldable(torch, node):
            like = partial(_value_or_shape, torch, fixed)
            args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), like)
            result = node.target(*args, **kwargs)
            fixed[node.name] = torch.zeros_like(result) if str(node.target) in UNWRITTEN else result
        else:
            left.append(node)
    return known | fixed, tuple(left)


def _value_or_shape(torch: Any, fixed: Mapping[str, Any], node: Any) -> Any:
    """A constant value, or an uninitialized one of the same shape and type."""
    if node.name in fixed:
        return fixed[node.name]
    return torch.empty(tuple(node.meta["val"].shape), dtype=node.meta["val"].dtype)


def _is_foldable(torch: Any, node: Any) -> bool:
    if node.target is operator.getitem:
        return True
    if isinstance(node.target, torch._ops.HigherOrderOperator):
        return False
    if str(node.target).startswith(DEQUANTIZE) or torch.Tag.nondeterministic_seeded in node.target.tags:
        return False
    values = node.meta.get("val")
    sizes = [
        prod(x.shape) for x in (values if isinstance(values, Sequence) else [values]) if isinstance(x, torch.Tensor)
    ]
    return max(sizes, default=0) <= limits.MOST_ELEMENTS
