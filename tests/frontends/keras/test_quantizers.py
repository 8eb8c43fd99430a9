"""Quantizers of QKeras: the numbers on their grids are those that QKeras 0.9 gives."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.frontends import load
from mote.frontends.keras.quantizers import described
from mote.ir.graph.tensor import Array
from tests.frontends.keras.keras2_models import functional, h5_file, layer, of, taken

WEIGHTS = np.array(
    [[0.9, -0.35, 0.02], [-0.6, 0.5, -0.01], [0.125, -1.2, 0.03], [0.0, 0.75, -0.04]],
    np.float32,
)
VALUES = np.array(
    [-3.1, -1.0, -0.75, -0.4375, -0.3, -0.0625, 0.0, 0.03125, 0.21875, 0.5, 0.96875, 1.4, 2.625, 7.0],
    np.float32,
)


def grids(table: str) -> Mapping[str, Sequence[float]]:
    """Quantizers, and in the line below each what QKeras makes of the values."""
    lines = table.strip().split("\n")
    pairs = zip(lines[::2], lines[1::2], strict=True)
    return {quantizer: [float(n) for n in found.split()] for quantizer, found in pairs}


OF_WEIGHTS = grids("""
quantized_bits(4,0,1,alpha='auto_po2')
0.875 -0.375 0.023438 -0.625 0.5 -0.007812 0.125 -0.875 0.03125 0 0.75 -0.039062
quantized_bits(4,1,1,alpha='auto')
0.9 -0.342857 0.022857 -0.642857 0.514286 -0.011429 0.128571 -1.2 0.028571 0 0.685714 -0.04
quantized_bits(3,1,0,alpha=0.5)
0.5 -0.25 0 -0.25 0.25 0 0 -0.5 0 0 0.5 0
quantized_bits(1,0,1,alpha=1.0)
1 -1 1 -1 1 -1 1 -1 1 1 1 -1
quantized_bits(4,0,keep_negative=False,alpha=1)
0.875 0 0 0 0.5 0 0.125 0 0 0 0.75 0
binary(alpha='auto')
0.40625 -0.7 0.025 -0.40625 0.7 -0.025 0.40625 -0.7 0.025 0.40625 0.7 -0.025
binary(alpha='auto_po2')
0.5 -0.5 0.03125 -0.5 0.5 -0.03125 0.5 -0.5 0.03125 0.5 0.5 -0.03125
stochastic_binary(alpha=0.5)
0.5 -0.5 0.5 -0.5 0.5 -0.5 0.5 -0.5 0.5 0.5 0.5 -0.5
ternary(alpha='auto')
0.75 0 0.03 -0.75 0.816667 0 0 -0.816667 0.03 0 0.816667 -0.03
stochastic_ternary(alpha='auto_po2')
1 0 0.03125 -1 0 0 0 -1 0.03125 0 1 -0.03125
quantized_linear(4,0,alpha='auto')
0.9 -0.342857 0.022857 -0.642857 0.514286 -0.011429 0.128571 -1.2 0.028571 0 0.685714 -0.04
quantized_linear(4,0,alpha='auto_po2')
0.875 -0.375 0.023438 -0.625 0.5 -0.007812 0.125 -0.875 0.03125 0 0.75 -0.039062
quantized_linear(4,1,0,alpha=0.5)
0.875 -0.375 0 -0.625 0.5 0 0.125 -1 0 0 0.75 0
quantized_linear(1,1)
1 -1 1 -1 1 -1 1 -1 1 1 1 -1
ternary(alpha=1.0,threshold=0.3)
1 -1 0 -1 1 0 0 -1 0 0 1 0
quantized_po2(3)
1 -0.25 0.25 -0.5 0.5 -0.25 0.25 -1 0.25 0.25 1 -0.25
quantized_po2(4,1,quadratic_approximation=True)
1 -0.25 0.015625 -1 1 -0.015625 0.0625 -1 0.015625 0.003906 1 -0.0625
quantized_relu_po2(3,2)
1 0.0625 0.0625 0.0625 0.5 0.0625 0.125 0.0625 0.0625 0.0625 1 0.0625
""")
"""What QKeras makes of the weights above."""
OF_VALUES = grids("""
quantized_bits(4,1)
-2 -1 -0.75 -0.5 -0.25 0 0 0 0.25 0.5 1 1.5 1.75 1.75
quantized_bits(8,2,1)
-3.09375 -1 -0.75 -0.4375 -0.3125 -0.0625 0 0.03125 0.21875 0.5 0.96875 1.40625 2.625 3.96875
quantized_bits(12,3,1)
-3.10156 -1 -0.75 -0.4375 -0.300781 -0.0625 0 0.03125 0.21875 0.5 0.96875 1.39844 2.625 7
quantized_bits(4,1,0,False)
0 0 0 0 0 0 0 0 0.25 0.5 1 1.375 1.875 1.875
quantized_bits(6,0,1,alpha=0.25)
-0.242188 -0.242188 -0.1875 -0.109375 -0.078125 -0.015625 0 0.007812 0.054688 0.125 0.242188 0.242188 0.242188 0.242188
quantized_bits(1,0,1)
-1 -1 -1 -1 -1 -1 1 1 1 1 1 1 1 1
quantized_relu(3,1)
0 0 0 0 0 0 0 0 0.25 0.5 1 1.5 1.75 1.75
quantized_relu(8,2)
0 0 0 0 0 0 0 0.03125 0.21875 0.5 0.96875 1.40625 2.625 3.98438
quantized_relu(6,1,negative_slope=0.25)
-0.5 -0.25 -0.1875 -0.125 -0.0625 0 0 0 0.25 0.5 1 1.375 1.9375 1.9375
quantized_relu(4,2,1)
0 0 0 0 0 0 0 0 0 0.5 1 1.5 2.5 3.75
quantized_relu(12,2)
0 0 0 0 0 0 0 0.03125 0.21875 0.5 0.96875 1.40039 2.625 3.99902
quantized_relu(4,2,relu_upper_bound=1.3,is_quantized_clip=False)
0 0 0 0 0 0 0 0 0.25 0.5 1 1.3 1.3 1.3
quantized_tanh(5)
-1 -1 -0.75 -0.4375 -0.3125 -0.0625 0 0 0.25 0.5 0.9375 0.9375 0.9375 0.9375
quantized_tanh(4,symmetric=1,use_real_tanh=True)
-0.875 -0.75 -0.625 -0.375 -0.25 0 0 0 0.25 0.5 0.75 0.875 0.875 0.875
quantized_sigmoid(5)
0 0 0.125 0.28125 0.34375 0.46875 0.5 0.5 0.625 0.75 0.96875 0.96875 0.96875 0.96875
quantized_sigmoid(4,use_real_sigmoid=True)
0.0625 0.25 0.3125 0.375 0.4375 0.5 0.5 0.5 0.5625 0.625 0.75 0.8125 0.9375 0.9375
binary(1)
0 0 0 0 0 0 1 1 1 1 1 1 1 1
ternary(threshold=0.4)
-1 -1 -1 -1 0 0 0 0 0 1 1 1 1 1
stochastic_ternary(threshold=0.3)
-1 -1 -1 -1 -1 0 0 0 0 1 1 1 1 1
quantized_linear(5,1)
-1.875 -1 -0.75 -0.5 -0.25 0 0 0 0.25 0.5 1 1.375 1.875 1.875
quantized_linear(1,0,alpha=3.0)
-1.5 -1.5 -1.5 -1.5 -1.5 -1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5
quantized_hswish(6,2)
0 -0.375 -0.25 -0.125 -0.125 0 0 0 0.125 0.25 0.625 1 2.5 3.875
hard_tanh
-1 -1 -0.75 -0.4375 -0.3 -0.0625 0 0.03125 0.21875 0.5 0.96875 1 1 1
binary_tanh
-1 -1 -1 -1 -1 -1 -1 1 1 1 1 1 1 1
smooth_sigmoid
0 0.3125 0.359375 0.417969 0.44375 0.488281 0.5 0.505859 0.541016 0.59375 0.681641 0.7625 0.992188 1
""")
"""What QKeras makes of the values above."""


def close(found: Array, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("text", OF_WEIGHTS)
def test_weights_on_grids(text: str) -> None:
    quantizer = described(text)
    assert quantizer is not None
    close(quantizer.of_weights(WEIGHTS).reshape(-1), OF_WEIGHTS[text])
    again = described({"class_name": quantizer.name, "config": dict(quantizer.options)})
    assert again is not None
    np.testing.assert_array_equal(again.of_weights(WEIGHTS), quantizer.of_weights(WEIGHTS))


def test_activations_on_grids_in_c() -> None:
    size = len(VALUES)
    made = [layer("QActivation", f"a{i}", [of("x")], activation=text) for i, text in enumerate(OF_VALUES)]
    net = functional([taken("x", size), *made], ["x"], [f"a{i}" for i in range(len(made))])
    found = mote.run(mote.compile(h5_file(net, {})), VALUES[None], layers=False).values.values()
    for text, value in zip(OF_VALUES, found, strict=True):
        np.testing.assert_allclose(value[0], OF_VALUES[text], rtol=1e-5, atol=2e-6, err_msg=text)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"activation": "quantized_bits(4,0,1,alpha='auto')"}, "computes its scale from every input"),
        ({"activation": "quantized_po2(4)"}, "quantized_po2 is not supported for activations"),
        ({"activation": "quantized_ulaw(4)"}, "the activation 'quantized_ulaw.4.' is not supported"),
        ({"activation": "quantized_bits(__import__('os'))"}, "is not supported"),
        (
            {"activation": "quantized_bits(1e9)"},
            "bits of quantized_bits is 1000000000.0, which is not a supported number",
        ),
        ({"activation": {"class_name": "quantized_bits", "config": {"bits": "a"}}}, "bits of quantized_bits is 'a'"),
    ],
)
def test_what_is_wrong_with_a_quantizer_is_said(said: dict[str, Any], error: str) -> None:
    net = functional([taken("x", 4), layer("QActivation", "q", [of("x")], **said)], ["x"], ["q"])
    with pytest.raises(MoteError, match=f"QActivation 'q': .*{error}"):
        load(h5_file(json.loads(json.dumps(net)), {}))
