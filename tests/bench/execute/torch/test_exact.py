"""Integers computed with PyTorch are those of the NumPy reference, which are LiteRT's and the generated C's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

import fine_tuning
from mote.bench.execute.stimuli import stimuli
from mote.bench.execute.torch.exact import operators
from mote.bench.execute.torch.exact.fixedpoint import rescale, rescale_down
from mote.bench.execute.torch.exact.forward import forward
from mote.bench.execute.torch.float32 import windows
from mote.frontends import tflite
from mote.ir.graph import Graph
from mote.ir.graph.types import DType
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from tests.helpers.network import Net
from tests.helpers.support import PUBLIC_MODELS

PUBLISHED = ["ad01_int8", "kws_ref_model", "mcunet_vww1", "pretrainedResnet_quant", "str_ww_ref_model", "vww_96_int8"]


def check_equal(graph: Graph, samples: int = 4, seed: int = 0) -> None:
    """Every tensor of all samples at once, bit for bit where it holds integers."""
    cases = list(stimuli(graph, samples, seed))
    inputs = {i: torch.from_numpy(np.stack([case[i] for case in cases])) for i in graph.inputs}
    whole = {i: x if graph.tensors[i].dtype == DType.FLOAT32 else x.to(torch.int64) for i, x in inputs.items()}
    found = forward(graph, whole)
    for k, case in enumerate(cases):
        wanted = graph.evaluate(case)
        for op in graph.ops:
            for i in op.outputs:
                got = found[i].expand(len(cases), *found[i].shape[1:])[k].numpy()
                if graph.tensors[i].dtype == DType.FLOAT32:
                    assert np.allclose(got, wanted[i], rtol=1e-4, atol=1e-5), op.where
                else:
                    assert np.array_equal(got, wanted[i]), op.where


def grown(seed: int, dtype: str, size: int, kernel: int, stride: int, dilation: int) -> Graph:
    """A network with the usual layers, of int8 or int16."""
    net = Net(seed, dtype)
    x = net.input(1, size, size + 1, 3)
    a = net.conv(x, 4, kernel, stride=stride, dilation=1 if stride > 1 else dilation)
    a = net.depthwise(a, 2, kernel, dilation=dilation, fused_activation_function="RELU6")
    b = net.conv(a, 8, 1, fused_activation_function="RELU")
    a = net.add(a, b)
    a = net.op("MUL", [a, net.op("LOGISTIC", [b], quant=(1 / 256, -128) if dtype == "int8" else (1 / 32768, 0))])
    a = net.op("SUB", [net.op("LEAKY_RELU", [a], alpha=0.2), net.op("RELU", [b])])
    a = net.transpose_conv(a, 8, kernel) if dtype == "int8" else a
    a = net.pool(a, 2, "MAX_POOL_2D")
    a = net.concatenate(3, a, net.pad(a, (0, 0), (0, 0), (0, 0), (0, 0)))
    a = net.resize(a, size, 4)
    a = net.pool(net.pad(a, (0, 0), (1, 0), (0, 2), (0, 0)), 2, stride=1)
    a = net.fully_connected(net.mean(a), 5)
    return tflite.parse(
        net.finish(net.op("SOFTMAX", [a], quant=(1 / 256, -128) if dtype == "int8" else (1 / 32768, 0), beta=1.0)),
        "model",
    )


@settings(max_examples=12, deadline=None)
@given(kernel=st.integers(1, 4), stride=st.integers(1, 3), dilation=st.integers(1, 2))
def test_windows_that_are_unfolded_give_the_same_sums(kernel: int, stride: int, dilation: int) -> None:
    """Accelerators compute them so."""
    graph = grown(0, "int8", 7, kernel, stride, dilation)
    layers = [op for op in graph.ops if isinstance(op, Conv2D | DepthwiseConv2D)]
    assert len({type(op) for op in layers}) == 2
    random = torch.Generator().manual_seed(0)
    for op in layers:
        weights = op.input(graph, 1).data
        assert weights is not None
        w = torch.from_numpy(np.array(weights)).to(torch.float64).unsqueeze(0)
        x = torch.randint(-255, 256, (3, *op.input(graph).shape), generator=random).to(torch.float64)
        assert torch.equal(operators.unfolded_sums(op, x, w), windows.sums_of(graph, op, x, w)), op.where


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 99),
    dtype=st.sampled_from(["int8", "int16"]),
    size=st.integers(5, 9),
    kernel=st.integers(1, 4),
    stride=st.integers(1, 3),
    dilation=st.integers(1, 2),
)
def test_networks_of_the_usual_layers(
    seed: int, dtype: str, size: int, kernel: int, stride: int, dilation: int
) -> None:
    check_equal(grown(seed, dtype, size, kernel, stride, dilation))


def test_the_models_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    """On an accelerator too, where there is one."""
    for device in ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",):
        fine_tuning.check(device)
        assert f"13 layers of 8 inputs are the same on {device} as in NumPy" in capsys.readouterr().out


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_models(name: str) -> None:
    path = PUBLIC_MODELS / f"{name}.tflite"
    if not path.exists():
        pytest.skip(f"{name} is not there")
    check_equal(tflite.parse(path.read_bytes(), name), 2)


def test_the_reference_is_there_for_what_is_rare() -> None:
    """An operator without a function of its own, in one model with others."""
    net = Net(0)
    x = net.input(1, 4, 4, 2)
    a = net.op("DIV", [net.conv(x, 2), net.op("HARD_SWISH", [x])])
    a = net.op("SQUARED_DIFFERENCE", [a, x])
    graph = tflite.parse(net.finish(net.op("L2_NORMALIZATION", [a], quant=(1 / 128, 0))), "model")
    assert [operators.exact(graph, op) is operators.reference for op in graph.ops] == [False, False, True, True, True]
    check_equal(graph)


@given(
    st.lists(st.integers(-(1 << 31) + 1, (1 << 31) - 1), min_size=1, max_size=20),
    st.integers(1 << 30, (1 << 31) - 1),
    st.integers(-30, 0),
)
def test_double_precision_rescales_as_integers_do(sums: list[int], mantissa: int, shift: int) -> None:
    x, scale = torch.tensor([*sums, 1 << 30, -(1 << 30), 1, -1, 0]), (torch.tensor([mantissa]), torch.tensor([shift]))
    assert rescale_down(x.to(torch.float64), *scale).tolist() == rescale(x, *scale).tolist()


def test_large_sums_are_exact() -> None:
    """The largest weights and inputs over so many channels exceed what single precision is exact for."""
    net = Net(0, "int8")
    graph = tflite.parse(net.finish(net.conv(net.input(1, 4, 4, 96), 4)), "large")
    weights = graph.tensors[graph.ops[0].inputs[1]]
    assert weights.data is not None
    data = np.where(weights.data < 0, -127, 127).astype(np.int8)
    check_equal(replace(graph, tensors={**graph.tensors, weights.id: replace(weights, data=data)}))
