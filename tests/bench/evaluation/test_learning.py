"""The gain of training: a model is scored, learns as a device does, and is scored again."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote import frontends
from mote.base.errors import MoteError
from mote.bench.evaluation.evaluator import evaluate
from mote.bench.evaluation.learning.learned import DIVERGED, SORTED, numbered_as
from mote.bench.evaluation.learning.program import NumpyRun
from mote.compiler.passes.training.labelled import label_values, loss_of
from mote.compiler.passes.training.spec import parsed
from mote.compiler.training.with_training import with_training
from mote.frontends.data.dataset_type import Dataset
from mote.ir.graph.tensor import Array
from tests.helpers.network import Net
from tests.helpers.support import emulated

ROOT = Path(__file__).parents[3]
CURVE = 1e-4
"""How far losses may be from those of the reference, relative to the largest: rounding adds up in 60 steps."""


@cache
def model() -> bytes:
    """A convolution and a classifier of three classes."""
    net = Net(8, "float32")
    x = net.conv(net.input(1, 6, 5, 2), 4, 3, fused_activation_function="RELU")
    x = net.fully_connected(net.mean(x), 3)
    return net.finish(net.op("SOFTMAX", [x], beta=1.0))


def samples(count: int, seed: int) -> tuple[Array, Array]:
    """Samples with the classes that the model gives them."""
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=(count, 6, 5, 2)) + 4 * rng.normal(size=(count, 1, 1, 2))).astype(np.float32)
    graph = frontends.load(model())
    answers = [graph.evaluate({graph.inputs[0]: one[None]})[graph.outputs[0]] for one in x]
    return x, np.array([answer.argmax() for answer in answers])


def taught(count: int = 30) -> tuple[Array, Array]:
    """The same samples with the classes in another order: what the model knows is wrong from now on."""
    x, labels = samples(count, 1)
    return x, (labels + 1) % 3


def learn(train: str = "last:rate=0.3", **options: Any) -> mote.Evaluation:
    given = {"data": taught(20), "train_data": taught()} | options
    return evaluate(model(), given.pop("data"), train=train, **given)


def losses(train: str, data: tuple[Array, Array], orders: list[Array]) -> list[float]:
    """The losses of the reference, by steps of samples in this order."""
    graph = with_training(frontends.load(model()), parsed(train), None)
    loss, states, made = loss_of(graph), dict[int, Array](), list[float]()
    assert loss is not None
    for i in np.concatenate(orders):
        right = label_values(graph, np.array([data[1][i]], np.int32))
        values = graph.evaluate({graph.inputs[0]: data[0][i][None], **states, **right})
        states = graph.carried(values)
        made.append(float(states[loss.before][0]))
    return made


def test_the_curve_is_that_of_the_reference() -> None:
    """In C with the loss after the model's outputs, in NumPy with the states of the graph of training."""
    found, order = learn(), np.arange(30)
    learning = found.learning
    assert learning is not None and found.passed and (learning.checked, learning.equal, learning.finite) == (8, 8, True)
    assert (learning.samples, learning.steps, learning.epochs, learning.every) == (30, 30, None, 1)
    assert learning.weights == 4 * (3 * 4 + 3) and sum(learning.trained) == 30
    want = losses("last:rate=0.3", taught(), [order])
    np.testing.assert_allclose(learning.losses, want, rtol=0, atol=CURVE * max(want))
    assert found.reference.equal == found.score.samples == 20 and found.reference.score.value == found.score.value


def test_what_is_computed_again_changes_nothing() -> None:
    whole, again = (learn(f"0,last:rate=0.3{more}").learning for more in ("", ",recompute=2"))
    assert whole is not None and again is not None and again.passed and again.losses == whole.losses
    assert "recompute=2" in again.train


def test_each_sample_is_asked_before_it_is_learned() -> None:
    """So the score of a stream is worse than that of the same samples in the end."""
    learning = learn(data=taught()).learning
    assert learning is not None and learning.test.before is not None
    (online,) = learning.online
    assert learning.test.before.value == 0 < online < learning.test.after.value


def test_epochs_are_shuffled() -> None:
    found = learn(epochs=2, seed=5)
    learning = found.learning
    assert learning is not None and len(learning.online) == 2 and learning.online[0] < learning.online[1]
    assert (learning.steps, learning.epochs, learning.seed) == (60, 2, 5)
    rng = np.random.default_rng(5)
    want = losses("last:rate=0.3", taught(), [rng.permutation(30) for _ in range(2)])
    np.testing.assert_allclose(learning.losses, want, rtol=0, atol=CURVE * max(want))
    assert found.passed and want[:30] != losses("last:rate=0.3", taught(), [np.arange(30)])


def test_long_curves_have_means() -> None:
    learning = learn(epochs=4).learning
    assert learning is not None and (learning.every, len(learning.losses)) == (2, 60)


def test_what_was_known_is_forgotten() -> None:
    """The new classes contradict the old ones, so that who learns them has to forget."""
    found = learn(epochs=20, keep=samples(20, 1))
    learning = found.learning
    assert learning is not None and learning.kept is not None
    kept, gained = learning.kept, learning.test.gained
    assert kept.before is not None and kept.before.value == 1.0
    assert kept.gained == kept.after.value - 1 < -0.5 and gained is not None and gained > 0.5


def test_learners_know_no_class_before() -> None:
    found = learn("logistic:classes=4,rate=0.5", epochs=5)
    learning = found.learning
    assert learning is not None and learning.test.before is None and learning.test.gained is None
    assert learning.losses == [] and len(learning.trained) == 4 and learning.trained[3] == 0
    assert found.passed and found.score.value > 0.6


def test_learners_may_keep_what_scores_do_not_read() -> None:
    """The inverse covariance is for the update alone."""
    found = learn("ridge:classes=4,ridge=0.1")
    assert found.passed and found.score.value > 0.6


def test_budgets_choose_before_training() -> None:
    """Samples come without the preprocessing of the device, and so does the graph that is planned for the budgets."""
    learning = learn("auto:FLASH=40,rate=0.3").learning
    assert learning is not None and not learning.train.startswith("auto") and learning.passed
    assert 0 < learning.weights <= 40 and "rate=0.3" in learning.train


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_numbers_are_learned(dtype: str) -> None:
    net, quant = Net(1, dtype), (None, 0) if dtype == "float32" else (0.03, 2)
    data = net.finish(net.fully_connected(net.input(1, 6, quant=quant), 2, quant=quant))
    x = np.random.default_rng(2).normal(size=(30, 6)).astype(np.float32)
    wanted = (x[:, :2] / 2 + 1).astype(np.float32)
    found = evaluate(
        data, (x, wanted), train="last:rate=0.1,loss=mean_squared_error", train_data=(x, wanted), epochs=10
    )
    assert found.learning is not None and found.score.metric == "rmse" and found.passed
    gained, was = found.learning.test.gained, found.learning.test.before
    assert (
        was is not None
        and gained is not None
        and gained == pytest.approx(was.value - found.score.value)
        and gained > 0.5 * was.value
    )
    assert found.learning.trained == []


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_not_finite_is_told() -> None:
    found = learn("last:rate=1e38", epochs=3)
    learning = found.learning
    assert learning is not None and not learning.finite and not found.passed and DIVERGED in found.notes
    told = found.json()
    assert (told["value"], told["learning"]["finite"], told["learning"]["passed"]) == ("nan", False, False)


def test_a_reference_that_disagrees_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    infer = NumpyRun.infer

    def other(*arguments: Any) -> list[Array]:
        outputs = infer(*arguments)
        return [*outputs[:-1], outputs[-1] + (np.arange(len(outputs[-1])) == 3).reshape(-1, 1)]

    monkeypatch.setattr(NumpyRun, "infer", other)
    found = learn()
    assert found.learning is not None and found.learning.equal == 7 and not found.passed


def test_steps_run_on_the_emulated_core() -> None:
    found = learn(target=emulated("cortex-m4"), samples=3)
    core = found.core
    assert core is not None and core.passed and core.samples == core.equal == 3 and (core.instructions or 0) > 1000


def test_json_and_a_page_of_it() -> None:
    found = learn(keep=samples(20, 2))
    told = found.json()["learning"]
    assert told.keys() >= {"train", "losses", "online", "test", "kept", "finite", "checked", "equal"}
    assert told["test"].keys() == {"data", "before", "after", "gained"} and told["passed"] is True
    assert "before training" in found._repr_html_() and found.json()["value"] == told["test"]["after"]["value"]
    assert evaluate(model(), samples(5, 1)).json()["learning"] is None


def test_samples_that_come_class_by_class() -> None:
    x, labels = taught()
    order = np.argsort(labels, kind="stable")
    assert SORTED in learn(train_data=(x[order], labels[order])).notes
    assert SORTED not in learn(train_data=(x[order], labels[order]), epochs=1).notes


def test_classes_have_the_numbers_of_the_tested_ones() -> None:
    test = Dataset("test", {"x": np.zeros((3, 2))}, np.arange(3), classes=("no", "off", "yes"))
    data = Dataset("mine", {"x": np.zeros((4, 2))}, np.array([0, 1, 1, 0]), classes=("yes", "no"))
    numbered = numbered_as(test, data)
    assert numbered.labels is not None and numbered.labels.tolist() == [2, 0, 0, 2]
    assert numbered_as(test, replace(data, classes=())).labels is data.labels
    with pytest.raises(MoteError, match="has the class 'on', which test has not"):
        numbered_as(test, replace(data, classes=("on", "no")))


def test_the_docs_tell_what_is_forgotten(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """And less is, where the old samples are learned with the new ones."""
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "improve" / "on-device-training.md").read_text(encoding="utf-8")
    code = page.split("```python\n")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(code, names)
    printed = capsys.readouterr().out.strip()
    assert code.strip().endswith(f"# {printed}")
    train, test, faded = (names[name] for name in ("train", "test", "faded"))
    both = np.concatenate([faded(train["x"]), train["x"]]), np.tile(train["y"], 2)
    given = {"train": "last:rate=0.02", "train_data": both, "epochs": 5, "keep": (test["x"], test["y"])}
    found = evaluate("models/digits.tflite", (faded(test["x"]), test["y"]), **given).learning
    assert found is not None and found.kept is not None and found.kept.gained is not None
    assert names["found"].learning.kept.gained < found.kept.gained


def test_errors() -> None:
    x, labels = taught()
    for options, said in (
        ({"keep": taught()}, "option keep: is for models that learn"),
        ({"epochs": 2}, "option epochs: is for models that learn"),
        ({"train": "last"}, "option train: has nothing to learn"),
        ({"train": "last", "train_data": x}, "option train_data: has no labels"),
        ({"train": "last", "train_data": (x, labels + 7)}, "the model tells 3 classes apart"),
        ({"train": "last", "train_data": taught(), "epochs": 0}, "option epochs: 0 is not"),
        ({"train": "last", "train_data": taught(), "against": model()}, "option against: is for models that do not"),
    ):
        with pytest.raises(MoteError) as error:
            evaluate(model(), samples(5, 1), **options)
        assert said in str(error.value), str(error.value)
