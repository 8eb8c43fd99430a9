"""LiteRT's own quantizer (`ai-edge-quantizer`) on a float `.tflite` file: what Mote's is compared with. It is used as
it is recommended for integers everywhere: static, a scale for each channel of weights, its usual way to ranges."""

from __future__ import annotations

from typing import Any

import flatbuffers
from ai_edge_litert import schema_py_generated as schema
from ai_edge_quantizer import quantizer, recipe
from ai_edge_quantizer.utils import tfl_flatbuffer_utils

from mote.ir.graph.tensor import Array

SIGNATURE = "serving_default"
INPUT = "x0"
RECIPES = {8: recipe.static_wi8_ai8, 16: recipe.static_wi8_ai16}


def ai_edge(model: bytes, samples: Array, activations: int = 8) -> bytes:
    """A float `.tflite` file with one input, quantized by `ai-edge-quantizer` to int8 weights, and activations of 8 or
    16 bits."""
    made = quantizer.Quantizer(bytearray(_with_signature(model)), RECIPES[activations]())
    seen = made.calibrate({SIGNATURE: [{INPUT: sample[None]} for sample in samples]}, num_threads=1)
    return bytes(made.quantize(seen, enable_progress_bar=False, enable_progress_report=False).quantized_model)


def _with_signature(model: bytes) -> bytes:
    """The file with names for its inputs and outputs, and another one for each tensor: without these that quantizer
    takes no model."""
    found = tfl_flatbuffer_utils.read_model(bytearray(model))
    for n, tensor in enumerate(found.subgraphs[0].tensors):
        tensor.name = f"t{n}".encode()
    graph, signature = found.subgraphs[0], schema.SignatureDefT()
    signature.signatureKey, signature.subgraphIndex = SIGNATURE, 0
    signature.inputs = [_named(f"x{n}", t) for n, t in enumerate(graph.inputs)]
    signature.outputs = [_named(f"y{n}", t) for n, t in enumerate(graph.outputs)]
    found.signatureDefs = [signature]
    builder = flatbuffers.Builder(len(model))
    builder.Finish(found.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _named(name: str, tensor: int) -> Any:
    found = schema.TensorMapT()
    found.name, found.tensorIndex = name, int(tensor)
    return found
