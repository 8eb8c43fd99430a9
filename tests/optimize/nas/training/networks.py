"""Small networks with layers of every kind."""

from __future__ import annotations

from mote.optimize.nas.spaces.layers import (
    ActivationLayer,
    AddLayer,
    AttentionLayer,
    ConcatLayer,
    ConvLayer,
    DenseLayer,
    GruLayer,
    LastLayer,
    MeanLayer,
    MulLayer,
    NormLayer,
    PoolLayer,
)
from mote.optimize.nas.spaces.network import Network


def picture_network(width: int = 8, kernel: int = 3, depth: int = 1) -> Network:
    """Inverted residuals with a gate, for pictures of digits."""
    size = (kernel, kernel)
    layers = [ConvLayer("stem", ("input",), filters=width, activation="hardswish")]
    last = "stem"
    for i in range(depth):
        layers += [
            ConvLayer(f"b{i}.expand", (last,), kernel=(1, 1), filters=2 * width, activation="relu6"),
            ConvLayer(f"b{i}.depthwise", (f"b{i}.expand",), kernel=size, depthwise=True),
            ConvLayer(f"b{i}.project", (f"b{i}.depthwise",), kernel=(1, 1), filters=width, activation="none"),
        ]
        add = AddLayer(f"b{i}.add", (last, f"b{i}.project"))
        layers.append(add)  # type: ignore[arg-type]
        last = add.name
    down = ConvLayer("down", (last,), kernel=size, stride=(2, 2), filters=2 * width)
    return Network((8, 8, 1), (*layers, down, MeanLayer("mean", ("down",)), DenseLayer("logits", ("mean",), units=10)))


def gated_network() -> Network:
    """Pooling of both kinds, a gate over channels, and inputs beside one another."""
    return Network(
        (9, 7, 2),
        (
            ConvLayer("conv", ("input",), filters=4, norm=False, stride=(2, 1)),
            PoolLayer("most", ("conv",), kernel=(3, 3), stride=(2, 2), largest=True),
            PoolLayer("average", ("conv",), kernel=(3, 2), stride=(2, 2)),
            ConcatLayer("both", ("most", "average")),
            MeanLayer("squeeze", ("both",)),
            DenseLayer("excite", ("squeeze",), units=8, activation="relu", norm=True),
            ActivationLayer("gate", ("excite",), activation="sigmoid"),
            MulLayer("gated", ("both", "gate")),
            MeanLayer("columns", ("gated",), axes=(0,)),
            AddLayer("broadcast", ("gated", "columns"), activation="relu"),
            DenseLayer("logits", ("broadcast",), units=3),
        ),
    )


def branched_network(padding: str = "same", dilation: int = 1) -> Network:
    """Convolutions that are trained with further branches."""
    around = (dilation, dilation)
    return Network(
        (16, 8, 3),
        (
            ConvLayer("a", ("input",), kernel=(5, 3), filters=4, branches=(1, 3), padding=padding, stride=(2, 1)),
            ConvLayer("b", ("a",), filters=4, branches=(1, 0), padding=padding, dilation=around),
            ConvLayer("c", ("b",), kernel=(2, 1), depthwise=True, branches=(0, 1), padding=padding),
            MeanLayer("mean", ("c",)),
            DenseLayer("value", ("mean",), units=2),
        ),
        classes=False,
    )


def sequence_network(kind: str) -> Network:
    """Convolutions over time, then a recurrence or attention."""
    conv = ConvLayer("conv", ("input",), kernel=(5, 1), filters=6, padding="causal", dilation=(2, 1))
    tail = {
        "gru": (GruLayer("gru", ("conv",), units=5), LastLayer("vector", ("gru",))),
        "attention": (
            NormLayer("norm", ("conv",)),
            AttentionLayer("attention", ("norm",), heads=2, size=4),
            AddLayer("add", ("conv", "attention")),
            MeanLayer("vector", ("add",)),
        ),
    }[kind]
    return Network((12, 1, 3), (conv, *tail, DenseLayer("logits", ("vector",), units=4)))


def table_network() -> Network:
    """A perceptron for rows of a table."""
    hidden = DenseLayer("hidden", ("input",), units=8, activation="relu", norm=True)
    return Network((5,), (hidden, DenseLayer("logits", ("hidden",), units=2)))
