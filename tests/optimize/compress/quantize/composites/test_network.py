"""A network of PyTorch with all of these layers, as integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mote import quantize
from tests.helpers.support import check, needs_litert


@pytest.mark.slow
@needs_litert
def test_a_network_of_pytorch() -> None:
    """Two layers both ways, whose last output is read beside all outputs, a norm and a GRU: all of it integers."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)

    class Network(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(6, 8, num_layers=2, bidirectional=True, batch_first=True)
            self.norm = torch.nn.LayerNorm(16)
            self.gru = torch.nn.GRU(16, 5, batch_first=True)
            self.last = torch.nn.Linear(13, 3)

        def forward(self, x: Any) -> Any:
            steps, (last, _) = self.lstm(x)
            _, more = self.gru(self.norm(steps))
            return self.last(torch.cat([last[-1], more[0]], 1))

    x = np.random.default_rng(0).normal(size=(16, 7, 6)).astype(np.float32)
    found = quantize.post_training(Network().eval(), x, example_inputs=(torch.zeros(1, 7, 6),))
    assert {layer.precision for layer in found.layers} == {"int8"} and found.layers[-1].noise > 30
    check(found.data, inputs=2)
