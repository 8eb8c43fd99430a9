"""QONNX models are exact: codes are equal to those of the definition in ONNX's own operators, and of qonnx's executor
where that is installed; in NumPy, and in generated C."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from mote import frontends
from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.bench.execute.reference import as_in_file, numpy
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile
from mote.frontends import source_of
from mote.frontends.onnx.reference import reference
from mote.ir.graph.tensor import Array
from tests.frontends.onnx.qonnx_models import GENERAL, MODES, Quantized, channels_last, forms, int16_forms, network
from tests.helpers.onnx_models import onnx
from tests.helpers.support import emulated, soaked

BITS = ((1, 2), (2, 4), (4, 4), (8, 8), (3, 5))


def passed(model: bytes, inputs: int = 3, target: str = "host") -> Compiled:
    compiled = compile(model, target=target)
    result = verify(compiled, inputs, sanitize=target == "host")
    assert "QONNX" in result.reference
    assert result.passed, (result.mismatches, compiled.source.text())
    return compiled


def quantizers(model: bytes) -> list[str]:
    """The names of what quantizers make."""
    return [node.output[0] for node in onnx.ModelProto.FromString(model).graph.node if node.domain]


def wanted(model: bytes, x: Array, names: Sequence[str] = ()) -> dict[str, Array]:
    """What quantizers make, or other nodes."""
    names = names or quantizers(model)
    made = reference(source_of(model), names)
    assert not isinstance(made, str)
    found = made[1]({onnx.ModelProto.FromString(model).graph.input[0].name: x})
    return {name: found[name] for name in names}


def differing(model: bytes, count: int = 2) -> tuple[int, int]:
    """How many results of quantizers there are, and how many of them differ."""
    graph = frontends.read(source_of(model)).graph()
    run, found = as_in_file(numpy(graph), graph), np.zeros(2, np.int64)
    named = {t.name: t for t in graph.tensors.values() if t.data is None and not t.inner}
    image = graph.tensors[graph.inputs[0]]
    for seed in range(count):
        given = np.random.default_rng(seed).normal(size=image.shape).astype(np.float32)
        values, want = run({image.id: given}), wanted(model, given.transpose(0, 3, 1, 2))
        assert values is not None
        for t in (named[name] for name in want if name in named):
            found += t.size, np.count_nonzero(values[t.id].reshape(-1) != want[t.name].reshape(-1))
    return int(found[0]), int(found[1])


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("exact", (False, True))
def test_codes_are_equal(exact: bool) -> None:
    """No tolerance, in NumPy: random scales, where no sum is near a half, and powers of two, where many are at one."""
    for seed, ((weights, activations), normalized) in enumerate(product(BITS, (False, True))):
        model = network(seed, weights, activations, exact=exact, normalized=normalized)
        count, wrong = differing(model, 1)
        assert count > 2000 and wrong == 0, (weights, activations, normalized)


def test_rounding_modes_are_exact() -> None:
    for seed, mode in enumerate(MODES):
        assert differing(network(seed, 4, 4, exact=True, normalized=False, mode=mode), 1)[1] == 0, mode


def test_layers_are_integers() -> None:
    graph = passed(network(5, 4, 4)).plan.graph
    kinds = Counter(type(op).__name__ for op in graph.ops)
    assert kinds["AffineConv2D"] == 2 and kinds["AffineDepthwiseConv2D"] == kinds["AffineFullyConnected"] == 1
    real = [op for op in graph.ops if op.macs(graph) and op.input(graph).dtype.real]
    assert len(real) == 1 and real[0].output(graph).dtype.real  # the last one, whose results are not quantized
    assert graph.tensors[real[0].inputs[1]].dtype == "int8"


def test_forms() -> None:
    """In NumPy, without a tolerance: results of 16 bits, zero points, limits, Trunc, rounding modes, groups."""
    net = Quantized(3, exact=True)
    model = net.finished(*forms(net))
    count, wrong = differing(model)
    assert count > 5000 and wrong == 0
    graph = frontends.read(source_of(model)).graph()
    floats = [op for op in graph.ops if op.kind == "CONV_2D" and op.input(graph).dtype.real]
    assert len(floats) == 4  # rounding of negative numbers up, down, and halves so


@pytest.mark.parametrize("kinds", soaked(("int16", "all"), ("int16",)))
def test_forms_in_c(kinds: str) -> None:
    net = Quantized(3, exact=True)
    compiled = passed(net.finished(*(forms(net) if kinds == "all" else int16_forms(net))))
    names = {step.kernel.name for step in compiled.plan.steps}
    assert {"layer_conv2d_affine_s8_s16_s16", "layer_conv2d_affine_s16_s8_s8"} <= names, names


@pytest.mark.parametrize("domain", (GENERAL, "onnx.brevitas", "finn.custom_op.general"))
def test_domains(domain: str) -> None:
    model = network(1, 4, 4, domain=domain)
    assert differing(model, 1) == differing(network(1, 4, 4), 1)


def test_channels_last() -> None:
    net = Quantized(4)
    compiled = passed(net.finished(channels_last(net)))
    assert [op.kind for op in compiled.plan.graph.ops].count("CONV_2D") == 1
    assert not [op for op in compiled.plan.graph.ops if op.kind == "TRANSPOSE"]


@pytest.mark.slow
@pytest.mark.parametrize("target", ("cortex-m4", "cortex-m55"))
def test_cores(target: str) -> None:
    """Kernels of instruction sets have constants for such layers too."""
    compiled = passed(network(5, 4, 4), inputs=2, target=emulated(target))
    names = [step.kernel.name for step in compiled.plan.steps if step.kernel.family.endswith("_affine")]
    assert any(not name.startswith("affine_") for name in names), names


def test_what_keeps_layers_from_integers_is_told() -> None:
    net = Quantized()
    x = net.quant(net.input(1, 4, 6, 6), 0.05, 8)
    y = net.op("Sigmoid", net.op("Conv", x, net.layer_weights((6, 4, 3, 3), 4), kernel_shape=[3, 3]))
    model = net.finished(net.quant(y, 0.01, 8, signed=0))
    (warning,) = frontends.read(source_of(model)).warnings
    assert "is computed in float32: Sigmoid is between it and the next quantizer" in warning
    passed(model)


@pytest.mark.parametrize("kind", ("FloatQuant", "XnorPopcountMatMul"))
def test_others_are_refused_by_name(kind: str) -> None:
    net = Quantized()
    model = net.finished(net.op(kind, net.input(1, 4), net.real(1.0), domain=GENERAL))
    with pytest.raises(MoteError, match=rf"(?s)layer 0 {GENERAL}.{kind} .*: .*(Quant \(IntQuant\)|Quant nodes)"):
        compile(model)


def test_wrong_parameters_are_refused() -> None:
    for given, what in (
        ({"scale": np.ones(3)}, "do not fit a value of"),
        ({"mode": "SOMEHOW"}, "the rounding mode SOMEHOW is unknown"),
    ):
        net = Quantized()
        x = net.input(1, 4)
        with pytest.raises(MoteError, match=what):
            compile(net.finished(net.quant(x, **{"scale": 0.1, "bits": 4, **given})))  # type: ignore[arg-type]
    net = Quantized()
    x, scale = net.input(1, 4), net.input(1)
    computed = net.op("Quant", x, scale, net.real(0.0), net.real(8.0), domain=GENERAL, signed=1, narrow=0)
    with pytest.raises(MoteError, match="that is computed is not supported"):
        compile(net.finished(computed))


@pytest.mark.frontends
def test_the_definition_is_qonnx(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every result of a quantizer, bit for bit. qonnx runs node by node, and writes files as new as the package onnx,
    which ONNX Runtime may not read yet."""
    wrapper = pytest.importorskip("qonnx.core.modelwrapper")
    executor = pytest.importorskip("qonnx.core.onnx_exec")
    monkeypatch.setattr(onnx, "IR_VERSION", 10)
    net, last = Quantized(3, exact=True), Quantized(4)
    models = [net.finished(*forms(net)), last.finished(channels_last(last))]
    models += [network(seed, *bits, exact=bool(seed % 2)) for seed, bits in enumerate(BITS)]
    for model in models:
        made = wrapper.ModelWrapper(onnx.ModelProto.FromString(model))
        given = made.graph.input[0]
        sizes = [d.dim_value for d in given.type.tensor_type.shape.dim]
        x = np.random.default_rng(1).normal(size=sizes).astype(np.float32)
        ours = wanted(model, x, [node.output[0] for node in made.graph.node])
        for name, value in ours.items():
            made.set_tensor_shape(name, list(value.shape))
        theirs = executor.execute_onnx(made, {given.name: x}, return_full_exec_context=True)
        for name, value in ours.items():
            assert np.array_equal(theirs[name].reshape(value.shape), value), name
