"""A compiled model on this computer, many inputs in one call, and what it gives held against the reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mote import frontends
from mote.bench.evaluation.score import outputs
from mote.bench.execute import host_library
from mote.bench.execute.host_library import HostModel, on_vectors
from mote.bench.execute.reference import litert
from mote.compiler.line import compile
from mote.frontends.data.dataset import dataset
from mote.hardware.toolchain import host
from tests.helpers.network import Net
from tests.helpers.support import needs_litert

MODELS = Path(__file__).parents[3] / "models"


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("name", "target"), [("digits", "host"), ("digits", "cortex-m4"), ("keywords", "host")])
def test_the_bundled_models_give_what_is_recorded_whatever_core_they_were_planned_for(
    name: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With as much optimization as users have."""
    monkeypatch.setattr(host, "FLAGS", [flag for flag in host.FLAGS if not flag.startswith("-O")])
    host._load.cache_clear()
    recorded = np.load(MODELS / f"{name}_samples.npz")
    model = HostModel(compile(MODELS / f"{name}.tflite", target=target))
    (found,) = model.run(dataset(recorded["inputs"]).cases(model.graph))
    assert np.array_equal(found, recorded["outputs"])


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("target", ["host", "cortex-m4"])
def test_vectors_of_this_computer_give_what_is_recorded(target: str) -> None:
    recorded = np.load(MODELS / "keywords_samples.npz")
    here = on_vectors(compile(MODELS / "keywords.tflite", target=target, io="int8"))
    assert any("vectors" in work.kernel.family for work in here.plan.steps)
    model = HostModel(here)
    (found,) = model.run(dataset(recorded["inputs"]).cases(model.graph))
    assert np.array_equal(found, recorded["outputs"])
    assert on_vectors(here) is here


def test_encrypted_models_are_run_as_they_are(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(bytes(range(16)))
    compiled = compile(MODELS / "digits.tflite", encrypt=str(key))
    assert on_vectors(compiled) is compiled


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = np.load(MODELS / "digits_samples.npz")
    model = HostModel(compile(MODELS / "digits.tflite"))
    cases = dataset(np.repeat(recorded["inputs"], 8, 0)).cases(model.graph)
    monkeypatch.setattr(host_library, "WORTH_THREADS", 0.0)
    monkeypatch.setattr(host_library, "OFTEN", 1e-4)
    monkeypatch.setattr(host_library, "cores", lambda: 3)
    told: list[int] = []
    (found,) = model.run(cases, done=lambda rows, of: told.append(rows))
    assert np.array_equal(found, np.repeat(recorded["outputs"], 8, 0))
    assert told == sorted(told) and told[-1] == len(cases) == 128


@needs_litert
def test_real_numbers_are_those_of_the_reference() -> None:
    net = Net(seed=2, dtype="float32")
    data = net.finish(net.op("SOFTMAX", [net.conv(net.input(1, 8, 7, 3), 5, (3, 3))], beta=1.0))
    model = HostModel(compile(data))
    cases = dataset(np.random.default_rng(0).normal(size=(3, 8, 7, 3)).astype(np.float32)).cases(model.graph)
    (found,) = model.run(cases)
    oracle = litert(data)
    for case, values in zip(cases, found, strict=True):
        wanted = oracle(case)
        assert wanted is not None
        np.testing.assert_allclose(values, wanted[model.graph.outputs[0]][0], rtol=1e-4, atol=1e-6)


def test_what_a_model_remembers_is_forgotten_between_samples_and_kept_in_a_stream() -> None:
    net = Net(seed=4)
    streamed = HostModel(compile(net.finish(net.conv(net.input(1, 9, 1, 3), 4, (5, 1), padding="VALID")), stream=1))
    frames = np.random.default_rng(0).integers(-128, 128, (40, *streamed.graph.tensors[streamed.graph.inputs[0]].shape))
    cases = [{streamed.graph.inputs[0]: frame.astype(np.int8)} for frame in frames]
    (kept,), (alone,) = streamed.run(cases, stream=True), streamed.run(cases)
    assert streamed.graph.states
    ours, states = [], {}
    for case in cases:
        values = streamed.graph.evaluate({**states, **case})
        states = streamed.graph.carried(values)
        ours.append(values[streamed.graph.outputs[0]][0])
    warm = streamed.graph.warm_up - 1
    assert np.array_equal(kept[warm:], np.stack(ours)[warm:])
    assert np.array_equal(kept[0], alone[0]) and not np.array_equal(kept[1:], alone[1:])


def test_models_with_channels_first_take_and_give_them_so() -> None:
    """What Python sees is as in the model's file."""
    onnx, onnxruntime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    helper = onnx.helper
    weights = np.random.default_rng(0).normal(size=(5, 3, 3, 3)).astype(np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    shapes = {"x": (1, 3, 6, 4), "y": (1, 5, 6, 4)}
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in shapes.items())
    proto = helper.make_model(
        helper.make_graph([node], "net", [x], [y], [onnx.numpy_helper.from_array(weights, "w")]),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    pictures = np.random.default_rng(1).normal(size=(7, 3, 6, 4)).astype(np.float32)
    model = HostModel(compile(proto.SerializeToString()))
    (found,) = model.run(dataset(pictures).cases(model.graph))
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    wanted = np.concatenate([session.run(None, {"x": picture[None]})[0] for picture in pictures])
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    graph = frontends.load(proto.SerializeToString())
    np.testing.assert_allclose(outputs(graph, dataset(pictures).cases(graph))[0], wanted, rtol=1e-4, atol=1e-5)
