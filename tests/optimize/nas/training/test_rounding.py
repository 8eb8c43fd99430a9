"""Weights of four bits of networks that are scored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="networks are trained in PyTorch")

from mote.optimize.nas.spaces.space import SearchSpace
from mote.optimize.nas.spaces.stage import SpaceStage
from mote.optimize.nas.training.module import NetworkModule
from mote.optimize.nas.training.rounding import round_weights

SPACE = SearchSpace(
    "one", (SpaceStage("repconv", precision="int4"), SpaceStage("separable")), stem=SpaceStage("conv", width=4)
)


def test_each_channel_has_fifteen_values() -> None:
    network = SPACE.network({}, (8, 8, 1), 3)
    module, before = NetworkModule(network, 1), NetworkModule(network, 1)
    assert round_weights(module)
    rounded = 0
    for layer in network.layers:
        for (name, value), old in zip(
            module.layer(layer.name).tensors().items(), before.layer(layer.name).tensors().values(), strict=True
        ):
            values, old = value.detach().numpy(), old.detach().numpy()
            if layer.name not in network.precisions or values.ndim == 1:
                assert np.array_equal(values, old), name
                continue
            rounded += 1
            step = np.abs(old).reshape(len(old), -1).max(1) / 7
            steps = values.reshape(len(values), -1) / step[:, None]
            assert np.abs(steps - np.rint(steps)).max() < 1e-4 and np.abs(steps).max() < 7.01
            assert np.abs(values - old).reshape(len(old), -1).max(1) == pytest.approx(step / 2, rel=1.0, abs=1e-7)
    assert rounded >= 2, "a kernel and those of its branches"


def test_other_precisions_are_left() -> None:
    network = replace(SPACE.network({}, (8, 8, 1), 3), precisions={"stem": "int16"})
    module = NetworkModule(network)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    assert not round_weights(module)
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
