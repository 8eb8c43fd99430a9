"""The family around a model: candidates are priced without training, score after a little, and finish as files."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from mote.base.errors import MoteError
from mote.bench.execute.batch import evaluate
from mote.compiler.settings import make_settings
from mote.frontends import load
from mote.frontends.data.dataset import dataset
from mote.optimize.nas.around.family import FLOAT, AroundFamily, confidence
from mote.optimize.nas.around.given import given_model
from mote.optimize.nas.around.neighbourhood import Neighbourhood
from mote.optimize.nas.around.pricing import GraphPricing
from mote.optimize.nas.costs.network_costs import CostLimits, DoesNotFit, NetworkCosts
from mote.optimize.nas.family import MODEL, ModelFamily
from mote.optimize.nas.tasks import LearningTask, split

torch = pytest.importorskip("torch")
MODELS = Path(__file__).parents[4] / "models"


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def family(model: str = "digits_float.tflite") -> AroundFamily:
    given = given_model(MODELS / model)
    data = given.in_graph_layout(dataset(MODELS / "digits_train.npz"))
    train, held = split(data, True, 0)
    settings = make_settings("cortex-m4")
    task = LearningTask("image", (8, 8, 1), 10, True, train, held)
    return AroundFamily.of(given, task, settings, GraphPricing(settings, CostLimits()))


@pytest.fixture(scope="module")
def digits() -> AroundFamily:
    return family()


def test_it_is_a_family_that_workers_can_have(digits: AroundFamily) -> None:
    protocol: ModelFamily = digits
    again = pickle.loads(pickle.dumps(protocol))
    assert again.key == digits.key != family("digits.onnx").key
    assert again.random(Random(3)) == digits.random(Random(3))


def test_it_begins_with_the_model_and_pruned_ones(digits: AroundFamily) -> None:
    first = digits.first()
    assert first[0] == {} and len(first) == 9
    costs = [digits.costs(first[0]), digits.costs(first[-1])]
    assert all(isinstance(some, NetworkCosts) for some in costs)
    cycles = [some.cycles for some in costs if isinstance(some, NetworkCosts)]
    assert cycles[-1] < 0.5 * cycles[0]
    tight = replace(digits, pricing=replace(digits.pricing, limits=CostLimits(ram=800)))
    assert isinstance(tight.costs({}), DoesNotFit) and tight.costs(first[-1]) == costs[-1]
    assert tight.key != digits.key


def test_the_model_as_given_is_quantized_and_nothing_else(digits: AroundFamily) -> None:
    made = digits.finish({}, 3)
    assert made.validation == digits.task.accuracy(made.files[MODEL], digits.task.validation) > 0.95
    weights = {t.name: t.data for t in load(made.files[FLOAT]).tensors.values() if t.data is not None}
    for t in digits.neighbourhood.graph.tensors.values():
        if t.data is not None and t.data.ndim == 4:
            assert np.array_equal(weights[t.name], t.data)


def test_a_candidate_is_scored_and_finished(digits: AroundFamily) -> None:
    choice = {**digits.first()[3], "2_conv_2d.precision": "int4", "6_fully_connected.precision": "int16"}
    costs, given = digits.costs(choice), digits.costs({})
    assert isinstance(costs, NetworkCosts) and isinstance(given, NetworkCosts)
    assert costs.ram < given.ram and costs.cycles < given.cycles
    score = digits.score(choice, 0)
    assert 0.9 < score < 1 and digits.score({}, 0) > score
    made = digits.finish(choice, 3)
    assert made.validation == digits.task.accuracy(made.files[MODEL], digits.task.validation) > 0.9
    assert "a layer of int4" in digits.described(choice)
    priced = digits.pricing.costs(load(made.files[MODEL]))
    assert isinstance(priced, NetworkCosts)
    assert (priced.ram, priced.cycles) == (costs.ram, costs.cycles)
    assert abs(priced.flash - costs.flash) < 0.03 * costs.flash


def test_surer_networks_score_more_by_less_than_a_sample() -> None:
    labels = np.array([0, 1])
    sure, unsure = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.6, 0.4], [0.4, 0.6]])
    assert confidence(sure, labels) == pytest.approx(0.85)
    assert confidence(unsure, labels) == pytest.approx(0.6)
    assert confidence(np.log(sure), labels) == pytest.approx(0.85), "logits"
    assert confidence(np.array([[0.1], [0.8]]), labels) == pytest.approx(0.85), "one score for class 1"


def test_channels_of_onnx_are_first_in_the_data_and_last_in_the_files() -> None:
    given = given_model(MODELS / "digits.onnx")
    first = dataset(MODELS / "digits_train.npz")
    (images,) = first.inputs.values()
    arranged = given.in_graph_layout(dataset((np.moveaxis(images, 3, 1), first.labels)))
    assert all(x.shape == (300, 8, 8, 1) for x in arranged.inputs.values())
    (cases,) = {case[given.graph.inputs[0]].shape for case in arranged.cases(given.graph)}
    assert cases == (1, 8, 8, 1)


def test_modules_of_pytorch_are_models() -> None:
    torch.manual_seed(0)
    layers = [
        torch.nn.Conv2d(3, 8, 5, padding=2),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 8, 3, padding=1),
        torch.nn.ReLU(),
    ]
    head = [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 4)]
    module = torch.nn.Sequential(*layers, *head).eval()
    images = np.random.default_rng(0).normal(size=(20, 3, 6, 6)).astype(np.float32)
    given = given_model(module, example_inputs=torch.zeros(1, 3, 6, 6))
    data = given.in_graph_layout(dataset((images, np.arange(20) % 4)))
    task = given.task(dataset((images, np.arange(20) % 4)), None, 0)
    assert (task.kind, task.input, task.outputs, task.classes) == ("image", (6, 6, 3), 4, True)
    kinds = [
        decision.kind for decision in Neighbourhood.of(given.graph, data.cases(given.graph), {}).decisions.values()
    ]
    assert {"width", "depth", "kernel", "precision"} <= set(kinds)
    wanted = module(torch.from_numpy(images)).detach().numpy()
    (got,) = [
        np.concatenate(list(values.values()))
        for values in evaluate(given.graph, data.cases(given.graph), given.graph.outputs)
    ]
    assert np.allclose(got.reshape(wanted.shape), wanted, atol=1e-4)


def test_a_quantized_model_is_refused() -> None:
    with pytest.raises(MoteError, match="quantized already"):
        given_model(MODELS / "digits.tflite")
