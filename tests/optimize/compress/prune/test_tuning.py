"""Fine-tuning of what was pruned: it learns from the unpruned model, however large inputs are, and zeros stay."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import mote
from mote.compiler.passes.normal_form import normal
from mote.frontends import tflite
from mote.frontends.data.dataset import dataset
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.optimize.compress.prune.groups import groups, without
from mote.optimize.compress.prune.importance import distances
from mote.optimize.compress.prune.layers import float_layers, matrix, with_matrices
from mote.optimize.train.augment import augmentation
from mote.optimize.train.tuning import Tuning, fine_tuned, tuned_teacher
from tests.helpers import float_nets
from tests.helpers.network import Net

LARGER = 50.0
"""Times as large are the same inputs in other units."""


def small() -> Graph:
    net = Net(0, "float32")
    hidden = net.op("RELU", [net.fully_connected(net.input(1, 6), 16)])
    return normal(tflite.parse(net.finish(net.fully_connected(hidden, 3)), "net"))


def test_the_unpruned_model_is_a_teacher_and_units_make_no_difference() -> None:
    teacher = small()
    pruned = without(teacher, groups(teacher), groups(teacher).families[0][:4])
    x = np.random.default_rng(0).normal(size=(256, 6)).astype(np.float32)
    found = [_distance(_in_units(teacher, n), _in_units(pruned, n), x * np.float32(n)) for n in (1.0, LARGER)]
    before = distances(teacher, pruned, [{teacher.inputs[0]: row[None]} for row in x])
    assert max(found) < 0.3 * before
    assert found[0] == pytest.approx(found[1], rel=0.1)


def _in_units(graph: Graph, factor: float) -> Graph:
    """The same for inputs that are so many times as large."""
    first = float_layers(graph)[0]
    weights = matrix(graph, first).weights
    weights[:, :-1] /= factor
    return with_matrices(graph, {first.outputs[0]: weights})


def _distance(teacher: Graph, pruned: Graph, x: Array) -> float:
    tuned = fine_tuned(pruned, teacher, dataset(x), {}, Tuning(12, device="cpu"))
    return distances(teacher, tuned, [{teacher.inputs[0]: row[None]} for row in x])


def test_weights_that_were_dropped_stay_zero() -> None:
    graph = float_nets.graph(("conv", "pointwise"))
    layer = float_layers(graph)[0]
    own = matrix(graph, layer).weights
    mask = np.random.default_rng(0).random(own.shape) < 0.5
    dropped = with_matrices(graph, {layer.outputs[0]: own * mask})
    x = np.random.default_rng(1).normal(size=(32, 8, 7, 4)).astype(np.float32)
    tuned = fine_tuned(dropped, graph, dataset(x), {layer.outputs[0]: mask}, Tuning(1, device="cpu"))
    after = matrix(tuned, float_layers(tuned)[0]).weights
    assert (after[:, :-1][~mask[:, :-1]] == 0).all()
    assert not np.array_equal(after, own * mask)


@pytest.mark.slow
def test_modules_of_pytorch_are_pruned_and_trained() -> None:
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(3, 16, 3), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.Conv2d(16, 16, 3)]
    module = torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(16, 4))
    x = np.random.default_rng(0).normal(size=(32, 3, 8, 8)).astype(np.float32)
    labels = module.eval()(torch.from_numpy(x)).argmax(1).numpy()
    example = (torch.zeros(1, 3, 8, 8),)
    found = mote.prune(module, (x, labels), macs="50%", example_inputs=example, fine_tune=2, test=(x, labels))
    assert found.after.macs <= found.before.macs / 2 and found.after.accuracy is not None
    assert found.after.accuracy > 0.8
    assert found.after.noise != found.before.noise


def test_a_teacher_learns_labels_before_it_teaches() -> None:
    teacher, rng = small(), np.random.default_rng(0)
    x = rng.normal(size=(128, 6)).astype(np.float32)
    labels = (x[:, 0] > 0).astype(np.int64) + (x[:, 1] > 0)
    tuning = Tuning(40, device="cpu")
    assert tuned_teacher(teacher, dataset(x), tuning) is teacher
    learned = tuned_teacher(teacher, dataset((x, labels)), tuning)
    right = [np.mean(_answers(graph, x) == labels) for graph in (teacher, learned)]
    assert right[1] > right[0] + 0.2


def _answers(graph: Graph, x: Array) -> Array:
    values = [graph.evaluate({graph.inputs[0]: row[None]})[graph.outputs[0]] for row in x]
    return np.concatenate(values).argmax(-1)


def test_pictures_are_flipped_and_shifted_within_bounds() -> None:
    graph = float_nets.graph(("conv", "pointwise"))
    _, height, width, channels = graph.tensors[graph.inputs[0]].shape
    x = torch.arange(16 * height * width * channels, dtype=torch.float32).reshape(16, height, width, channels)
    flip = augmentation("flip", graph)
    assert flip is not None
    (mirrored,) = flip([x])
    same = [torch.equal(a, b) for a, b in zip(x, mirrored, strict=True)]
    turned = [torch.equal(a.flip(1), b) for a, b in zip(x, mirrored, strict=True)]
    assert all(a != b for a, b in zip(same, turned, strict=True)) and 2 < sum(turned) < 14
    shift = augmentation("shift=2", graph)
    assert shift is not None
    (moved,) = shift([x])
    middles = moved[:, 2:-2, 2:-2]
    found = {
        (down, right)
        for one, own in zip(middles, x, strict=True)
        for down in range(5)
        for right in range(5)
        if torch.equal(one, own[down : down + height - 4, right : right + width - 4])
    }
    assert len(found) > 5
    again = augmentation("shift=2", graph)
    assert again is not None and torch.equal(again([x])[0], moved)


@pytest.mark.parametrize(("steps", "said"), [("turn", "'turn' is unknown"), ("shift=0", "'shift=0' is unknown")])
def test_augmentations_that_do_not_exist(steps: str, said: str) -> None:
    with pytest.raises(mote.MoteError, match=said):
        augmentation(steps, float_nets.graph(("conv", "pointwise")))


def test_only_pictures_are_augmented_and_only_where_something_learns() -> None:
    with pytest.raises(mote.MoteError, match="takes 1x6"):
        augmentation("flip", small())
    with pytest.raises(mote.MoteError, match="is for fine-tuning"):
        mote.prune("model.tflite", np.zeros((2, 1)), macs="50%", augment="flip")
