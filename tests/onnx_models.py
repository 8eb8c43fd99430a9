"""ONNX Runtime for tests: single operators, and quantized models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mote.graph.tensor import Array

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")


def session(model: Any) -> Any:
    """As users have it, but for threads."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


class Operators:
    """Runs operators of com.microsoft."""

    def run(self, kind: str, operands: Sequence[Array], computed: int, **attributes: Any) -> Array:
        """The output of one whose operands are (value, scale, zero point): of the first ones values are inputs of the
        model, all others are constants. The output has the first value's type."""
        helper, inputs, initializers, names = onnx.helper, [], [], []
        for i, operand in enumerate(operands):
            name = f"v{i}"
            names.append(name)
            if i % 3 == 0 and i < 3 * computed:
                kind_of = helper.np_dtype_to_tensor_dtype(operand.dtype)
                inputs.append(helper.make_tensor_value_info(name, kind_of, operand.shape))
            else:
                initializers.append(onnx.numpy_helper.from_array(np.asarray(operand), name))
        node = helper.make_node(kind, names, ["y"], domain="com.microsoft", **attributes)
        output = helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(operands[0].dtype), None)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        graph = helper.make_graph([node], "one", inputs, [output], initializers)
        made = session(helper.make_model(graph, opset_imports=opsets, ir_version=9))
        (found,) = made.run(None, {f"v{3 * i}": operands[3 * i] for i in range(computed)})
        return np.asarray(found)
