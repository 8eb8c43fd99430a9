"""Constant folding while a file is read: exporters write shape arithmetic and weight transformations as nodes. ONNX's
own reference computes those whose inputs are all known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from mote.base.errors import TooLargeError, UnsupportedNodeError
from mote.base.extras import quiet, require
from mote.frontends import limits
from mote.frontends.onnx.file.tensors import read_sparse, read_tensor
from mote.frontends.onnx.node import ML, FileNode, words
from mote.ir.graph.tensor import Array

MOST_FOLDED = limits.MOST_ELEMENTS
"""Element limit of a folded constant."""
MOST_AT_ONCE = 1 << 12
"""Element limit of the inputs of operators with a slow reference. Larger ones are left to the constant folding pass."""
_SLOW = words(
    "Conv ConvTranspose ConvInteger DeformConv MatMul Gemm MatMulInteger QLinearConv QLinearMatMul Einsum LSTM GRU RNN"
    " MaxPool AveragePool LpPool GlobalAveragePool GlobalMaxPool GlobalLpPool MaxRoiPool MaxUnpool RoiAlign Resize"
    " Upsample GridSample NonMaxSuppression DFT STFT Det Attention LRN AffineGrid Col2Im FlexAttention LinearAttention"
    " CausalConvWithState TreeEnsemble TreeEnsembleRegressor TreeEnsembleClassifier SVMRegressor SVMClassifier"
    " ScatterND ScatterElements Unique"
)
_NEVER = words(
    "RandomNormal RandomNormalLike RandomUniform RandomUniformLike Bernoulli Multinomial If Loop Scan SequenceMap"
)
"""Operators that are not folded: random ones, and control flow, which is unrolled."""
_AS_LARGE = words("NonZero Compress Unique StringSplit")
"""Operators whose results have about as many elements as their inputs: the number is only known afterwards."""


def types_of(call: FileNode, given: Mapping[str, Any], data: Mapping[str, Array]) -> list[Any]:
    """The inferred types and shapes of a node's outputs as TypeProtos; None where inference fails. `given` has the
    input types, `data` the constant inputs."""
    from onnx import defs, helper, numpy_helper, shape_inference

    nothing: list[Any] = [None] * len(call.outputs)
    if not defs.has(call.op_type, call.domain):
        return nothing
    known = {
        name: numpy_helper.from_array(value)
        for name, value in data.items()
        if value.size <= MOST_AT_ONCE and value.dtype.kind in "iufb"
    }
    try:
        with quiet():
            schema = defs.get_schema(call.op_type, call.version, call.domain)
            imports = [helper.make_opsetid(call.domain, call.version)]
            inferred = shape_inference.infer_node_outputs(schema, call.proto, dict(given), known, opset_imports=imports)
    except Exception:  # Its errors are of many kinds; the parser will say what is wrong.
        return nothing
    return [inferred.get(name) for name in call.outputs]


def sizes_of(type_: Any) -> tuple[int, ...] | None:
    """The shape in a TypeProto, where all dimensions are known."""
    if type_ is None or type_.WhichOneof("value") != "tensor_type" or not type_.tensor_type.HasField("shape"):
        return None
    dims = type_.tensor_type.shape.dim
    if any(d.WhichOneof("value") != "dim_value" or d.dim_value < 0 for d in dims):
        return None
    return tuple(d.dim_value for d in dims)


def constant_of(call: FileNode) -> Array:
    """The value of a Constant node, from whichever attribute holds it."""
    from onnx import AttributeProto

    if len(call.attributes) != 1:
        raise UnsupportedNodeError(f"has {len(call.attributes)} values, a constant has one")
    ((name, a),) = call.attributes.items()
    kinds: dict[str, tuple[int, Callable[[], Array]]] = {
        "value": (AttributeProto.TENSOR, lambda: read_tensor(a.t)),
        "sparse_value": (AttributeProto.SPARSE_TENSOR, lambda: read_sparse(a.sparse_tensor)),
        "value_int": (AttributeProto.INT, lambda: np.array(a.i, np.int64)),
        "value_ints": (AttributeProto.INTS, lambda: np.array(a.ints, np.int64)),
        "value_float": (AttributeProto.FLOAT, lambda: np.array(a.f, np.float32)),
        "value_floats": (AttributeProto.FLOATS, lambda: np.array(a.floats, np.float32)),
        "value_string": (AttributeProto.STRING, lambda: _strings([a.s]).reshape(())),
        "value_strings": (AttributeProto.STRINGS, lambda: _strings(a.strings)),
    }
    if name not in kinds or kinds[name][0] != a.type:
        raise UnsupportedNodeError(f"the attribute {name} of a constant has the wrong type, or there is no such one")
    return kinds[name][1]()


def _strings(texts: Sequence[bytes]) -> Array:
    return np.array([text.decode("utf-8", "backslashreplace") for text in texts], dtype=object)


def folded(call: FileNode, inputs: Sequence[Array | None], types: Sequence[Any]) -> list[Array | None] | None:
    """The outputs of a node whose inputs are all constant; None where it stays an operator."""
    if call.domain not in ("", ML) or call.op_type in _NEVER:
        return None
    given = [data for data in inputs if data is not None]
    shapes = [sizes_of(type_) for type_ in types]
    made = [prod(shape) for shape in shapes if shape is not None]
    slow = call.op_type in _SLOW and max([*made, *(data.size for data in given)], default=0) > MOST_AT_ONCE
    if slow or (None in shapes and call.op_type not in _AS_LARGE and not _small(given)):
        return None
    if sum(made) > MOST_FOLDED:
        raise TooLargeError(
            f"the constant '{call.label}' has {sum(made):,} elements, more than {MOST_FOLDED:,}",
            remedy="no microcontroller has memory for it: export a smaller model",
        )
    return _evaluated(call, inputs)


def _small(given: Sequence[Array]) -> bool:
    """Whether inputs are so small that no large result follows, unless they are sizes themselves."""
    few = sum(data.size for data in given) <= MOST_AT_ONCE
    sizes = (np.abs(data).max(initial=0) for data in given if data.dtype.kind in "iu")
    return few and all(size <= MOST_AT_ONCE for size in sizes)


def _evaluated(call: FileNode, inputs: Sequence[Array | None]) -> list[Array | None] | None:
    from onnx import helper

    evaluator: Any = require("onnx.reference", extra="onnx").ReferenceEvaluator
    feeds = {name: data for name, data in zip(call.inputs, inputs, strict=True) if name and data is not None}
    nothing = helper.make_tensor_type_proto
    edges = [
        helper.make_value_info(name, nothing(helper.np_dtype_to_tensor_dtype(data.dtype), data.shape))
        for name, data in feeds.items()
    ]
    results = [helper.make_value_info(name, nothing(1, None)) for name in call.outputs if name]
    graph = helper.make_graph([call.proto], "folded", edges, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(call.domain, call.version)])
    try:
        with quiet(), np.errstate(all="ignore"):
            outputs = evaluator(model).run([name for name in call.outputs if name], feeds)
    except Exception:  # Whatever the reference cannot do is left to the parsers, which say what is wrong.
        return None
    if not all(isinstance(value, np.ndarray | np.generic) for value in outputs):
        return None
    arrays = iter(outputs)
    return [np.asarray(next(arrays)) if name else None for name in call.outputs]
