"""A small ONNX model with the operators that only ONNX has: numbers, bits, places that are computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

OPSET = 26


def numbers(*, regions: bool = True) -> bytes:
    """Each operator reads an input, and gives an output; with regions and samples of images, or without."""
    h = onnx.helper
    real, bfloat16, int32 = onnx.TensorProto.FLOAT, onnx.TensorProto.BFLOAT16, onnx.TensorProto.INT32
    constants = {
        "axis": np.array(3, np.int64),
        "images": np.zeros(1, np.int64),
        "image": np.zeros((1, 1), np.float32),
        "places": np.array([[[[2, 0, 1]]]], np.int64),
        "new": np.array([[[[1.0, 2.0, 3.0]]]], np.float32),
        "mask": np.array([255, -1, 65535], np.int32),
    }
    nodes = [
        h.make_node("Tan", ["x"], ["tan"]),
        h.make_node("Cast", ["x"], ["short"], to=bfloat16),
        h.make_node("Cast", ["short"], ["rounded"], to=real),
        h.make_node("Det", ["x"], ["determinants"]),
        h.make_node("CumProd", ["x", "axis"], ["products"]),
        h.make_node("ScatterElements", ["x", "places", "new"], ["scattered"], axis=3, reduction="add"),
        h.make_node("BitCast", ["x"], ["bits"], to=int32),
        h.make_node("BitwiseAnd", ["bits", "mask"], ["masked"]),
    ]
    inputs = {"x": (1, 2, 3, 3)}
    outputs = ["tan", "rounded", "determinants", "products", "scattered", "masked"]
    if regions:
        nodes += [
            h.make_node("GridSample", ["x", "grid"], ["sampled"], mode="cubic", padding_mode="reflection"),
            h.make_node("RoiAlign", ["x", "regions", "images"], ["cells"], output_height=2, output_width=2),
            h.make_node("Concat", ["image", "regions"], ["numbered"], axis=1),
            h.make_node("MaxRoiPool", ["x", "numbered"], ["most"], pooled_shape=[2, 2]),
        ]
        inputs |= {"grid": (1, 2, 2, 2), "regions": (1, 4)}
        outputs += ["sampled", "cells", "most"]
    graph = h.make_graph(
        nodes,
        "numbers",
        [h.make_tensor_value_info(name, real, shape) for name, shape in inputs.items()],
        [h.make_tensor_value_info(name, int32 if name == "masked" else real, None) for name in outputs],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model: Any = h.make_model(graph, opset_imports=[h.make_opsetid("", OPSET)], ir_version=11)
    return bytes(model.SerializeToString())
