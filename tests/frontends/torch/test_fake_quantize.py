"""Fake quantization of modules in training: numbers of PyTorch's own operators, and layers between on codes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn
from torch.ao import quantization as ao

import mote
from mote.base.errors import MoteError
from mote.ir.graph.types import DType
from tests.frontends.torch.torch_support import check, check_numpy, file_of, graph_of

SCALES = torch.tensor([0.1, 0.02, 0.3, 0.05])
ZEROS = torch.tensor([0, 3, -2, 0], dtype=torch.int32)
per_tensor, per_channel = torch.fake_quantize_per_tensor_affine, torch.fake_quantize_per_channel_affine


class Fake(nn.Module):
    """Grids of all kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor([0.07]))
        self.register_buffer("zero", torch.tensor([5], dtype=torch.int32))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (
            per_tensor(x, 0.05, 3, -128, 127),
            per_tensor(x, 0.03, 100, 0, 255),
            per_tensor(x, self.scale, self.zero, 0, 127),
            per_tensor(x, 0.3, 0, -8, 7),
            per_tensor(x, 0.0003, 7, -32768, 32767),
            per_channel(x, SCALES, ZEROS, 1, -128, 127),
            per_channel(x, SCALES, ZEROS, 3, -8, 7),
        )


def test_numbers_are_those_of_pytorch() -> None:
    module, x = Fake(), 4 * torch.randn(1, 4, 6, 4, generator=torch.Generator().manual_seed(0))
    data = file_of(module, x)
    graph = graph_of(data, edges="model")
    values = graph.evaluate({graph.inputs[0]: x.numpy()})
    for output, want in zip(graph.outputs, module(x), strict=True):
        assert np.allclose(values[output], want.numpy(), rtol=0, atol=1e-6)
    check(data, 1)


class Trained(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.quantize, self.dequantize = ao.QuantStub(), ao.DeQuantStub()
        self.layers = nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU())
        self.head = nn.Linear(6 * 16, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dequantize(self.head(self.layers(self.quantize(x)).flatten(1)))


def trained(backend: str) -> nn.Module:
    """A module in quantization-aware training, whose first layers are one."""
    torch.manual_seed(0)
    module = Trained().eval()
    ao.fuse_modules(module.layers, [["0", "1", "2"]], inplace=True)
    module.train()
    module.qconfig = ao.get_default_qat_qconfig(backend)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = ao.prepare_qat(module)
    for _ in range(3):
        module(torch.randn(4, 3, 6, 6))
    return module.eval()


@pytest.mark.frontends
@pytest.mark.parametrize("backend", ["x86", "qnnpack"])
def test_layers_of_a_trained_module_are_computed_on_codes(backend: str) -> None:
    """The quantizer for x86 has activations of seven bits, and weights with a grid for each channel."""
    module = trained(backend)
    with pytest.raises(MoteError, match="disable_observer"):
        mote.compile(module, torch.zeros(1, 3, 6, 6))
    module.apply(ao.disable_observer)
    data = file_of(module, torch.zeros(1, 3, 6, 6))
    graph = check_numpy(data, 3)
    layers = [op for op in graph.ops if op.kind in ("CONV_2D", "FULLY_CONNECTED")]
    assert [op.output(graph).dtype for op in layers] == [DType.INT8, DType.INT8]
    for seed in range(5):
        x = torch.randn(1, 3, 6, 6, generator=torch.Generator().manual_seed(seed))
        got = graph.evaluate({graph.inputs[0]: x.numpy().transpose(0, 2, 3, 1)})[graph.outputs[0]]
        step = float(module.head.activation_post_process.scale)
        assert np.abs(got - module(x).detach().numpy()).max() <= step * 1.001


def test_what_is_turned_off_is_a_copy() -> None:
    module = trained("qnnpack").apply(ao.disable_observer).apply(ao.disable_fake_quant)
    graph = graph_of(file_of(module, torch.zeros(1, 3, 6, 6)))
    assert not {"QUANTIZE", "DEQUANTIZE"} & {op.kind for op in graph.ops}


class Computed(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return per_tensor(x, x.abs().amax() / 127, torch.tensor(0, dtype=torch.int32), -128, 127)


def test_a_computed_scale_is_refused() -> None:
    with pytest.raises(MoteError, match="its scale or zero point is computed"):
        mote.compile(Computed(), torch.zeros(1, 4))
