"""How good models are, end to end: compiled, in their own runtimes, on an emulated core, against another model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote import frontends
from mote.base.errors import MoteError
from mote.bench.evaluation.evaluator import evaluate
from mote.bench.evaluation.on_core import SampleRunner
from mote.compiler.line import compile
from mote.frontends.data.dataset import Dataset, dataset
from mote.frontends.data.dataset_type import RecordingInfo
from tests.helpers.network import Net
from tests.helpers.slow_flash import SLOW
from tests.helpers.streams import sliding
from tests.helpers.support import PUBLIC_DATA, PUBLIC_MODELS, emulated, needs_litert

MODELS = Path(__file__).parents[3] / "models"
DIGITS, SAMPLES = MODELS / "digits.tflite", MODELS / "digits_samples.npz"
WAKE_WORD = (
    "pre-emphasis=31/32,log-mel(frame=1024,hop=512,low=0,high=8000,window=hamming),offset=52,scale=1/64,clip(0,1)"
)
KEYS = {"metric", "value", "samples", "reference", "against"}


def public(name: str) -> Path:
    """A file of real data; the test is skipped where it is not."""
    path = PUBLIC_DATA / name
    if not path.exists() or not PUBLIC_MODELS.exists():
        pytest.skip(f"there is no {name}")
    return path


@needs_litert
def test_a_model_on_a_core_this_computer_and_in_litert() -> None:
    found = mote.evaluate(DIGITS, SAMPLES, target=emulated("cortex-m4"), samples=3)
    assert (found.score.metric, found.score.value, found.score.samples) == ("top1", 1.0, 16)
    assert found.reference.runtime == "LiteRT BUILTIN_REF" and found.reference.equal == 16
    core = found.core
    assert core is not None and core.passed and core.samples == core.equal == 3 and (core.instructions or 0) > 10_000
    assert found.passed and found.worst == [] and found.classes == tuple("0123456789")


def test_json_has_what_is_promised() -> None:
    told = evaluate(DIGITS, SAMPLES, against=DIGITS).json()
    assert told.keys() >= KEYS
    assert {"runtime", "metric", "value", "samples", "equal", "max_abs_diff"} <= told["reference"].keys()
    against = told["against"]
    assert (against["metric"], against["value"], against["agreement"], against["decibels"]) == ("top1", 1, 1, "inf")
    assert {layer["op"] for layer in against["layers"]} >= {"CONV_2D", "SOFTMAX"}
    assert evaluate(DIGITS, SAMPLES).json()["against"] is None


def test_a_core_that_computes_something_else_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    executed = SampleRunner._executed

    def off_by_one(*arguments: Any) -> Any:
        outputs, counts = executed(*arguments)
        return [[values + (i == 1) for values in row] for i, row in enumerate(outputs)], counts

    monkeypatch.setattr(SampleRunner, "_executed", off_by_one)
    found = evaluate(DIGITS, SAMPLES, target=emulated("cortex-m4"), samples=3)
    assert found.core is not None and found.core.equal == 2 and found.core.max_abs_diff == 1 and not found.passed


def test_wrong_answers_are_listed_the_worst_first() -> None:
    recorded = np.load(SAMPLES)
    labels = recorded["labels"].copy()
    labels[[3, 7]] = (labels[[3, 7]] + 1) % 10
    found = evaluate(DIGITS, (recorded["inputs"], labels))
    assert found.score.detail["correct"] == 14 and found.score.value == 14 / 16
    assert {a.index for a in found.worst} == {3, 7} and found.worst[0].error >= found.worst[1].error > 0
    assert [found.worst[0].label, found.worst[0].predicted] == [
        labels[found.worst[0].index],
        recorded["labels"][found.worst[0].index],
    ]


def two_nets(damage: float) -> tuple[bytes, bytes]:
    """The same float network twice; the second layer of the second has other weights."""
    rng = np.random.default_rng(0)
    layers = [rng.integers(-100, 100, shape).astype(np.int8) for shape in ((6, 3, 3, 2), (6, 3, 3, 6), (4, 6, 5, 6))]
    made = []
    for change in (0.0, damage):
        net = Net(seed=5, dtype="float32")
        x = net.input(1, 6, 5, 2)
        for i, weights in enumerate(layers):
            noisy = weights + (rng.normal(size=weights.shape) * change if i == 1 else 0)
            x = net.conv(x, np.clip(noisy, -127, 127).astype(np.int8), padding="VALID" if i == 2 else "SAME")
        made.append(net.finish(x))
    return made[0], made[1]


def test_the_layer_that_loses_most_is_named() -> None:
    good, damaged = two_nets(20.0)
    samples = np.random.default_rng(1).normal(size=(9, 6, 5, 2)).astype(np.float32)
    labels = np.arange(9) % 4
    found = evaluate(damaged, (samples, labels), against=good).against
    assert found is not None and len(found.layers) == 3
    first, second, third = found.layers
    assert first.decibels == np.inf and second.worst and not third.worst
    assert second.decibels == pytest.approx(-10 * np.log10(second.share)) and 0 < second.decibels < 40
    named = [a.predicted != a.other for a in found.worst]
    assert found.worst and named == sorted(named, reverse=True)
    assert found.agreement == pytest.approx(1 - sum(named) / 9)


def test_numbers_that_are_to_be_computed() -> None:
    net = Net(seed=1, dtype="float32")
    model = net.finish(net.fully_connected(net.input(1, 6), 2))
    samples = np.random.default_rng(2).normal(size=(12, 6)).astype(np.float32)
    exact = frontends.load(model)
    wanted = np.concatenate([exact.evaluate({exact.inputs[0]: x[None]})[exact.outputs[0]] for x in samples])
    labels = wanted.astype(np.float64)
    labels[4] += 0.5
    found = evaluate(model, (samples, labels), metric="mae")
    assert found.score.better == "lower" and found.score.value == pytest.approx(0.5 / 12, rel=1e-3)
    assert found.worst[0].index == 4 and found.worst[0].error == pytest.approx(0.5, rel=1e-3)
    assert evaluate(model, (samples, labels)).score.metric == "rmse"


def recording(frames: int = 24) -> Dataset:
    values = np.random.default_rng(3).integers(-128, 128, (frames, 3)).astype(np.int8)
    return Dataset("recording", {"frames": values}, stream=RecordingInfo(0.1, 0.05, 2.0, np.array([[0.2, 0.4]])))


def windowed_net() -> bytes:
    net = Net(seed=4)
    x = net.conv(net.input(1, 9, 1, 3), 4, (5, 1), padding="VALID")
    return net.finish(net.fully_connected(net.reshape(x, 1, 20), 2))


@pytest.mark.slow
def test_a_recording_by_windows_and_as_a_stream_gives_the_same() -> None:
    """A stream computes what is new, and from the first whole window on the outputs are those of windows."""
    model = windowed_net()
    windows, stream = (evaluate(model, recording(), **how, threshold=0.0) for how in ({}, {"stream": 1}))
    assert windows.score.samples == stream.score.samples == 24 - 8
    assert windows.score == stream.score and windows.score.metric == "events"
    assert windows.reference.equal == stream.reference.equal == 16
    on_core = evaluate(model, recording(), stream=1, target=emulated("cortex-m4"), samples=2).core
    assert on_core is not None and on_core.samples == on_core.equal == 2


@needs_litert
def test_a_model_that_remembers_begins_anew_with_each_sample_and_goes_on_in_a_recording() -> None:
    model = sliding(seed=1, new=1, kept=3, channels=4)
    rng = np.random.default_rng(6)
    shape = frontends.load(model).tensors[frontends.load(model).inputs[0]].shape
    samples = rng.integers(-128, 128, (7, *shape[1:])).astype(np.int8)
    found = evaluate(model, (samples, np.arange(7) % 2), metric="top1")
    assert found.reference.equal == 7
    kept = Dataset("recording", {"x": samples}, stream=RecordingInfo(0.1, 0.05, 2.0, np.array([[0.2, 0.4]])))
    assert evaluate(model, kept).reference.equal == 7


@needs_litert
def test_classes_of_pixels() -> None:
    net = Net(seed=7, dtype="float32")
    model = net.finish(net.conv(net.input(1, 5, 4, 2), 3))
    samples = np.random.default_rng(8).normal(size=(6, 5, 4, 2)).astype(np.float32)
    graph = frontends.load(model)
    scores = np.concatenate([graph.evaluate({graph.inputs[0]: x[None]})[graph.outputs[0]] for x in samples])
    labels = scores.argmax(-1)
    labels[2, :2] = (labels[2, :2] + 1) % 3
    found = evaluate(model, (samples, labels), against=model)
    assert found.score.value == 1 - 8 / 120 and [(a.index, a.error) for a in found.worst] == [(2, 8 / 20)]
    assert found.against is not None and found.against.agreement == 1 and found.against.worst == []


def test_channels_may_lie_elsewhere_in_the_other_model() -> None:
    """A file of integers that Mote makes of an ONNX model has channels last; the data is as the ONNX model has it."""
    onnx = pytest.importorskip("onnx")
    rng = np.random.default_rng(9)
    weights = rng.normal(size=(4, 3, 3, 3)).astype(np.float32)
    nodes = [
        onnx.helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1]),
        onnx.helper.make_node("ReduceMean", ["y"], ["z"], axes=[2, 3], keepdims=0),
    ]
    x, z = (
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in (("x", (1, 3, 7, 5)), ("z", (1, 4)))
    )
    constants = [onnx.numpy_helper.from_array(weights, "w")]
    proto = onnx.helper.make_model(
        onnx.helper.make_graph(nodes, "net", [x], [z], constants),
        opset_imports=[onnx.helper.make_opsetid("", 13)],
        ir_version=8,
    ).SerializeToString()
    pictures, labels = rng.normal(size=(12, 3, 7, 5)).astype(np.float32), np.arange(12) % 4
    small = mote.quantize.post_training(proto, pictures)
    graph = frontends.load(small.data)
    assert graph.tensors[graph.inputs[0]].shape == (1, 7, 5, 3)
    found = evaluate(small.data, (pictures, labels), against=proto)
    assert found.against is not None and found.against.decibels > 20 and found.notes
    assert [layer.op for layer in found.against.layers] == ["CONV_2D", "MEAN"]
    assert not evaluate(proto, (pictures, labels)).notes


@pytest.mark.slow
@needs_litert
def test_the_published_keyword_spotter_hears_as_many_words_as_litert() -> None:
    found = evaluate(PUBLIC_MODELS / "kws_ref_model.tflite", public("keywords_mfcc.npz"))
    assert found.score.detail["correct"] == found.reference.score.detail["correct"] == 293
    assert found.reference.equal == found.score.samples == 300


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("options", [{}, {"stream": 1}])
def test_the_wake_word_is_noticed_three_times_and_nothing_else(options: dict[str, Any]) -> None:
    data = dataset(public("wakeword_10s.wav"), preprocess=WAKE_WORD)
    found = evaluate(PUBLIC_MODELS / "str_ww_ref_model.tflite", data, **options)
    detail = found.score.detail
    assert (detail["hits"], detail["misses"], detail["false_alarms"]) == (3, 0, 0)
    assert found.score == found.reference.score and found.reference.equal == found.score.samples


def pictures(step: int) -> Dataset:
    public("cifar10.zip")
    return dataset(f"{PUBLIC_DATA / 'cifar10.zip'}:test", preprocess="float").take(slice(0, None, step))


def same_pictures(step: int) -> int:
    """How many of the pictures are told apart, by the compiled model as by LiteRT."""
    found = evaluate(PUBLIC_MODELS / "pretrainedResnet_quant.tflite", pictures(step))
    assert found.score.value == found.reference.score.value
    assert found.reference.equal == found.score.samples == 2000 // step
    correct: int = found.score.detail["correct"]
    return correct


@pytest.mark.slow
@needs_litert
def test_pictures_are_told_apart_as_in_litert() -> None:
    assert same_pictures(100) > 10


@pytest.mark.slow
@needs_litert
def test_all_pictures_are_told_apart_as_in_litert() -> None:
    assert same_pictures(1) == 1529


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"metric": "top1"}, "no metric of a recording"),
        ({"event": 2}, "no class 2"),
        ({"samples": -1}, "samples"),
    ],
)
def test_what_means_nothing_for_a_recording_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(MoteError) as refused:
        evaluate(windowed_net(), recording(), **options)
    assert problem in str(refused.value)


def test_recordings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(MoteError, match="a window of the model takes 9"):
        evaluate(windowed_net(), recording(8))
    wide = replace(recording(), inputs={"frames": np.random.default_rng(0).normal(size=(24, 5))})
    with pytest.raises(MoteError, match="frames of 5 values"):
        evaluate(windowed_net(), wide)
    with pytest.raises(MoteError, match="frames of 5 values"):
        evaluate(windowed_net(), wide, stream=1)


def test_questions_without_an_answer_are_refused() -> None:
    compiled, recorded = compile(DIGITS), np.load(SAMPLES)
    with pytest.raises(MoteError, match="compiled already"):
        evaluate(compiled, SAMPLES, target="cortex-m4")
    with pytest.raises(MoteError, match="no labels"):
        evaluate(compiled, recorded["inputs"])
    with pytest.raises(MoteError, match="tells 10 classes apart"):
        evaluate(compiled, (recorded["inputs"], np.arange(16)))
    net = Net()
    other = net.finish(net.fully_connected(net.reshape(net.input(1, 8, 8, 1), 1, 64), 12))
    with pytest.raises(MoteError, match="gives 12 numbers"):
        evaluate(compiled, SAMPLES, against=other)
    with pytest.raises(MoteError, match="no metric"):
        evaluate(compiled, SAMPLES, metric="beauty")


@pytest.mark.slow
def test_code_counts_as_in_compile(tmp_path: Path) -> None:
    """Budgets hold for the code as well: in flash, and in RAM, beside which the model is planned."""
    target = emulated("cortex-m4")
    constants = mote.compile(DIGITS, target=target).project.constants
    with pytest.raises(MoteError, match=r"flash.*code"):
        evaluate(DIGITS, SAMPLES, target=target, flash=constants + 100)
    slow = tmp_path / "slow.toml"
    slow.write_text(SLOW)
    placed = mote.compile(DIGITS, target=slow, place_code="ram", optimize="speed")
    with pytest.raises(MoteError, match="0 that are there"):
        evaluate(DIGITS, SAMPLES, target=slow, place_code="ram", ram=placed.ram_code // 2)
