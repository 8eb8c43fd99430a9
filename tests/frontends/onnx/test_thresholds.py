"""FINN's MultiThreshold: every element of the results equals the definition in NumPy and in ONNX's own operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mote import frontends
from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.bench.execute.reference import as_in_file, numpy
from mote.compiler.line import compile
from mote.frontends import source_of
from mote.frontends.onnx.reference import reference
from mote.ir.graph.tensor import Array
from tests.frontends.onnx.qonnx_models import GENERAL, SIDES, Quantized

DOMAINS = (GENERAL, "finn.custom_op.general")


def multi_threshold(net: Quantized, x: str, table: Any, domain: str = GENERAL, **attributes: Any) -> str:
    return net.op("MultiThreshold", x, net.real(table), domain=domain, out_dtype="INT8", **attributes)


def definition(x: Array, table: Array, scale: float = 1.0, bias: float = 0.0, layout: str = "NCHW") -> Array:
    """One threshold after another, in the order of the file."""
    x = x if layout[-1] == "C" else np.moveaxis(x, 1, -1)
    count = np.zeros(x.shape, np.float32)
    for column in range(table.shape[1]):
        count += x >= table[:, column]
    count = count if layout[-1] == "C" else np.moveaxis(count, -1, 1)
    return np.float32(scale) * count + np.float32(bias)


FORMS: dict[str, tuple[tuple[int, ...], int, int, dict[str, Any]]] = {
    "of 4 bits": ((1, 4, 5, 5), 4, 15, {"out_bias": -8.0}),
    "one row": ((1, 4, 5, 5), 1, 7, {"out_scale": 0.25}),
    "signs": ((1, 6, 3), 6, 1, {"out_scale": 2.0, "out_bias": -1.0}),
    "channels last": ((1, 5, 5, 3), 3, 5, {"data_layout": "NHWC"}),
    "a matrix": ((2, 7), 7, 20, {"out_scale": 0.1, "out_bias": 0.33}),
    "of 8 bits": ((1, 3, 4, 4), 3, 255, {}),
    "of 9 bits": ((1, 2, 4, 4), 2, 300, {"out_scale": -0.5}),
    "constant": ((1, 2, 4, 4), 2, 3, {"out_scale": 0.0, "out_bias": 2.0}),
}


@pytest.mark.parametrize("form", FORMS)
def test_results_are_those_of_the_definition(form: str) -> None:
    """Thresholds are unsorted, some are met exactly, and some are equal or infinite."""
    shape, rows, count, attributes = FORMS[form]
    rng = np.random.default_rng(len(form))
    table = (np.rint(rng.normal(0, 40, (rows, count))) / 16).astype(np.float32)
    if count > 2:
        table[0, :2] = -np.inf, np.inf
    net = Quantized(domain=DOMAINS[count % 2])
    x = net.input(*shape)
    model = net.finished(multi_threshold(net, x, table, net.domain, **attributes))
    given = (np.rint(rng.normal(0, 40, shape)) / 16).astype(np.float32)
    given.flat[:3] = 1e30, -1e30, np.inf
    layout = attributes.get("data_layout", "NCHW")
    scale, bias = attributes.get("out_scale", 1.0), attributes.get("out_bias", 0.0)
    want = definition(given, table, scale, bias, layout)
    assert np.array_equal(ran(model, given, channels_first=layout[-1] != "C"), want)
    theirs = reference(source_of(model), ())
    assert not isinstance(theirs, str)
    (found,) = theirs[1]({x: given}).values()
    assert np.array_equal(found, want)


def ran(model: bytes, given: Array, *, channels_first: bool = True) -> Array:
    graph = frontends.read(source_of(model)).graph()
    image = channels_first and given.ndim == 4
    t = graph.tensors[graph.inputs[0]]
    stored = given.transpose(0, 2, 3, 1) if t.shape != given.shape and image else given
    values = as_in_file(numpy(graph), graph)({t.id: stored})
    assert values is not None
    return np.asarray(values[graph.outputs[0]]).reshape(given.shape)


def streamlined(seed: int) -> bytes:
    """A network as FINN leaves it: integer weights, thresholds for each channel or shared, and no scales."""
    net = Quantized(seed)

    def weights(*shape: int) -> str:
        return net.real(net.rng.integers(-7, 8, shape))

    def act(x: str, channels: int, levels: int, spread: float, **attributes: Any) -> str:
        return multi_threshold(net, x, np.rint(net.rng.normal(0, spread, (channels, levels))), **attributes)

    x = act(net.op("Mul", net.input(1, 3, 8, 8), net.real(30.0)), 1, 15, 30.0, out_bias=-8.0)
    x = act(net.op("Conv", x, weights(6, 3, 3, 3), **SIDES), 6, 15, 80.0)
    x = act(net.op("Conv", x, weights(6, 1, 3, 3), group=6, **SIDES), 6, 3, 60.0, out_bias=-2.0)
    x = act(net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), 1, 2, 1.0, out_scale=0.5)
    return net.finished(act(net.op("MatMul", net.op("Flatten", x), weights(96, 5)), 5, 30, 20.0, out_bias=-15.0))


def test_networks_in_c() -> None:
    compiled = compile(streamlined(1), target="host")
    result = verify(compiled, 3)
    assert "QONNX" in result.reference and result.passed, result.mismatches
    assert any("compares its results with thresholds" in warning for warning in compiled.warnings)


def test_shared_thresholds_of_codes_are_a_table() -> None:
    net = Quantized()
    x = net.quant(net.input(1, 4, 5, 5), 1 / 16, 6)
    compiled = compile(net.finished(multi_threshold(net, x, [[0.5, -1.0, 0.25]], out_bias=-1.0)), target="host")
    assert verify(compiled, 3).passed
    kinds = [op.kind for op in compiled.plan.graph.ops]
    assert "TABLE" in kinds and "GREATER_EQUAL" not in kinds, kinds


@pytest.mark.parametrize(
    ("table", "attributes", "reason"),
    (
        (np.zeros((3, 2)), {}, r"thresholds of \(3, 2\) do not fit a value of \(1, 4\) in NCHW"),
        (np.zeros(2), {}, r"thresholds of \(2,\) do not fit"),
        (np.full((1, 2), np.nan), {}, "a threshold is not a number"),
        (np.zeros((4, 2)), {"data_layout": "WH"}, "the data layout WH is unknown; supported are NCHW and NHWC"),
    ),
)
def test_what_is_no_threshold_is_refused(table: Array, attributes: dict[str, Any], reason: str) -> None:
    net = Quantized()
    model = net.finished(multi_threshold(net, net.input(1, 4), table, **attributes))
    with pytest.raises(MoteError, match=rf"layer 0 {GENERAL}.MultiThreshold .*: {reason}"):
        compile(model)
