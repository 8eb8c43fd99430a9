"""Training steps that are CUDA graphs learn what steps computed kernel by kernel do."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from mote.optimize.nas.spaces.space_file import builtin
from mote.optimize.nas.training.fit import Examples, NetworkRecipe, distilling, train_network
from mote.optimize.nas.training.module import NetworkModule
from mote.optimize.nas.training.supernet import ResizingTeacher


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device: training steps are not captured")
@pytest.mark.parametrize("taught", [False, True])
def test_captured_steps_give_the_weights_of_plain_ones(monkeypatch: pytest.MonkeyPatch, taught: bool) -> None:
    space = builtin("residual")
    rng = np.random.default_rng(0)
    data = Examples(rng.normal(size=(130, 16, 16, 1)).astype(np.float32), rng.integers(0, 3, 130))
    small, large = (
        space.network({**choice, "resolution": 1.0}, (16, 16, 1), 3) for choice in (space.smallest(), space.largest())
    )
    recipe = NetworkRecipe(epochs=3, batch=16)
    states = []
    for static in (True, False):
        monkeypatch.setattr(NetworkModule, "static", static)
        module = NetworkModule(small)
        teacher = ResizingTeacher(NetworkModule(large)) if taught else None
        train_network(module, data, distilling(recipe) if taught else recipe, teacher=teacher, device="cuda")
        states.append(module.state_dict())
    for name, value in states[0].items():
        torch.testing.assert_close(value, states[1][name], rtol=1e-3, atol=1e-4)
