"""Programs that torchao's PT2E flow has quantized.

PyTorch computes them with real numbers between codes; Mote computes what lies between codes with integers. Both are the
same but for roundings of single precision and of the bias, so that some codes are the next ones: how many is counted
here, and none is further off."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn

import mote
from mote.base.errors import MoteError, UnsupportedError
from mote.base.extras import quiet
from mote.frontends.torch.export import exported_bytes
from mote.frontends.torch.reference import Reference, reference
from mote.ir.graph import Graph
from mote.ir.graph.types import DType
from tests.frontends.torch.torch_networks import NETWORKS
from tests.frontends.torch.torch_support import check, check_numpy, file_of, graph_of, random_inputs, source_of
from tests.helpers.support import emulated

pytestmark = pytest.mark.frontends
import_module("torch.ao.quantization.fx._decomposed")

MOST_DIFFERING = 2e-3
"""The largest part of the codes that are the next ones."""
HALVES = ("avg_pool2d",)
"""Groups of which many results lie in the middle between two codes: where the four codes of a window are averaged, say,
and PyTorch goes where the roundings of single precision take it."""


def quantizer(name: str) -> Any:
    """The one for x86 processors leaves more in real numbers, that of XNNPACK has codes nearly everywhere."""
    if name == "x86":
        module = pytest.importorskip("torchao.quantization.pt2e.quantizer.x86_inductor_quantizer")
        found = module.X86InductorQuantizer()
        return found.set_global(module.get_default_x86_inductor_quantization_config())
    module = pytest.importorskip("torchao.testing.pt2e._xnnpack_quantizer")
    return module.XNNPACKQuantizer().set_global(module.get_symmetric_quantization_config(is_per_channel=True))


def prepared(network: str, name: str) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    flow = pytest.importorskip("torchao.quantization.pt2e.quantize_pt2e")
    module, inputs = NETWORKS[network]()
    with quiet():
        found = flow.prepare_pt2e(torch.export.export(module, inputs).module(), quantizer(name))
        for _ in range(4):
            found(*(torch.randn_like(x) for x in inputs))
    return found, inputs


def quantized(network: str, name: str) -> bytes:
    flow = pytest.importorskip("torchao.quantization.pt2e.quantize_pt2e")
    module, inputs = prepared(network, name)
    with quiet():
        return exported_bytes(flow.convert_pt2e(module), inputs)


def counted(data: bytes, runs: int = 10) -> Reference:
    """How many codes are not those of PyTorch: the reference refuses what is further off than the next one."""
    found = reference(source_of(data))
    assert found is not None and "in integers" in found[0]
    for given in random_inputs(graph_of(data), runs):
        found[1](given)
    return found[1]


def differing(judge: Reference) -> float:
    names = [name for name in judge.groups if not name.startswith(HALVES)]
    return sum(judge.differing[name] for name in names) / sum(judge.compared[name] for name in names)


def reals(graph: Graph) -> list[str]:
    """The operators that compute with real numbers."""
    return [
        op.kind
        for op in graph.ops
        if op.kind not in ("QUANTIZE", "DEQUANTIZE", "RESHAPE") and op.output(graph).dtype == DType.FLOAT32
    ]


@pytest.mark.parametrize(
    ("network", "name"), [("mobilenet_v2", "xnnpack"), ("ds_cnn", "xnnpack"), ("mobilenet_v2", "x86")]
)
def test_quantized_networks(network: str, name: str) -> None:
    data = quantized(network, name)
    judge = counted(data)
    assert differing(judge) <= MOST_DIFFERING
    compiled = check(data, inputs=3)
    if name == "xnnpack":
        assert set(reals(compiled.plan.graph)) <= {"SOFTMAX"}


def test_emulated_core() -> None:
    compiled = mote.compile(quantized("ds_cnn", "xnnpack"), target=emulated("cortex-m4"))
    result = mote.verify(compiled, 2)
    assert result.passed, result.mismatches[:8]


def test_weights_of_real_layers_stay_bytes() -> None:
    """The quantizer for x86 leaves linear layers with real results, and their weights are codes still."""
    graph = graph_of(quantized("encoder", "x86"))
    layers = [op for op in graph.ops if op.kind == "FULLY_CONNECTED"]
    kept = [op for op in layers if op.input(graph, 1).dtype == DType.INT8]
    assert len(kept) >= 6, "all but the products inside of attention"


def test_modules_that_were_not_converted() -> None:
    module, inputs = prepared("cnn_1d", "xnnpack")
    with pytest.raises(MoteError, match="prepared for quantization, but not converted"):
        mote.compile(module, example_inputs=inputs)


ops = torch.ops.quantized_decomposed
Grid = tuple[float, int, int, int, torch.dtype]


class Written(nn.Module):
    """Groups of all kinds, as a quantizer would write them."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        info = torch.iinfo(dtype)
        middle = 128 if dtype == torch.uint8 else 0
        self.x: Grid = (0.0301237, middle + 5, info.min, info.max, dtype)
        self.y: Grid = (0.0487311, middle - 7, info.min, info.max, dtype)
        self.z: Grid = (0.0213773, info.min, info.min, info.max, dtype)
        random = torch.Generator().manual_seed(0)
        self.register_buffer("kernel", torch.randint(-127, 128, (6, 4, 3), dtype=torch.int8, generator=random))
        self.register_buffer("scales", torch.rand(6, generator=random) * 0.02 + 0.01)
        self.register_buffer("zeros", torch.zeros(6, dtype=torch.int64))
        self.register_buffer("matrix", torch.randint(-127, 128, (3, 8), dtype=torch.int8, generator=random))
        self.bias = nn.Parameter(torch.randn(6, generator=random))

    def on(self, x: torch.Tensor, grid: Grid) -> torch.Tensor:
        return ops.dequantize_per_tensor(ops.quantize_per_tensor(x, *grid), *grid)

    def forward(self, given: torch.Tensor) -> dict[str, torch.Tensor]:
        f = nn.functional
        x = self.on(given, self.x)
        y = self.on(given * 0.7, self.y)
        image = self.on(given[:, :, None] * torch.linspace(0.5, 1.5, 6)[:, None], self.x)
        kernel = ops.dequantize_per_channel(self.kernel, self.scales, self.zeros, 0, -127, 127, torch.int8)
        matrix = ops.dequantize_per_tensor(self.matrix, 0.01, 0, -128, 127, torch.int8)
        return {
            "sum": self.on(x + y, self.y),
            "sum_limited": self.on(torch.relu(x + y), self.z),
            "product": self.on(x * y, self.z),
            "joined": self.on(torch.cat([x, y], 1), self.y),
            "conv": self.on(f.relu6(f.conv1d(x, kernel, self.bias, padding=1)), self.z),
            "conv_pooled": self.on(f.max_pool1d(torch.relu(f.conv1d(x, kernel, self.bias)), 2), self.y),
            "linear": self.on(f.linear(x, matrix), self.y),
            "linear_moved": self.on(f.linear(x, matrix).transpose(1, 2), self.y),
            "products": self.on(x @ y.transpose(1, 2), self.y),
            "moved": self.on(f.pad(x, (1, 2)).permute(0, 2, 1)[:, 1:], self.x),
            "parts": self.on(x.chunk(2, 1)[1], self.x),
            "other_grid": self.on(x, self.y),
            "function": self.on(f.hardswish(x), self.z),
            "smooth": self.on(f.gelu(x), self.y),
            "mean": self.on(image.mean((2, 3)), self.y),
            "pooled": self.on(f.adaptive_avg_pool2d(image, 1), self.x),
            "windows": self.on(f.avg_pool2d(image, 2), self.x),
            "real": f.linear(y, matrix),
            "codes": ops.quantize_per_tensor(given * 2, *self.x),
        }


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8])
def test_groups_of_all_kinds(dtype: torch.dtype) -> None:
    data = file_of(Written(dtype), torch.zeros(1, 4, 8))
    judge = counted(data)
    found = {str(group.anchor.target).split(".")[1] for group in judge.groups.values()}
    assert found >= {"convolution", "linear", "matmul", "add", "mul", "cat", "hardswish", "gelu", "mean", "avg_pool2d"}
    assert differing(judge) <= MOST_DIFFERING
    check_numpy(data)
    check(data, inputs=2)


class Computed(nn.Module):
    """Scales that are computed."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale, zero = ops.choose_qparams.tensor(x, -128, 127, 1e-6, torch.int8)
        return ops.quantize_per_tensor.tensor(x, scale, zero, -128, 127, torch.int8)


def test_computed_scales_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="choose_qparams"):
        graph_of(file_of(Computed(), torch.zeros(1, 4)))


class Narrow(nn.Module):
    """Codes of fewer than eight bits, before, after and between layers."""

    def __init__(self, dtype: torch.dtype, low: int, high: int) -> None:
        super().__init__()
        self.bounds = low, high, dtype
        self.weight = nn.Parameter(torch.randn(6, 4, generator=torch.Generator().manual_seed(1)))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        low, high, _ = self.bounds
        zero = (low + high + 1) // 2
        given, grid = (0.1, zero, *self.bounds), (0.2, zero - 1, *self.bounds)

        def on(value: torch.Tensor, bounds: tuple[float, int, int, int, torch.dtype]) -> torch.Tensor:
            return ops.dequantize_per_tensor(ops.quantize_per_tensor(value, *bounds), *bounds)

        codes = on(x, given)
        weight = on(self.weight, (0.02, 0, -7, 7, torch.int8))
        return on(nn.functional.linear(codes, weight), grid), on(codes + codes, grid), on(torch.tanh(codes), grid)


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [(torch.int8, -8, 7), (torch.uint8, 0, 127), (torch.int8, -127, 127)]
)
def test_codes_of_fewer_bits(dtype: torch.dtype, low: int, high: int) -> None:
    compiled = check(file_of(Narrow(dtype, low, high), torch.zeros(1, 4)), 4)
    assert not reals(compiled.plan.graph)
