"""Networks as data: shapes, costs that need no compiler, and what is refused."""

from __future__ import annotations

import pytest

from mote.base.errors import MoteError
from mote.optimize.nas.spaces.layers import INPUT, AddLayer, ConvLayer, DenseLayer, MeanLayer, PoolLayer
from mote.optimize.nas.spaces.network import Network


def test_shapes_follow_strides_padding_and_broadcasting() -> None:
    network = Network(
        (49, 10, 1),
        (
            ConvLayer("stem", (INPUT,), kernel=(5, 3), stride=(2, 1), filters=8),
            ConvLayer("bands", ("stem",), kernel=(1, 3), depthwise=True),
            MeanLayer("mean", ("bands",), axes=(1,)),
            AddLayer("sum", ("bands", "mean")),
            PoolLayer("pool", ("sum",), kernel=(2, 2), stride=(2, 2), padding="valid"),
            MeanLayer("vector", ("pool",)),
            DenseLayer("logits", ("vector",), units=12),
        ),
    )
    assert network.shapes == {
        INPUT: (49, 10, 1),
        "stem": (25, 10, 8),
        "bands": (25, 10, 8),
        "mean": (25, 1, 8),
        "sum": (25, 10, 8),
        "pool": (12, 5, 8),
        "vector": (8,),
        "logits": (12,),
    }
    assert network.macs == 25 * 10 * 8 * 15 + 25 * 10 * 8 * 3 + 8 * 12
    assert network.parameters == 8 * 15 + 8 + 3 * 8 + 8 + 8 * 12 + 12


def test_a_causal_window_pads_before_the_first_row_only() -> None:
    layer = ConvLayer("c", (INPUT,), kernel=(3, 3), stride=(2, 1), dilation=(2, 1), padding="causal", filters=4)
    height, width = layer.axes((20, 6, 2))
    assert (height.before, height.after, width.before, width.after) == (4, 0, 1, 1)
    assert layer.shape((20, 6, 2)) == (10, 6, 4)


@pytest.mark.parametrize(
    ("layers", "reason"),
    [
        ((MeanLayer("a", ("b",)),), "takes 'b', which no layer before it computes"),
        ((MeanLayer("a", (INPUT,)), MeanLayer("a", (INPUT,))), "is there twice"),
    ],
)
def test_layers_that_do_not_follow_one_another_are_refused(layers: tuple[MeanLayer, ...], reason: str) -> None:
    with pytest.raises(MoteError, match=reason):
        Network((4, 4, 1), layers)


def test_windows_larger_than_their_input_are_refused() -> None:
    network = Network((4, 4, 1), (PoolLayer("pool", (INPUT,), kernel=(5, 5), padding="valid"),))
    with pytest.raises(MoteError, match="does not fit an input of 4x4"):
        _ = network.shapes
