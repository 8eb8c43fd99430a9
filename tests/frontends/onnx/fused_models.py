"""Models of one operator each that the optimizer of ONNX Runtime writes."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx import ModelProto, helper

from mote.frontends.onnx.node import MICROSOFT
from tests.frontends.onnx.onnx_support import model_of

RNG = np.random.default_rng(5)


def numbers(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def one(
    kind: str, inputs: dict[str, tuple[int, ...]], constants: dict[str, np.ndarray], order: str, **more: object
) -> ModelProto:
    """A model of one operator; `order` has the names of its inputs, a dot for one that is left out."""
    names = ["" if name == "." else name for name in order.split()]
    node = helper.make_node(kind, names, ["out"], domain=MICROSOFT, **more)
    return model_of([node], inputs, ["out"], constants)


SEQUENCE = {"x": (1, 4, 6)}
ATTENTION = {"w": numbers(6, 18), "b": numbers(18)}
CASES = {
    "conv": one(
        "FusedConv", {"x": (1, 3, 6, 6)}, {"w": numbers(4, 3, 3, 3), "b": numbers(4)}, "x w b",
        activation="Clip", activation_params=[0.0, 0.5], pads=[1, 1, 1, 1],
    ),
    "conv with a sum": one(
        "FusedConv", {"x": (1, 3, 6, 6), "z": (1, 4, 4, 4)}, {"w": numbers(4, 3, 3, 3), "b": numbers(4)}, "x w b z",
        activation="LeakyRelu", activation_params=[0.3],
    ),
    "conv with hard sigmoid": one(
        "FusedConv", {"x": (1, 3, 6, 6)}, {"w": numbers(4, 3, 1, 1)}, "x w",
        activation="HardSigmoid", activation_params=[0.2, 0.4],
    ),
    "gemm": one("FusedGemm", {"x": (2, 5)}, {"w": numbers(5, 4), "b": numbers(4)}, "x w b", activation="Relu"),
    "matmul": one("FusedMatMul", {"x": (2, 5, 3), "y": (2, 4, 5)}, {}, "x y", alpha=0.5, transA=1, transB=1),
    "gelu": one("Gelu", SEQUENCE, {}, "x"),
    "bias gelu": one("BiasGelu", SEQUENCE, {"b": numbers(6)}, "x b"),
    "fast gelu": one("FastGelu", SEQUENCE, {"b": numbers(6)}, "x b"),
    "quick gelu": one("QuickGelu", SEQUENCE, {}, "x", alpha=1.5),
    "skip layer norm": one(
        "SkipLayerNormalization", {"x": (1, 4, 6), "s": (1, 4, 6)},
        {"g": numbers(6), "b": numbers(6), "o": numbers(6)}, "x s g b o", epsilon=1e-5,
    ),
    "skip rms norm": one(
        "SkipSimplifiedLayerNormalization", {"x": (1, 4, 6), "s": (1, 4, 6)}, {"g": numbers(6)}, "x s g", epsilon=1e-5
    ),
    "attention": one("Attention", SEQUENCE, ATTENTION, "x w b", num_heads=2),
    "attention of what was before": one("Attention", SEQUENCE, ATTENTION, "x w b", num_heads=3, unidirectional=1),
    "attention with a bias": one(
        "Attention", SEQUENCE, {**ATTENTION, "r": numbers(1, 2, 4, 4)}, "x w b . . r", num_heads=2, scale=0.3
    ),
    "heads": one(
        "MultiHeadAttention", {"q": (1, 4, 6), "k": (1, 5, 6), "v": (1, 5, 6)}, {"b": numbers(18)}, "q k v b",
        num_heads=2,
    ),
}  # fmt: skip
