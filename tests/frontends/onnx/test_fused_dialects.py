"""Fused operators of Deeploy and FINN: results are those of integer arithmetic, and of the libraries' definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from mote import frontends
from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.bench.execute.reference import as_in_file, numpy
from mote.compiler.line import compile
from mote.frontends import source_of
from mote.ir.graph.tensor import Array
from tests.frontends.onnx.qonnx_models import SIDES
from tests.frontends.onnx.test_requant_shift import Shifted
from tests.helpers.onnx_models import onnx

GENERAL = "qonnx.custom_op.general"


class Merged(Shifted):
    """A network after Deeploy's passes: offsets have the half that rounds, products their bias as well."""

    def shifting(self, bits: int, **more: Any) -> dict[str, Any]:
        given = {"div": 2.0**bits, "n_levels": 256.0, "signed": 1.0, "shift": float(bits)}
        named = {name: value for name, value in {**given, **more}.items() if value is not None}
        return {name: onnx.numpy_helper.from_array(np.array(v, np.float32), name) for name, v in named.items()}

    def finished(self, *results: str) -> bytes:
        for result in results:
            self.output(result)
        graph = onnx.helper.make_graph(self.nodes, "net", self.inputs, self.outputs, self.initializers)
        opsets = [
            onnx.helper.make_opsetid(*each) for each in {"": 11, "PACTOps": 1, "ai.onnx.contrib": 1, GENERAL: 1}.items()
        ]
        return bytes(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def run(model: bytes, x: Array) -> Array:
    """The output in NumPy, in the file's layout."""
    graph = frontends.read(source_of(model)).graph()
    inside = x.transpose(0, *range(2, x.ndim), 1) if graph.tensors[graph.inputs[0]].shape != x.shape else x
    values = as_in_file(numpy(graph), graph)({graph.inputs[0]: inside.astype(np.float32)})
    return np.asarray(values[graph.outputs[0]])


def windows(x: Array, size: int, stride: int = 1) -> Array:
    """Windows of the last two axes."""
    return np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(2, 3))[:, :, ::stride, ::stride]


def codes(sums: Array, mul: Array, add: Array, bits: int) -> Array:
    """Deeploy's arithmetic: the offset has half of the divisor already."""
    return np.clip((sums.astype(np.int64) * mul + add) >> bits, -128, 127)


def merged(net: Merged, bias: bool = False) -> tuple[bytes, Any]:
    """Two convolutions and a product; the first convolution may have a bias."""
    rng = net.rng
    first, each, last = rng.integers(-128, 128, (6, 3, 3, 3)), rng.integers(-128, 128, (6, 1, 3, 3)), None
    last = rng.integers(-128, 128, (5, 216))
    own = rng.integers(-900, 900, 6)
    muls = [rng.integers(100, 200, 6), rng.integers(20, 40, (6, 1, 1)), rng.integers(20, 40, 5)]
    adds = [
        (rng.integers(-20, 100, m.shape) << bits) + (1 << bits >> 1) for m, bits in zip(muls, (16, 13, 14), strict=True)
    ]
    x = net.input(1, 3, 8, 8)
    operands = [net.real(first), *([net.real(own)] if bias else []), net.real(muls[0]), net.real(adds[0])]
    y = net.op("RequantizedConv", x, *operands, domain=net.domain, kernel_shape=[3, 3], **net.shifting(16))
    shift = net.shifting(13, n_levels=None, n_levels_out=256.0)
    y = net.op(
        *("RequantizedConv", y, net.real(each), net.real(muls[1]), net.real(adds[1])),
        domain=net.domain,
        group=6,
        **SIDES,
        **shift,
    )
    y = net.op("Flatten", y)
    y = net.op(
        *("RequantizedGemm", y, net.real(last), net.real(adds[2]), net.real(muls[2])),
        domain=net.domain,
        transB=1,
        **net.shifting(14),
    )

    def wanted(image: Array) -> Array:
        sums = np.einsum("nchwij,ocij->nohw", windows(image, 3), first) + bias * own[:, None, None]
        made = codes(sums, muls[0][:, None, None], adds[0][:, None, None], 16)
        padded = np.pad(made, ((0, 0), (0, 0), (1, 1), (1, 1)))
        made = codes(np.einsum("nchwij,cij->nchw", windows(padded, 3), each[:, 0]), muls[1], adds[1], 13)
        return codes(made.reshape(1, -1) @ last.T, muls[2], adds[2], 14)

    return net.finished(y), wanted


@pytest.mark.parametrize("domain", ("PACTOps", ""))
@pytest.mark.parametrize("bias", (False, True))
def test_merged_layers_are_those_of_integers(domain: str, bias: bool) -> None:
    for seed in range(3):
        model, wanted = merged(Merged(seed, domain), bias)
        x = np.random.default_rng(seed).integers(-128, 128, (1, 3, 8, 8))
        assert np.array_equal(run(model, x), wanted(x)) and len(np.unique(wanted(x))) > 1


def test_merged_layers_are_computed_with_integers() -> None:
    compiled = compile(merged(Merged(3))[0], target="host")
    kinds = [type(op).__name__ for op in compiled.plan.graph.ops]
    assert kinds.count("AffineDepthwiseConv2D") == kinds.count("AffineFullyConnected") == 1, kinds
    result = verify(compiled, 3)
    assert "PULP's quantizers" in result.reference and result.passed, result.mismatches


def test_sequences_with_multipliers_of_images() -> None:
    """Deeploy writes three axes for those of a convolution over time as well."""
    net = Merged(4)
    kernel, mul = net.rng.integers(-128, 128, (5, 3, 4)), net.rng.integers(100, 200, (5, 1, 1))
    add = (net.rng.integers(-20, 100, (5, 1, 1)) << 13) + (1 << 12)
    operands = net.real(kernel), net.real(mul), net.real(add)
    y = net.op("RequantizedConv", net.input(1, 3, 9), *operands, domain="", kernel_shape=[4], **net.shifting(13))
    x = net.rng.integers(-128, 128, (1, 3, 9))
    sums = np.einsum("nctk,ock->not", np.lib.stride_tricks.sliding_window_view(x, 4, axis=2), kernel)
    found = run(net.finished(y), x)
    assert np.array_equal(found.reshape(1, 5, 6), codes(sums, mul[:, 0], add[:, 0], 13))


def test_products_of_several_rows() -> None:
    net = Merged(4)
    weights, mul = net.rng.integers(-128, 128, (6, 5)), np.array([37])
    add = (net.rng.integers(-20, 100, 5) << 13) + (1 << 12)
    operands = net.real(weights), net.real(add), net.real(mul)
    x = net.rng.integers(-128, 128, (4, 6))
    given = net.input(4, 6)
    y = net.op("RequantizedGemm", given, *operands, domain="ai.onnx.contrib", **net.shifting(13))
    assert np.array_equal(run(net.finished(y), x), codes(x @ weights, mul, add, 13))


@pytest.mark.parametrize(
    ("kind", "options", "count", "error"),
    [
        ("RequantizedConv", {"shift": None}, 2, "its multiplier is scaled for CMSIS-NN, which rounds twice\n  help: "),
        ("RequantizedConv", {"shift": 3.0}, 2, "its multiplier is scaled for CMSIS-NN, which rounds twice\n  help: "),
        ("RequantizedConv", {"div": 3.0}, 2, "divides by 3, which is no power of two"),
        ("RequantizedConv", {"plain": {"channels_first": 0}}, 2, "its channels are last\n  help: compile the network"),
        (
            "RequantizedGemm",
            {"plain": {"alpha": 0.5}},
            2,
            "its alpha or beta is not 1, .*\\n  help: compile the network",
        ),
        ("RequantizedGemm", {}, 1, "it has 3 inputs, not 4\n  help: compile the network"),
    ],
)
def test_others_are_refused(kind: str, options: dict[str, Any], count: int, error: str) -> None:
    net = Merged()
    plain = options.pop("plain", {})
    x = net.input(1, 4, 5, 5) if kind == "RequantizedConv" else net.input(1, 4)
    weights = net.integers(3, 4, 3, 3) if kind == "RequantizedConv" else net.integers(4, 3)
    given = [net.real([1] * 3) for _ in range(count)]
    y = net.op(kind, x, weights, *given, domain="PACTOps", **plain, **net.shifting(4, **options))
    with pytest.raises(MoteError, match=f"PACTOps.{kind} '.*': {error}"):
        compile(net.finished(y))


def test_multipliers_that_are_computed_are_refused() -> None:
    net = Merged()
    mul = net.op("Abs", net.input(3, 1, 1))
    given = net.input(1, 4, 5, 5), net.integers(3, 4, 3, 3), mul, net.real([1])
    y = net.op("RequantizedConv", *given, domain="PACTOps", **net.shifting(4))
    with pytest.raises(MoteError, match="its multiplier is not constant\n  help: fold its constants"):
        compile(net.finished(y))


# FINN


@pytest.mark.parametrize("pads", ([0, 0, 0, 0], [1, 0, 1, 2]))
def test_lowered_convolutions(pads: list[int]) -> None:
    """Windows have rows, columns and channels in this order."""
    net = Merged(5)
    weights, x = net.rng.integers(-8, 8, (18, 4)), net.rng.integers(-8, 8, (1, 7, 6, 2))
    options = {"stride": [2, 1], "kernel_size": [3, 3], "pad_amount": pads, "input_shape": "(1,7,6,2)"}
    lowered = net.op("Im2Col", net.input(1, 7, 6, 2), domain=GENERAL, **options)
    model = net.finished(net.op("MatMul", lowered, net.real(weights)))
    padded = np.pad(x, ((0, 0), (pads[0], pads[2]), (pads[1], pads[3]), (0, 0)))
    seen = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))[:, ::2]
    wanted = np.einsum("nhwcij,ijcf->nhwf", seen, weights.reshape(3, 3, 2, 4))
    assert np.array_equal(run(model, x), wanted)
    assert "Conv2D" in {type(op).__name__ for op in compile(model, target="host").plan.graph.ops}


def test_windows_without_a_product_are_refused() -> None:
    net = Merged()
    options = {"stride": [1, 1], "kernel_size": [2, 2], "input_shape": "(1,4,4,2)"}
    model = net.finished(net.op("Relu", net.op("Im2Col", net.input(1, 4, 4, 2), domain=GENERAL, **options)))
    with pytest.raises(MoteError, match=r"Im2Col '.*': its windows are not read by one product .*\n  help: use the"):
        compile(model)


def test_windows_of_no_size_are_refused() -> None:
    net = Merged()
    options = {"stride": [1, 1], "kernel_size": [-1, -1], "input_shape": "(1,4,4,2)"}
    lowered = net.op("Im2Col", net.input(1, 4, 4, 2), domain=GENERAL, **options)
    with pytest.raises(MoteError, match=r"Im2Col '.*': its windows are not read by"):
        compile(net.finished(net.op("MatMul", lowered, net.integers(2, 3))))


def test_pools_with_channels_last() -> None:
    net = Merged(6)
    x = net.rng.integers(0, 16, (1, 6, 6, 3))
    options = {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [0, 0, 0, 0]}
    model = net.finished(net.op("MaxPoolNHWC", net.input(1, 6, 6, 3), domain=GENERAL, **options))
    assert np.array_equal(run(model, x), x.reshape(1, 3, 2, 3, 2, 3).max(axis=(2, 4)))


@pytest.mark.parametrize("layout", ("NCHW", "NHWC"))
def test_averages_are_shifted_sums(layout: str) -> None:
    """The sum of nine 4-bit numbers has 8 bits, and loses 4."""
    net = Merged(7)
    x = net.rng.integers(0, 16, (1, 3, 7, 7))
    options = {"kernel": 3, "stride": 2, "ibits": 4, "obits": 4, "signed": 0, "data_layout": layout}
    turned = x if layout == "NCHW" else x.transpose(0, 2, 3, 1)
    model = net.finished(net.op("QuantAvgPool2d", net.input(*turned.shape), domain=GENERAL, **options))
    wanted = windows(x, 3, 2).sum(axis=(-2, -1)) >> 4
    wanted = wanted if layout == "NCHW" else wanted.transpose(0, 2, 3, 1)
    assert np.array_equal(run(model, turned).reshape(wanted.shape), wanted)


def test_equal_bits_are_counted() -> None:
    net = Merged(8)
    weights, x = net.rng.integers(0, 2, (9, 4)), net.rng.integers(0, 2, (2, 9))
    model = net.finished(net.op("XnorPopcountMatMul", net.input(2, 9), net.real(weights), domain=GENERAL))
    assert np.array_equal(run(model, x), (x[:, :, None] == weights[None]).sum(axis=1))
    net = Merged(8)
    model = net.finished(net.op("XnorPopcountMatMul", net.input(2, 9), net.real(weights * 2), domain=GENERAL))
    with pytest.raises(MoteError, match="is not one of the bits 0 and 1\n  help: use the network with Quant"):
        compile(model)
