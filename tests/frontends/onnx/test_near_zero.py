"""Functions near 0, where ONNX Runtime's are off by roundings of the terms that cancel in them."""

from __future__ import annotations

import numpy as np
import pytest

import mote
from mote.bench.execute import reference
from mote.frontends.onnx import read
from mote.frontends.source import Format, Source
from mote.ir.graph.tolerance import compare
from tests.helpers.onnx_models import Net, onnx, session


def classifier(bias: float) -> bytes:
    """Two layers and a sigmoid: the probability of one class."""
    net = Net(opset=17)
    hidden = net.op("Relu", net.op("Gemm", net.input(1, 8), net.const(net.rng.normal(size=(8, 6)).astype(np.float32))))
    weights = net.const(0.01 * net.rng.normal(size=(6, 1)).astype(np.float32))
    net.output(net.op("Sigmoid", net.op("Gemm", hidden, weights, net.const(np.float32([bias])))))
    return net.model()


@pytest.mark.parametrize("bias", [-8.0, -15.5])
def test_a_binary_classifier_that_is_sure(bias: float) -> None:
    result = mote.verify(mote.compile(classifier(bias)), 8)
    assert result.passed and result.reference.startswith("ONNX Runtime"), result.mismatches


NEAR = {"Sigmoid": (-17, -6), "Gelu": (-5.8, -3), "Elu": (-1e-3, -1e-7), "HardSwish": (-3, -2.9999)}


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("kind", NEAR)
def test_one_value_at_a_time(kind: str) -> None:
    """Each alone, so that no larger one allows more; and nothing is allowed that is twice as far off."""
    net = Net(opset=20)
    net.output(net.op(kind, net.input(1)))
    model = net.model()
    graph = read(Source("model.onnx", Format.ONNX, model)).graph()
    run, (given,), (out,) = session(onnx.load_from_string(model)), graph.inputs, graph.outputs
    magnitudes = reference.magnitudes(graph)
    for x in np.linspace(*NEAR[kind], 2000).astype(np.float32)[:, None]:
        case = {given: x}
        (want,) = run.run(None, {net.inputs[0].name: x})
        got, size = graph.evaluate(case)[out], magnitudes(case)[out]
        assert not compare(got, want, size)[1], (x, got, want)
        assert compare(got + np.float32(2e-6 * max(1, -x[0])), got, size)[1]
