"""Networks learn from labels and from a teacher, the same each time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from mote.base.errors import MoteError
from mote.optimize.nas.training.fit import Examples, NetworkRecipe, evaluate, train_network
from mote.optimize.nas.training.module import NetworkModule
from tests.helpers.digits import digits
from tests.optimize.nas.training import networks

QUICK = NetworkRecipe(epochs=4, batch=32, rate=0.2, warmup=0.5)


@pytest.fixture(scope="module")
def data() -> tuple[Examples, Examples]:
    learned, tested = digits()
    assert learned.labels is not None and tested.labels is not None
    return Examples(learned.images, learned.labels), Examples(tested.images, tested.labels)


@pytest.fixture(scope="module")
def trained(data: tuple[Examples, Examples]) -> NetworkModule:
    module = NetworkModule(networks.picture_network())
    train_network(module, data[0], QUICK)
    return module


def test_a_network_learns_digits(trained: NetworkModule, data: tuple[Examples, Examples]) -> None:
    assert evaluate(trained, data[1]) > 0.9
    assert not trained.training


def test_everything_at_once_learns_as_well(trained: NetworkModule, data: tuple[Examples, Examples]) -> None:
    recipe = replace(QUICK, optimizer="adamw", rate=0.02, smoothing=0.1, mixup=0.1, average=0.9, augment="noise=0.05")
    pupil, losses = NetworkModule(networks.picture_network(), seed=1), []
    train_network(pupil, data[0], recipe, teacher=trained, progress=lambda *epoch: losses.append(epoch[2]))
    assert losses[-1] < losses[0] and len(losses) == 4
    assert evaluate(pupil, data[1]) > 0.8


@pytest.mark.parametrize("threads", [1, 2])
def test_results_do_not_depend_on_the_process(data: tuple[Examples, Examples], threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    torch.manual_seed(threads)
    module = NetworkModule(networks.branched_network())
    few = Examples(np.resize(data[0].inputs, (33, *module.network.input)), data[0].inputs[:33].mean((1, 2, 3)))
    few = Examples(few.inputs, np.stack([few.labels, -few.labels], 1))
    recipe = NetworkRecipe(epochs=1, batch=16, rate=0.01, augment="flip,cutout=3")
    train_network(module, few, recipe)
    other = NetworkModule(networks.branched_network())
    torch.set_num_threads(1)
    train_network(other, few, recipe)
    torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(module.parameters(), other.parameters(), strict=True))


def test_numbers_are_learned(data: tuple[Examples, Examples]) -> None:
    inputs = np.random.default_rng(0).standard_normal((256, 5)).astype(np.float32)
    linear = Examples(inputs, inputs[:, :2] * 3 + 1)
    module = NetworkModule(replace(networks.table_network(), classes=False))
    train_network(module, linear, NetworkRecipe(epochs=20, batch=32, rate=0.05))
    assert evaluate(module, linear) > 0.9


def test_mistakes_are_named(data: tuple[Examples, Examples]) -> None:
    with pytest.raises(MoteError, match="3 samples have 2 labels"):
        Examples(np.zeros((3, 5)), np.zeros(2))
    rows = Examples(np.zeros((3, 5)), np.zeros(3, int))
    with pytest.raises(MoteError, match=r"one image input; this one takes 1x5"):
        train_network(NetworkModule(networks.table_network()), rows, NetworkRecipe(augment="flip"))
