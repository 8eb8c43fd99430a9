"""Depthwise convolutions that share the channels of a tensor become one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.compiler.passes.pipeline import optimize
from mote.frontends import tflite
from tests.helpers.network import Net
from tests.helpers.support import check, examples, needs_litert


def mixed(
    seed: int, dtype: str, kernels: list[int], shares: list[int], *, aligned: str = "end", same: bool = True
) -> bytes:
    """A part of the channels for each kernel size, of the last (or first) rows; the parts' outputs side by side."""
    net = Net(seed, dtype)
    rows, channels = max(kernels), sum(shares)
    x = net.input(1, rows, 2, channels)
    quant = net.quant()
    parts, at = [], 0
    for kernel, share in zip(kernels, shares, strict=True):
        begin = rows - kernel if aligned == "end" else 0
        cut = net.slice(x, (0, begin, 0, at), (1, kernel, 2, share))
        options = {"padding": "VALID", "fused_activation_function": "NONE" if same or at == 0 else "RELU"}
        parts.append(net.depthwise(cut, 1, (kernel, 1), quant=quant, **options))
        at += share
    return net.finish(net.concatenate(3, *parts))


def kinds(model: bytes) -> list[str]:
    return [op.kind for op in optimize(tflite.parse(model, "model"))[0].ops]


@needs_litert
@given(
    st.integers(0, 1 << 16),
    st.sampled_from(["int8", "float32"]),
    st.lists(st.tuples(st.integers(3, 6), st.integers(1, 5)), min_size=2, max_size=4),
    st.sampled_from(["end", "begin"]),
)
@settings(max_examples=examples(12, 2), deadline=None)
def test_joined(seed: int, dtype: str, parts: list[tuple[int, int]], aligned: str) -> None:
    model = mixed(seed, dtype, [k for k, _ in parts], [n for _, n in parts], aligned=aligned)
    check(model)
    assert kinds(model) == ["DEPTHWISE_CONV_2D"]


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(mixed(1, "int8", [2, 20], [30, 2]), id="mostly zeros"),
        pytest.param(mixed(1, "int8", [4, 5], [3, 3], same=False), id="other activations"),
    ],
)
def test_left_alone(model: bytes) -> None:
    assert kinds(model).count("DEPTHWISE_CONV_2D") == 2
