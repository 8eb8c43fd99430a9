"""Networks that tests of graphs take: small ones of the usual families."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mote.optimize.nas.spaces.layers import (
    INPUT,
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
    NetworkLayer,
    NormLayer,
    PoolLayer,
)
from mote.optimize.nas.spaces.network import Network


def separable(filters: int = 64, blocks: int = 4, rows: int = 49) -> Network:
    """Like DS-CNN of MLPerf Tiny."""
    layers: list[NetworkLayer] = [ConvLayer("stem", (INPUT,), kernel=(10, 4), stride=(2, 2), filters=filters)]
    for i in range(blocks):
        layers += [
            ConvLayer(f"block{i}.depthwise", (layers[-1].name,), depthwise=True),
            ConvLayer(f"block{i}.pointwise", (f"block{i}.depthwise",), kernel=(1, 1), filters=filters),
        ]
    layers += [MeanLayer("mean", (layers[-1].name,)), DenseLayer("logits", ("mean",), units=12)]
    return Network((rows, 10, 1), tuple(layers))


def residual(width: int = 16, size: int = 32) -> Network:
    """Like ResNet-8 of MLPerf Tiny."""
    layers: list[NetworkLayer] = [ConvLayer("stem", (INPUT,), filters=width)]
    for i, stride in enumerate((1, 2, 2)):
        last, filters = layers[-1].name, width << i
        layers += [
            ConvLayer(f"stage{i}.first", (last,), stride=(stride, stride), filters=filters),
            ConvLayer(f"stage{i}.second", (f"stage{i}.first",), filters=filters, activation="none"),
        ]
        if stride > 1:
            shortcut = f"stage{i}.shortcut"
            layers += [
                ConvLayer(shortcut, (last,), kernel=(1, 1), stride=(stride, stride), filters=filters, activation="none")
            ]
            last = shortcut
        layers += [AddLayer(f"stage{i}.sum", (last, f"stage{i}.second"), activation="relu")]
    layers += [MeanLayer("mean", (layers[-1].name,)), DenseLayer("logits", ("mean",), units=10)]
    return Network((size, size, 3), tuple(layers))


def mobile(size: int = 48, activation: str = "relu6", gate: bool = False) -> Network:
    """Like MobileNetV2, or V3 with `hardswish` and a gate (squeeze and excitation) in one block."""
    layers: list[NetworkLayer] = [ConvLayer("stem", (INPUT,), stride=(2, 2), filters=16, activation=activation)]
    channels = 16
    for i, (filters, stride) in enumerate(((8, 1), (16, 2), (16, 1), (24, 2), (24, 1))):
        last, name = layers[-1].name, f"block{i}"
        layers += [
            ConvLayer(f"{name}.expand", (last,), kernel=(1, 1), filters=4 * channels, activation=activation),
            ConvLayer(
                f"{name}.depthwise",
                (f"{name}.expand",),
                stride=(stride, stride),
                depthwise=True,
                activation=activation,
            ),
        ]
        if gate and i == 1:
            layers += [
                MeanLayer(f"{name}.squeeze", (f"{name}.depthwise",)),
                DenseLayer(f"{name}.reduce", (f"{name}.squeeze",), units=8, activation="relu"),
                DenseLayer(f"{name}.excite", (f"{name}.reduce",), units=4 * channels),
                ActivationLayer(f"{name}.gate", (f"{name}.excite",), activation="sigmoid"),
                MulLayer(f"{name}.gated", (f"{name}.depthwise", f"{name}.gate")),
            ]
        layers += [ConvLayer(f"{name}.project", (layers[-1].name,), kernel=(1, 1), filters=filters, activation="none")]
        if stride == 1 and channels == filters:
            layers += [AddLayer(f"{name}.sum", (last, f"{name}.project"))]
        channels = filters
    layers += [
        ConvLayer("head", (layers[-1].name,), kernel=(1, 1), filters=64, activation=activation),
        MeanLayer("mean", ("head",)),
        DenseLayer("logits", ("mean",), units=10),
    ]
    return Network((size, size, 3), tuple(layers))


def temporal(blocks: int = 3) -> Network:
    """Causal temporal convolutions with growing dilation."""
    layers: list[NetworkLayer] = [ConvLayer("stem", (INPUT,), kernel=(3, 1), padding="causal", filters=16)]
    for i in range(blocks):
        last, name = layers[-1].name, f"block{i}"
        layers += [
            ConvLayer(
                f"{name}.depthwise", (last,), kernel=(9, 1), dilation=(1 << i, 1), padding="causal", depthwise=True
            ),
            ConvLayer(f"{name}.pointwise", (f"{name}.depthwise",), kernel=(1, 1), filters=16, activation="none"),
            AddLayer(f"{name}.sum", (last, f"{name}.pointwise"), activation="relu"),
        ]
    layers += [MeanLayer("mean", (layers[-1].name,)), DenseLayer("logits", ("mean",), units=12)]
    return Network((49, 1, 10), tuple(layers))


def gated() -> Network:
    """A gated recurrent unit over time."""
    layers = (
        GruLayer("gru", (INPUT,), units=16),
        LastLayer("last", ("gru",)),
        DenseLayer("logits", ("last",), units=12),
    )
    return Network((20, 1, 10), layers)


def transformer() -> Network:
    """A block of a transformer behind a convolution that makes its tokens."""
    layers = (
        ConvLayer("stem", (INPUT,), kernel=(3, 1), stride=(2, 1), filters=16),
        NormLayer("norm1", ("stem",)),
        AttentionLayer("attention", ("norm1",), heads=2, size=8),
        AddLayer("sum1", ("stem", "attention")),
        NormLayer("norm2", ("sum1",)),
        ConvLayer("up", ("norm2",), kernel=(1, 1), filters=32, norm=False),
        ConvLayer("down", ("up",), kernel=(1, 1), filters=16, norm=False, activation="none"),
        AddLayer("sum2", ("sum1", "down")),
        MeanLayer("mean", ("sum2",)),
        DenseLayer("logits", ("mean",), units=12),
    )
    return Network((20, 1, 10), layers)


def table() -> Network:
    """A multi-layer perceptron with a regression."""
    layers = (
        DenseLayer("first", (INPUT,), units=24, activation="relu"),
        DenseLayer("second", ("first",), units=16, activation="relu"),
        DenseLayer("value", ("second",), units=1),
    )
    return Network((13,), layers, classes=False)


def branches() -> Network:
    """Pools, means over one axis, and branches beside one another."""
    layers = (
        ConvLayer("stem", (INPUT,), filters=8, padding="valid", activation="hardswish"),
        PoolLayer("largest", ("stem",), kernel=(2, 2), stride=(2, 2), largest=True),
        PoolLayer("average", ("stem",), kernel=(3, 3), stride=(2, 2)),
        ConcatLayer("both", ("largest", "average")),
        MeanLayer("bands", ("both",), axes=(1,)),
        AddLayer("broadcast", ("both", "bands"), activation="relu6"),
        DenseLayer("logits", ("broadcast",), units=5),
    )
    return Network((11, 9, 2), layers)


FAMILIES: Mapping[str, Callable[[], Network]] = {
    "separable": separable,
    "residual": residual,
    "mobile": mobile,
    "temporal": temporal,
    "gated": gated,
    "transformer": transformer,
    "table": table,
    "branches": branches,
}
