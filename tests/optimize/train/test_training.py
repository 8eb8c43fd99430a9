"""The training loop learns from labels and from a teacher, and says what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from mote.base.errors import MoteError
from mote.bench.execute.torch.module import GraphModule
from mote.frontends import tflite
from mote.ir.graph import Graph
from mote.optimize.train.training import Recipe, train
from tests.helpers.digits import Digits, accuracy, digits
from tests.helpers.network import Net

QUICK = Recipe(epochs=4, batch=50, rate=0.01)


def untrained(classes: int = 10) -> Graph:
    net = Net(0, "float32")
    x = net.conv(net.input(1, 8, 8, 1), 8, stride=2, fused_activation_function="RELU")
    x = net.fully_connected(net.flat(x), classes)
    return tflite.parse(net.finish(net.op("SOFTMAX", [x], beta=1.0) if classes > 1 else x), "digits")


def test_classes_are_learned_from_labels() -> None:
    learned, tested = digits()
    module, losses = GraphModule(untrained()), []
    assert accuracy(module, tested) < 0.4
    train(module, learned, QUICK, progress=lambda epoch, epochs, loss: losses.append((epoch, epochs, loss)))
    assert accuracy(module, tested) > 0.85
    assert [(epoch, epochs) for epoch, epochs, _ in losses] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert losses[-1][2] < losses[0][2] / 2
    assert not module.training


def test_a_pupil_learns_from_a_teacher_without_labels() -> None:
    learned, tested = digits()
    teacher, pupil = GraphModule(untrained()), GraphModule(untrained())
    train(teacher, learned, QUICK)
    train(pupil, learned.without_labels(), QUICK, teacher=teacher)
    assert accuracy(pupil, tested) > 0.85


def test_numbers_are_learned() -> None:
    learned, _ = digits()
    sides = learned.images[:, :, :4].sum(axis=(1, 2)) - learned.images[:, :, 4:].sum(axis=(1, 2))
    leaning = Digits(learned.images, (sides / sides.std()).astype(np.float64))
    module = GraphModule(untrained(1))
    train(module, leaning, Recipe(epochs=6, batch=50, rate=0.01))
    with torch.no_grad():
        found = module(torch.from_numpy(leaning.images)).numpy()
    assert np.sqrt(np.square(found - leaning.labels).mean()) < 0.3


def test_one_score_tells_two_classes_apart() -> None:
    learned, _ = digits()
    zeros = Digits(learned.images, (learned.labels == 0).astype(np.int64))
    module = GraphModule(untrained(1))
    train(module, zeros, Recipe(epochs=6, batch=50, rate=0.02))
    with torch.no_grad():
        found = module(torch.from_numpy(zeros.images)).numpy()[:, 0] > 0
    assert (found == zeros.labels).mean() > 0.97


def test_the_same_seed_gives_the_same() -> None:
    learned, _ = digits()
    few = Digits(learned.images[:200], learned.labels[:200])
    results = []
    for seed in (0, 0, 1):
        module = GraphModule(untrained())
        train(module, few, Recipe(epochs=1, optimizer="sgd", seed=seed))
        results.append(torch.cat([p.detach().reshape(-1) for p in module.parameters()]))
    assert torch.equal(results[0], results[1]) and not torch.equal(results[0], results[2])


def test_inputs_can_be_changed_while_learning() -> None:
    learned, _ = digits()
    seen = []
    module = GraphModule(untrained())

    def shifted(inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        seen.append(len(inputs[0]))
        return [torch.roll(x, 1, 2) for x in inputs]

    train(module, Digits(learned.images[:120], learned.labels[:120]), Recipe(epochs=1, batch=50), augment=shifted)
    assert seen == [50, 50, 20]
    seen.clear()
    train(module, Digits(learned.images[:41], learned.labels[:41]), Recipe(epochs=1, batch=20), augment=shifted)
    assert seen == [20, 21], "a single sample is no batch"


def test_mistakes_are_named() -> None:
    learned, _ = digits()
    module = GraphModule(untrained())
    with pytest.raises(MoteError, match=r"needs labels, or a teacher(.|\n)*teacher="):
        train(module, learned.without_labels())
    with pytest.raises(MoteError, match="'newton' is no optimizer"):
        train(module, learned, Recipe(optimizer="newton"))
    with pytest.raises(MoteError, match="option epochs: 0 is not above zero"):
        train(module, learned, Recipe(epochs=0))
    with pytest.raises(MoteError, match=r"did not converge(.|\n)*lower learning rate"):
        train(module, learned, Recipe(epochs=1, rate=1e30, optimizer="sgd"))
