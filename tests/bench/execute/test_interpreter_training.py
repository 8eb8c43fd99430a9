"""An interpreter trains images with the bits that devices learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import mote
from mote import Interpreter, MoteError
from mote.compiler.emit.image.kernels import ANY
from mote.compiler.packer import pack
from mote.compiler.passes.training.backward import training_graph
from mote.compiler.passes.training.integer_backward import IntegerSgd, integer_training_graph
from mote.compiler.passes.training.labelled import label_values
from mote.compiler.passes.training.loss import Loss
from mote.compiler.passes.training.optimizers import Sgd
from mote.compiler.settings import make_settings
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import StateRole
from tests.compiler.emit.image.image_models import DIGITS
from tests.compiler.emit.image.trainer import Trainer
from tests.compiler.passes.training.test_backward import cases, constants, network
from tests.compiler.passes.training.test_integer_backward import REGRESSION

ROOT = Path(__file__).parents[3]
KEY, OTHER = b"a key of this device", b"a key of another one"
RNG = np.random.default_rng(5)
SAMPLES = [RNG.integers(-128, 128, (1, 8, 8, 1)).astype(np.int8) for _ in range(7)]


def learned(interpreter: Interpreter, images: list[Array]) -> list[Array]:
    """Images are learned, of class 0, 1 and so on: the outputs before each of them was."""
    (x,), (y,) = interpreter.get_input_details(), interpreter.get_output_details()
    outputs = []
    for label, image in enumerate(images):
        interpreter.set_tensor(x["index"], image)
        interpreter.training.learn(label)
        outputs.append(interpreter.get_tensor(y["index"]))
    return outputs


@pytest.mark.parametrize("options", [{}, {"input": "rows"}])
def test_digits_learn_what_the_reference_does(options: dict[str, Any]) -> None:
    made = pack(DIGITS, make_settings("host", train="last:rate=0.05", **options), runtime=ANY)
    interpreter, graph = Interpreter.of(made.data, made.records, "digits"), made.plan.graph
    interpreter.training.begin(0.05)
    states: dict[int, Array] = {}
    for label, (image, got) in enumerate(zip(SAMPLES, learned(interpreter, SAMPLES), strict=True)):
        right = label_values(graph, np.array([label], np.int32))
        known = graph.evaluate({**states, graph.inputs[0]: image, **right})
        states = graph.carried(known)
        np.testing.assert_array_equal(got, known[graph.outputs[0]].reshape(got.shape))
    interpreter.training.end()
    saved = interpreter.save()[16:]
    weights = [(s, at) for s, at in zip(graph.states, made.program.states, strict=True) if s.role is StateRole.LEARNED]
    assert len(weights) == 2
    for state, at in weights:
        assert saved[at.at : at.at + at.data.nbytes] == states[state.before].tobytes() != state.initial.tobytes()


def test_records_hold_what_was_learned() -> None:
    """After a reset the record gives it back; to other keys and models it says nothing."""
    interpreter, other = Interpreter(DIGITS, train="last"), Interpreter(DIGITS, train="last:seed=3")
    before = learned(interpreter, SAMPLES[:1])
    interpreter.reset_all_variables()
    interpreter.training.begin(0.2)
    learned(interpreter, SAMPLES)
    record, after = interpreter.training.export_weights(KEY), learned(interpreter, SAMPLES[:1])
    assert len(record) == 396 and after[0].tobytes() != before[0].tobytes()
    interpreter.reset_all_variables()
    assert learned(interpreter, SAMPLES[:1])[0].tobytes() == before[0].tobytes()
    for refuses, given, key in ((interpreter, record, OTHER), (interpreter, record[:-1], KEY), (other, record, KEY)):
        with pytest.raises(MoteError, match="damaged, of another image, or was made with another key") as caught:
            refuses.training.import_weights(given, key)
        assert "export_weights" in caught.value.remedy
    interpreter.training.import_weights(record, KEY)
    assert learned(interpreter, SAMPLES[:1])[0].tobytes() == after[0].tobytes()


def test_keys_and_records_are_all_that_holds_bytes() -> None:
    training = Interpreter(DIGITS, train="last").training
    record = training.export_weights(KEY)
    for kind in (bytearray, memoryview, lambda given: np.frombuffer(given, np.uint8)):
        assert training.export_weights(kind(KEY)) == record
        training.import_weights(kind(record), kind(KEY))
    text = KEY.decode()
    for refused, reason in (
        (lambda: training.export_weights(text), "the key is str"),
        (lambda: training.export_weights(None), "the key is None"),
        (lambda: training.import_weights(record, text), "the key is str"),
        (lambda: training.import_weights(record.hex(), KEY), "the record is str"),
        (lambda: training.import_weights(list(record), KEY), "the record is list"),
    ):
        with pytest.raises(MoteError, match=reason) as caught:
            refused()
        assert "bytes" in caught.value.remedy


def test_learners_count_samples() -> None:
    interpreter = Interpreter(DIGITS, train="prototype:classes=4")
    assert interpreter.training.loss is None
    learned(interpreter, SAMPLES[:3])
    learned(interpreter, SAMPLES[:3])
    assert interpreter.training.learned_samples == 2


def trained(graph: Graph) -> Interpreter:
    return Trainer.of(graph).interpreter


def test_positions_with_labels_of_their_own() -> None:
    """A float32 model of three positions: its loss, and a rate that is too high."""
    model = network()
    interpreter = trained(training_graph(model, constants(model), Loss.SOFTMAX_CROSS_ENTROPY, Sgd(learning_rate=0.02)))
    training, ((x, right),) = interpreter.training, cases(model, True, 1)
    assert training.learned_samples is None
    for details, t in zip(interpreter.get_input_details(), model.inputs, strict=True):
        interpreter.set_tensor(details["index"], x[t])
    training.begin(0.02)
    training.learn(right)
    loss = training.loss
    training.learn(right)
    assert loss is not None and 0 < (training.loss or 0) < loss
    for wrong, reason in (
        (1, "the classes of 3 positions"),
        ([0, 9, -1], "label 9"),
        ([-1, -1, -1], "no position has a class"),
    ):
        with pytest.raises(MoteError, match=reason) as caught:
            training.learn(wrong)
        assert caught.value.remedy
    training.begin(1e30)
    for _ in range(3):
        training.learn(right)
    for refused in (training.end, lambda: training.export_weights(KEY)):
        with pytest.raises(MoteError, match="infinite or no number") as caught:
            refused()
        assert "a lower learning rate" in caught.value.remedy


def test_targets_are_as_the_first_output() -> None:
    """The second output shows what was learned of the first target."""
    model = REGRESSION.model()
    given = REGRESSION.samples(model, 2)
    every = {i for op in model.ops for i in op.inputs[1:]}
    graph = integer_training_graph(model, every, REGRESSION.loss, IntegerSgd(0.5), given)
    interpreter, states = trained(graph), dict[int, Array]()
    (x,), shape = interpreter.get_input_details(), graph.tensors[graph.outputs[0]].shape
    for values, right in zip(given.inputs, given.labels, strict=True):
        interpreter.set_tensor(x["index"], values[model.inputs[0]])
        interpreter.training.learn(right.reshape(shape))
        known = graph.evaluate({**states, **values, **label_values(graph, right)})
        states = graph.carried(known)
        np.testing.assert_array_equal(interpreter.get_tensor(1), known[graph.outputs[0]])
    assert (interpreter.get_tensor(1) != graph.evaluate(values)[graph.outputs[0]]).any()
    target = right.reshape(shape)
    for wrong in (3, target.astype(np.float32), target.astype(np.int64), target[..., :-1]):
        with pytest.raises(MoteError, match=r"the target is .*, the model learns from int8") as caught:
            interpreter.training.learn(wrong)
        assert "quantized" in caught.value.remedy


def test_targets_of_floats() -> None:
    """Lists of floats, which are float64, are learned as the same numbers in float32."""
    model = network()
    graph = training_graph(model, constants(model), Loss.MEAN_SQUARED_ERROR, Sgd(learning_rate=0.02))
    interpreter, ((x, right),) = trained(graph), cases(model, False, 1)
    for details, t in zip(interpreter.get_input_details(), model.inputs, strict=True):
        interpreter.set_tensor(details["index"], x[t])
    learned_of = []
    for target in (right, right.astype(np.float64), right.tolist()):
        interpreter.reset_all_variables()
        interpreter.training.learn(target)
        learned_of.append(interpreter.save())
    assert learned_of == [learned_of[0]] * 3
    for wrong in (3.0, right.astype(np.int32), right[0]):
        with pytest.raises(MoteError, match=r"the target is .*, the model learns from float32") as caught:
            interpreter.training.learn(wrong)
        assert "in floats" in caught.value.remedy


def pointwise(tmp_path: Path) -> Interpreter:
    """A convolution of an ONNX file, whose channels come first, that learns to give targets."""
    onnx = pytest.importorskip("onnx")
    rng = np.random.default_rng(3)
    weights = onnx.numpy_helper.from_array(rng.normal(size=(3, 3, 1, 1)).astype(np.float32), "w")
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (1, 3, 3, 3)) for name in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Conv", ["x", "w"], ["y"])], "pointwise", [x], [y], [weights])
    opset = onnx.helper.make_opsetid("", 13)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8), tmp_path / "pointwise.onnx")
    interpreter = Interpreter(tmp_path / "pointwise.onnx", train="last:loss=mean_squared_error,rate=0.1")
    interpreter.set_tensor(0, rng.normal(size=(1, 3, 3, 3)).astype(np.float32))
    return interpreter


def test_targets_are_as_the_model_has_its_output(tmp_path: Path) -> None:
    """The image has channels last, and as many of them as rows and columns: the loss is that of the output as it is
    read."""
    interpreter = pointwise(tmp_path)
    interpreter.invoke()
    target = interpreter.get_tensor(1)
    target[0, 0] += 1
    target[0, 1, 2] -= 3
    interpreter.training.learn(target)
    assert interpreter.training.loss == pytest.approx(np.square(target - interpreter.get_tensor(1)).mean())


def test_another_shape_begins_another_training(tmp_path: Path) -> None:
    """The memory of the one before is gone with the image that it was for."""
    interpreter = pointwise(tmp_path)
    before = interpreter.training
    interpreter.resize_tensor_input(0, (1, 3, 4, 5))
    interpreter.allocate_tensors()
    target = np.ones((1, 3, 4, 5), np.float32)
    calls = (lambda: before.begin(0.1), lambda: before.learn(target[..., :3, :3]), before.end, lambda: before.loss)
    for call in (*calls, lambda: before.export_weights(KEY)):
        with pytest.raises(MoteError, match="was compiled for another shape") as caught:
            call()
        assert "training" in caught.value.remedy
    interpreter.training.learn(target)
    assert interpreter.training.loss == 1


def test_calls_that_are_refused() -> None:
    with pytest.raises(MoteError, match="the image does not learn") as caught:
        assert Interpreter(DIGITS).training
    assert "--train" in caught.value.remedy
    training = mote.Interpreter(DIGITS, train="last").training
    for rate in (0.0, float("nan"), 1e300, 10**400, "x", None, [0.1]):
        with pytest.raises(MoteError, match="is no number above 0, or too large") as caught:
            training.begin(rate)
        assert "0.01" in caught.value.remedy
    for label, reason in (
        *((10, "label 10 is no class"), (-1, "label -1"), (0.5, "float64"), ([1, 2], "one class")),
        *((None, "object"), ("3", "<U1"), (2**70, "object"), ([[1], [2, 3]], "NumPy makes no array")),
    ):
        with pytest.raises(MoteError, match=reason) as caught:
            training.learn(label)
        assert caught.value.remedy


def test_a_sample_that_was_refused_is_not_learned_later() -> None:
    """An input of another shape that the model was not compiled for, and an inference that has begun."""
    interpreter = mote.Interpreter(DIGITS, train="last")
    (x,) = interpreter.get_input_details()
    before = interpreter.save()
    interpreter.resize_tensor_input(x["index"], (2, 8, 8, 1))
    with pytest.raises(MoteError, match="was given another shape"):
        interpreter.training.learn(3)
    interpreter.resize_tensor_input(x["index"], x["shape"])
    assert interpreter.save() == before
    interpreter.step()
    with pytest.raises(MoteError, match="an inference has begun") as caught:
        interpreter.training.learn(3)
    assert "step()" in caught.value.remedy
    interpreter.invoke()
    assert interpreter.save() == before


def test_the_docs_example_learns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """More faded pictures are right after it: about as many as `mote.evaluate` counts, which rounds ties otherwise."""
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "improve" / "on-device-training.md").read_text(encoding="utf-8")
    code = page.split("```python\n")[2].split("```")[0]
    train, test = (np.load(f"models/digits_{part}.npz") for part in ("train", "test"))
    names: dict[str, Any] = {"mote": mote, "np": np, "faded": lambda x: x * 2 / 3 + 1 / 6, "train": train}
    exec(code, names)
    assert f"# {capsys.readouterr().out.strip()}\n" in code
    faded, interpreter = names["faded"], names["interpreter"]
    found = mote.evaluate(
        DIGITS, (faded(test["x"]), test["y"]), train="last:rate=0.02", train_data=(faded(train["x"]), train["y"])
    ).learning
    assert found is not None and found.test.before is not None
    right = [answer(interpreter, faded(x)) == label for x, label in zip(test["x"], test["y"], strict=True)]
    assert (
        np.mean(right) == pytest.approx(found.test.after.value, abs=0.02)
        and np.mean(right) > found.test.before.value + 0.2
    )


def answer(interpreter: Interpreter, picture: Array) -> int:
    (x,), (y,) = interpreter.get_input_details(), interpreter.get_output_details()
    scale, zero_point = x["quantization"]
    codes = np.rint(picture / scale + zero_point).clip(-128, 127).astype(np.int8)
    interpreter.set_tensor(x["index"], codes.reshape(x["shape"]))
    interpreter.invoke()
    return int(interpreter.get_tensor(y["index"]).argmax())
