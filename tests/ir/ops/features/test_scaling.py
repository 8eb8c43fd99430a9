"""Element-wise steps and quantization in one operator: the generated C against NumPy, for every integer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.compiler.kernels.contract import Refusal, View
from mote.compiler.kernels.portable.features.scaling import KERNELS
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.tensor import Quantization
from mote.ir.graph.types import DType
from mote.ir.ops.features.channels import Mono
from mote.ir.ops.features.scaling import AffineMap
from tests.helpers.support import check_graph, examples

FIXED = next(kernel for kernel in KERNELS if kernel.name == "map_fixed")


def graph(
    x: DType, y: DType, scale: float, zero: int, channels: int, rows: int = 1, **line: tuple[float, ...]
) -> Graph:
    """One operator between tensors of these types."""
    shape = (1, rows, 65536 // rows if x == DType.INT16 else 256, channels)
    quant = None if y == DType.FLOAT32 else Quantization(np.array([scale], np.float32), np.array([zero]))
    tensors = {0: Tensor(0, "x", shape, x), 1: Tensor(1, "y", shape, y, quant)}
    limits = {"low": (-np.inf,), "high": (np.inf,)}
    op = AffineMap(inputs=(0,), outputs=(1,), name="map", shape=shape, **{**limits, **line})
    return Graph("map", tensors, (op,), (0,), (1,)).verify()


def every(g: Graph) -> dict[int, np.ndarray]:
    """All integers of the input's type, in each channel."""
    t = g.tensors[0]
    low, high = t.dtype.limits
    values = np.arange(low, high + 1).astype(t.dtype.numpy)
    return {0: np.repeat(values[:, None], t.shape[-1], 1).reshape(t.shape)}


@pytest.mark.parametrize(
    "g",
    [
        graph(DType.UINT8, DType.INT8, 1 / 255, -128, 3, factor=(1 / 255, 0.5 / 255, -1 / 255), offset=(0.0, 0.1, 1.0)),
        graph(DType.UINT8, DType.FLOAT32, 0, 0, 3, factor=(1 / 58.395,), offset=(-2.1, -2.0, -1.8)),
        graph(DType.UINT8, DType.INT16, 1 / 30000, 0, 1, factor=(1 / 255,), offset=(0.0,)),
        graph(DType.INT16, DType.INT8, 0.5847029, 83, 1, factor=(2.0**-8,), offset=(0.0,), rows=16),
        graph(DType.INT16, DType.INT8, 1 / 256, -128, 1, factor=(-(2.0**-14),), offset=(0.25,), low=(0,), high=(1,)),
        graph(DType.INT16, DType.FLOAT32, 0, 0, 1, factor=(2.0**-8 / 3,), offset=(0.1,), low=(-9,), high=(9,)),
    ],
    ids=["table", "table of floats", "wide", "features", "falling", "floats"],
)
def test_c(g: Graph) -> None:
    check_graph(g, [every(g)])


@pytest.mark.slow
def test_on_a_core() -> None:
    line = {"factor": (2.0**-8, 2.0**-7), "offset": (0.0, 3.0)}
    g = graph(DType.INT16, DType.INT8, 0.25, 3, 2, rows=1024, **line)
    check_graph(g, [every(g)], "cortex-m4")


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from([DType.INT16, DType.INT32]),
    st.floats(1e-4, 1e2),
    st.integers(-128, 127),
    st.sampled_from([2.0**-8, 2.0**-15, 1 / 3, -1 / 255, 0.0]),
    st.floats(-50, 50),
)
def test_constants_are_proven(x: DType, scale: float, zero: int, factor: float, offset: float) -> None:
    """Where there are constants, the formula of the kernel is the operator's, also where values are a tie."""
    g = graph(x, DType.INT8, scale, zero, 1, factor=(factor,), offset=(float(np.float32(offset)),))
    packed = FIXED.bind(View(g, g.ops))
    assert not isinstance(packed, Refusal), packed.why
    values = np.unique(np.concatenate([np.linspace(*x.limits, 30_000), np.arange(-9000, 9000)]).astype(np.int64))
    p = packed.params
    if "mult" in p:
        result = np.clip((values * int(p["mult"][0]) + int(p["offset"][0])) >> p["shift"], p["lo"][0], p["hi"][0])
    else:
        result = p["least"][0] + np.searchsorted(p["begin"], values * p["sign"][0], "right")
    np.testing.assert_array_equal(result, g.ops[0].of(g, values[:, None])[:, 0])


def test_results_by_a_search() -> None:
    """Where float32 is coarser than the integers, no line has its roundings."""
    line = {"factor": (2.0**-8, -(2.0**-8)), "offset": (0.0, 0.0)}
    g = graph(DType.INT32, DType.INT8, 45.378680247249214, 67, 2, **line)
    assert "map_steps" in FIXED.bind(View(g, g.ops)).name
    values = np.random.default_rng(0).integers(-3_000_000, 3_000_000, g.tensors[0].shape).astype(np.int32)
    check_graph(g, [{0: values}])


@pytest.mark.parametrize("channels", [2, 3, 5])
def test_mono(channels: int) -> None:
    values = np.random.default_rng(0).integers(-32768, 32768, (1, 4, 50, channels)).astype(np.int16)
    values[0, 0, 0] = -32768
    values[0, 0, 1] = 32767
    tensors = {0: Tensor(0, "x", values.shape, DType.INT16), 1: Tensor(1, "y", (1, 4, 50, 1), DType.INT16)}
    g = Graph("mono", tensors, (Mono(inputs=(0,), outputs=(1,), name="mono"),), (0,), (1,)).verify()
    assert np.abs(g.evaluate({0: values})[1][..., 0] - values.mean(-1)).max() <= 0.5
    check_graph(g, [{0: values}])
