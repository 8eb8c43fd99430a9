"""ONNX Runtime that saturates sums of uint8 x int8 products is no judge: NumPy's integers are, and the output says so.

Both answers of the probe are tried on every machine; `qemu-x86_64 -cpu Haswell` runs these tests as on a processor
without VNNI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote.frontends.onnx import saturation
from mote.ui.cli import main
from tests.helpers.onnx_models import Net, onnx, session
from tests.helpers.support import exact_on_x86

JUDGED_BY = {False: "ONNX Runtime ", True: "numpy (ONNX Runtime "}
KINDS = sorted(saturation.PROBES)


def classifier(activations: str = "uint8") -> bytes:
    """Two layers of integers: one between quantizing nodes, and one that is written as an operator on integers."""
    net = Net()
    x = net.fake(net.input(1, 12), 0.04, 3, activations)
    hidden = net.op("Relu", net.op("MatMul", x, net.weights((12, 8), 0.01)))
    codes = net.quantized(hidden, 0.05, 0, activations)
    matrix = net.const(net.rng.integers(-127, 128, (8, 3)).astype(np.int8))
    zeros = [net.const(np.zeros((), dtype)) for dtype in (activations, "int8")]
    product = net.op("MatMulInteger", codes, matrix, *zeros)
    net.output(net.op("Cast", product, to=onnx.TensorProto.FLOAT))
    return net.model()


@pytest.fixture(params=[False, True], ids=["exact", "saturating"])
def saturates(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """What the probe answers. That ONNX Runtime is exact is not tried where it is not."""
    if not request.param and any(map(saturation.saturates, KINDS)):
        pytest.skip("ONNX Runtime saturates on this processor")
    monkeypatch.setattr(saturation, "saturates", lambda kind: request.param)
    return bool(request.param)


@exact_on_x86
def test_the_judge_of_verify(saturates: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(classifier())
    assert main(["verify", str(path), "--inputs", "3"]) == 0
    assert f"against {JUDGED_BY[saturates]}" in capsys.readouterr().out
    assert main(["verify", str(path), "--inputs", "3", "--json"]) == 0
    reference = json.loads(capsys.readouterr().out)["reference"]
    assert reference.startswith(JUDGED_BY[saturates]) and ("saturates 16-bit sums" in reference) == saturates


@pytest.mark.quick_cases(1)
@exact_on_x86
def test_the_judge_of_evaluate(saturates: bool) -> None:
    samples = np.random.default_rng(0).normal(size=(6, 12)).astype(np.float32)
    found = mote.evaluate(classifier(), {"inputs": samples, "labels": np.zeros(6, np.int64)})
    assert found.reference.runtime.startswith(JUDGED_BY[saturates]) and found.reference.equal == 6
    assert found.json()["reference"]["runtime"] == found.reference.runtime


@exact_on_x86
def test_the_judge_of_convert(saturates: bool) -> None:
    net = Net()
    weights = net.const(net.rng.integers(-127, 128, (12, 7)).astype(np.int8))
    net.output(
        net.op("DynamicQuantizeMatMul", net.input(2, 12), weights, *net.scaled(0.02, 0, "int8"), domain="com.microsoft")
    )
    check = mote.convert(net.model(), inputs=2).check
    assert check is not None and check.passed and check.reference.startswith(JUDGED_BY[saturates])


@exact_on_x86
def test_types_that_never_saturate(monkeypatch: pytest.MonkeyPatch) -> None:
    """int8 x int8 is right with and without VNNI."""
    monkeypatch.setattr(saturation, "saturates", lambda kind: True)
    result = mote.verify(mote.compile(classifier("int8")), 2)
    assert result.passed and result.reference.startswith("ONNX Runtime ")


def test_bodies_of_control_flow_are_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes and constants of bodies, and nodes that make uint8 without a word of it."""
    monkeypatch.setattr(saturation, "saturates", lambda kind: True)
    helper = onnx.helper
    inner = helper.make_graph(
        [
            helper.make_node("Constant", [], ["w"], value=onnx.numpy_helper.from_array(np.ones((4, 2), np.int8))),
            helper.make_node("DynamicQuantizeLinear", ["x"], ["codes", "scale", "zero"]),
            helper.make_node("MatMulInteger", ["codes", "w", "zero"], ["y"]),
        ],
        "inner",
        [],
        [helper.make_empty_tensor_value_info("y")],
    )
    node = helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 4])
    c = helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, [])
    graph = helper.make_graph([node], "outer", [x, c], [helper.make_empty_tensor_value_info("y")])
    assert saturation.saturating(onnx, helper.make_model(graph))


class Runtime:
    """ONNX Runtime as on a processor without VNNI: it adds pairs of products in 16 bits."""

    GraphOptimizationLevel = SessionOptions = type("Options", (), {})

    class InferenceSession:
        def __init__(self, model: bytes, *_: Any, **__: Any) -> None:
            graph = onnx.load_from_string(model).graph
            self.node = graph.node[0]
            self.constants = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer}

        def run(self, _: None, inputs: Any) -> list[Any]:
            values = self.constants | inputs
            x, w = values["x"], values["w"]
            if "Conv" in self.node.op_type:
                w = w.reshape(len(w), -1).T
            pairs = (x.reshape(-1)[:, None].astype(np.int64) * w.astype(np.int64)).reshape(-1, 2, w.shape[1]).sum(1)
            step = values["step"] if "step" in self.node.input else 1
            return [np.rint(np.clip(pairs, -(1 << 15), (1 << 15) - 1).sum(0) / step)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_probe(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It sees a runtime that saturates, and takes one that lacks the kernel for none."""
    saturation.saturates.cache_clear()
    monkeypatch.setattr(saturation, "require", lambda name, **_: onnx if name == "onnx" else Runtime)
    assert saturation.saturates(kind)
    saturation.saturates.cache_clear()
    monkeypatch.setattr(Runtime.InferenceSession, "run", lambda *_: 1 / 0)
    assert not saturation.saturates(kind)
    saturation.saturates.cache_clear()


def test_the_installed_runtime() -> None:
    """The probe says what 64 products 255 x 127 come to."""
    net = Net()
    net.output(
        net.op("MatMulInteger", net.input(1, 64, dtype="uint8"), net.const(np.full((64, 8), 127, np.int8))), "int32"
    )
    (sums,) = session(onnx.load_from_string(net.model())).run(
        None, {net.inputs[0].name: np.full((1, 64), 255, np.uint8)}
    )
    assert set(sums.flat) == {1_048_544 if saturation.saturates("MatMulInteger") else 2_072_640}
