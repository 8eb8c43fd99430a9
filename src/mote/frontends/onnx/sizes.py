"""Inference of dynamic dimensions from the weights: shapes are inferred for several sizes, and the inputs of layers are
compared with their weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from mote.ir.graph.tensor import Shape

MOST = 1 << 20
"""The largest size that is tried."""
MOST_NODES = 2_000
"""Node limit: shapes are inferred some forty times."""
MOST_LISTED = 4_096
"""Number of fitting sizes among which the roundest is proposed."""
SMALL = 64
"""Constants with more elements are not shapes: their values are dropped."""


def proposed(graph: Any, versions: Any, name: str, shape: Shape, *, image: bool) -> tuple[Shape, str] | None:
    """The most likely shape of an input with dynamic dimensions (0), and the reason; None where nothing tells. Two
    dynamic sides of an image are taken to be equal."""
    square = image and len(shape) == 4 and shape[1] > 0
    if shape.count(0) > 1 and not (square and shape[2:] == (0, 0)):
        return None
    sizes = _fitting(graph, versions, name, shape)
    if sizes:
        size = max(sizes[:MOST_LISTED], key=lambda n: n & -n)
        others = f"sizes from {sizes[0]:,} to {sizes[-1]:,}" if len(sizes) > 1 else ""
        return tuple(n or size for n in shape), f"the layers after it take {others or 'no other size'}"
    if square and 0 in shape[2:] and any(shape[2:]):
        return tuple(n or max(shape[2:]) for n in shape), "as long as the other side of the image"
    return None


def _fitting(graph: Any, versions: Any, name: str, shape: Shape) -> range:
    """The sizes of the dynamic dimensions that every layer accepts; empty where no layer depends on them."""
    if len(graph.node) > MOST_NODES:
        return range(0)
    model = _outline(graph, versions)
    if all(_surplus(model, name, shape, size) is None for size in (1, MOST_LISTED)):
        return range(0)

    def first(least: int) -> int:
        """The first size whose surplus is at least this."""
        low, high = 1, MOST
        while low < high:
            middle = (low + high) // 2
            surplus = _surplus(model, name, shape, middle)
            low, high = (low, middle) if surplus is not None and surplus >= least else (middle + 1, high)
        return low

    sizes = range(first(0), first(1))
    return sizes if sizes and _surplus(model, name, shape, sizes[0]) == 0 else range(0)


def _outline(graph: Any, versions: Any) -> Any:
    """A model without the values of its weights."""
    import onnx

    model = onnx.ModelProto(ir_version=onnx.IR_VERSION)
    model.graph.CopyFrom(graph)
    model.opset_import.extend(versions)
    for constant in model.graph.initializer:
        if prod(constant.dims) > SMALL:
            bare = onnx.TensorProto(name=constant.name, dims=constant.dims, data_type=constant.data_type)
            constant.CopyFrom(bare)
    return model


def _surplus(model: Any, name: str, shape: Shape, size: int) -> int | None:
    """The surplus of elements that a layer gets over those that its weights take, for a size of the dynamic dimension:
    negative where there are too few, None where no layer tells."""
    import onnx

    (info,) = (info for info in model.graph.input if info.name == name)
    for dim, given in zip(info.type.tensor_type.shape.dim, shape, strict=True):
        dim.dim_value = given or size
    try:
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    except Exception:  # The package is C++, whose errors have no class of their own.
        return None
    known = {}
    for value in (*inferred.input, *inferred.value_info, *inferred.output):
        dims = value.type.tensor_type.shape.dim
        if value.type.tensor_type.HasField("shape") and all(d.HasField("dim_value") for d in dims):
            known[value.name] = tuple(d.dim_value for d in dims)
    known |= {constant.name: tuple(constant.dims) for constant in inferred.initializer}
    weights = {constant.name for constant in inferred.initializer}
    surplus = [given - taken for node in inferred.node for given, taken in _demands(node, known, weights, inferred)]
    return next((n for n in surplus if n), 0 if surplus else None)


def _demands(node: Any, known: Mapping[str, Shape], weights: set[str], graph: Any) -> Iterator[tuple[int, int]]:
    """The number of elements that a node gets, and the number that it takes."""
    shapes = [known.get(name) for name in node.input]
    if node.domain not in ("", "ai.onnx") or len(shapes) < 2:
        return
    x, w = shapes[:2]
    if not x:
        return
    if node.op_type in ("Gemm", "MatMul") and node.input[1] in weights and w and len(w) >= 2:
        turned = any(a.name == "transB" and a.i for a in node.attribute)
        yield x[-1], w[-1] if turned else w[-2]
    elif node.op_type == "Reshape":
        yield from _reshaped(x, node.input[1], graph)


def _reshaped(x: Shape, name: str, graph: Any) -> Iterator[tuple[int, int]]:
    """The element count in a constant shape; with -1 for the batch, that of each sample."""
    from onnx import numpy_helper

    for constant in graph.initializer:
        if constant.name == name and constant.dims and prod(constant.dims) <= SMALL:
            batch, *rest = numpy_helper.to_array(constant).tolist()
            if all(n > 0 for n in rest):
                yield prod(x), prod(rest) * (x[0] if batch <= 0 else batch)
