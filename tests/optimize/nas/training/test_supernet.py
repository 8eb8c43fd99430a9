"""Subnets of a supernet are slices of its weights; trained together, larger ones are no worse than smaller ones."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from mote.base.errors import MoteError
from mote.optimize.nas.spaces.layers import WindowLayer
from mote.optimize.nas.spaces.network import Network
from mote.optimize.nas.spaces.space_file import builtin
from mote.optimize.nas.training.fit import Examples, NetworkRecipe, distilling, evaluate, train_network
from mote.optimize.nas.training.module import NetworkModule
from mote.optimize.nas.training.supernet import (
    ResizingTeacher,
    Supernet,
    SupernetRecipe,
    calibrate,
    resized,
    train_supernet,
)
from tests.helpers.digits import digits
from tests.optimize.nas.training import networks

SMALLEST, LARGEST = networks.picture_network(4, 3, 1), networks.picture_network(8, 5, 2)


def sample(random: Random) -> Network:
    return networks.picture_network(random.choice((4, 6, 8)), random.choice((3, 5)), random.choice((1, 2)))


@pytest.fixture(scope="module")
def data() -> tuple[Examples, Examples]:
    learned, tested = digits()
    assert learned.labels is not None and tested.labels is not None
    return Examples(learned.images, learned.labels), Examples(tested.images, tested.labels)


def test_subnets_are_slices_of_the_weights() -> None:
    supernet = Supernet(LARGEST, seed=1)
    subnet = supernet.subnet(SMALLEST)
    whole, part = supernet.module.layer("down").tensors(), subnet.layer("down").tensors()
    assert torch.equal(part["weights"], whole["weights"][:8, :4, 1:4, 1:4])
    assert torch.equal(part["scale"], whole["scale"][:8])
    x = torch.randn(16, 8, 8, 1, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.allclose(supernet(x, SMALLEST), subnet.train()(x), atol=1e-5)
        assert torch.allclose(supernet(x), supernet.module.train()(x), atol=1e-5)


def test_calibration_measures_the_statistics_of_the_data(data: tuple[Examples, Examples]) -> None:
    inputs = data[0].inputs[:256]
    module = calibrate(NetworkModule(SMALLEST), inputs, batch=256)
    assert not module.training
    at_once = module.predict(inputs)
    with torch.no_grad():
        batch = module.train()(torch.from_numpy(inputs)).numpy()
    assert np.allclose(at_once, batch, rtol=0.05, atol=0.02)
    parts = calibrate(module, inputs, batch=64).predict(inputs)
    assert not np.array_equal(parts, at_once) and np.allclose(parts, at_once, atol=0.2)


def test_trained_subnets_rank_by_their_size(data: tuple[Examples, Examples]) -> None:
    supernet, losses = Supernet(LARGEST), []
    recipe = SupernetRecipe(epochs=2, batch=16, rate=0.1, sampled=2)
    train_supernet(supernet, data[0][:800], sample, recipe, progress=lambda *epoch: losses.append(epoch[2]))
    assert losses[-1] < losses[0]
    accuracies = []
    for network in (SMALLEST, LARGEST):
        subnet = calibrate(supernet.subnet(network), data[0].inputs[:256])
        accuracies.append(evaluate(subnet, data[1]))
    assert accuracies[1] > 0.85 and accuracies[1] + 0.02 > accuracies[0] > 0.5, accuracies


def test_the_largest_network_does_not_imitate_itself(
    data: tuple[Examples, Examples], monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[Network | None] = []
    forward = Supernet.forward

    def counted(self: Supernet, x: torch.Tensor, network: Network | None = None) -> torch.Tensor:
        computed.append(network)
        return forward(self, x, network)

    monkeypatch.setattr(Supernet, "forward", counted)
    train_supernet(Supernet(LARGEST), data[0][:16], lambda _: LARGEST, SupernetRecipe(epochs=1, batch=16))
    assert computed == [None]


def test_the_same_seed_gives_the_same_supernet(data: tuple[Examples, Examples]) -> None:
    states = []
    for _ in range(2):
        supernet = Supernet(SMALLEST)
        train_supernet(supernet, data[0][:33], lambda _: SMALLEST, SupernetRecipe(epochs=1, batch=8))
        states.append(torch.cat([p.detach().reshape(-1) for p in supernet.parameters()]))
    assert torch.equal(*states)
    again = Supernet(SMALLEST, seed=1).load_state(supernet.state())
    assert torch.equal(torch.cat([p.detach().reshape(-1) for p in again.parameters()]), states[0])


@pytest.mark.parametrize("name", ["mobile", "separable", "residual", "repconv", "tenet", "bc-resnet", "gated"])
def test_every_network_of_a_shared_space_is_a_subnet(name: str) -> None:
    space = builtin(name)
    assert space.shared
    shape = (16, 8, 1) if name == "bc-resnet" else (16, 1, 4) if name in ("tenet", "gated") else (16, 16, 3)
    supernet = Supernet(space.network(space.largest(), shape, 3))
    random = Random(0)
    for choice in (space.smallest(), space.random(random), space.random(random)):
        network = space.network(choice, shape, 3)
        x = torch.randn(2, *network.input)
        with torch.no_grad():
            assert supernet(x, network).shape == (2, 3)
        subnet = supernet.subnet(network)
        for layer in network.layers:
            if isinstance(layer, WindowLayer) and "weights" in subnet.layer(layer.name).tensors():
                assert tuple(subnet.layer(layer.name).tensors()["weights"].shape[2:]) == layer.kernel


def test_images_are_resized_for_a_network() -> None:
    x = torch.arange(16.0).reshape(1, 4, 4, 1)
    assert resized(x, (2, 2, 1)).shape == (1, 2, 2, 1)
    assert float(resized(x, (2, 2, 1)).mean()) == pytest.approx(7.5)
    assert resized(x, (4, 4, 1)) is x


def test_mistakes_are_named() -> None:
    with pytest.raises(MoteError, match=r"layer 'b1.expand': is no layer of the largest network"):
        Supernet(SMALLEST).subnet(networks.picture_network(4, 3, 2))
    with pytest.raises(MoteError, match=r"layer 'stem': is larger than in the largest network"):
        Supernet(SMALLEST).subnet(LARGEST)
    recurrent = networks.sequence_network("gru")
    with pytest.raises(MoteError, match="weights of a GruLayer cannot be shared"):
        Supernet(recurrent).subnet(recurrent)


@pytest.mark.slow
def test_a_network_learns_from_a_teacher_what_labels_do_not_tell(data: tuple[Examples, Examples]) -> None:
    module, recipe, few = NetworkModule(LARGEST), NetworkRecipe(epochs=4, batch=16), data[0][:480]
    train_network(module, few, recipe)
    teacher = ResizingTeacher(module)
    wrong = Examples(few.inputs, np.random.default_rng(0).permutation(few.labels))
    taught, alone = NetworkModule(SMALLEST), NetworkModule(SMALLEST)
    train_network(taught, wrong, distilling(recipe), teacher=teacher)
    train_network(alone, wrong, recipe)
    assert evaluate(taught, data[1]) > 0.5 > 0.2 > evaluate(alone, data[1])
    small = torch.from_numpy(data[1].inputs[:8, 1:7, 1:7])
    assert torch.equal(teacher.scores(small), module(resized(small, LARGEST.input)))
