"""Networks from PyTorch by way of ONNX: what Mote computes is what ONNX Runtime does."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_networks import NETWORKS, exported
from onnx_support import graph_of, moved, worst

RECURRENT = ("lstm", "gru", "rnn")
IMAGES = ("mobilenet_v2", "mobilenet_v3", "ds_cnn", "cnn_1d", "u_net")
TOLERANCE = 2e-5


@pytest.mark.parametrize("name", [name for name in NETWORKS if name not in RECURRENT])
def test_networks_compute_what_onnx_runtime_does(name: str) -> None:
    data = exported(name)
    graph = graph_of(data)
    assert worst(graph, data, NETWORKS[name][1]) < TOLERANCE
    if name in IMAGES:
        assert not moved(graph)


def test_an_open_batch_is_one() -> None:
    data = exported("ds_cnn", dynamic=True)
    graph = graph_of(data)
    assert graph.tensors[graph.inputs[0]].shape == (1, 20, 10, 1)
    assert np.isfinite(worst(graph, data, NETWORKS["ds_cnn"][1]))
