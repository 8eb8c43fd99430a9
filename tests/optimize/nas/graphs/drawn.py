"""Networks that hypothesis draws, of all kinds of layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hypothesis import strategies as st

from mote.optimize.nas.spaces.layers import (
    ACTIVATIONS,
    INPUT,
    PADDINGS,
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
    Shape,
)
from mote.optimize.nas.spaces.network import Network

SIZES = st.integers(1, 9)
CHANNELS = st.integers(1, 6)
SHAPES = st.one_of(
    st.tuples(SIZES, SIZES, CHANNELS), st.tuples(SIZES, st.just(1), CHANNELS), st.tuples(st.integers(1, 12))
)
QUICK = (ConvLayer, DenseLayer, PoolLayer, MeanLayer, AddLayer, LastLayer, MulLayer, ActivationLayer)
"""Layers of convolutional networks."""
ALL = (
    *QUICK,
    ConcatLayer,
    GruLayer,
    NormLayer,
    AttentionLayer,
)


@st.composite
def networks(draw: st.DrawFn, kinds: Sequence[type[NetworkLayer]] = ALL, most: int = 6) -> Network:
    """A network of some kinds of layers; layers that do not fit what is there are left out."""
    shapes: dict[str, Shape] = {INPUT: draw(SHAPES)}
    layers: list[NetworkLayer] = []
    wanted = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=most))
    for number, kind in enumerate(wanted):
        made = _DRAWN[kind](draw, f"{kind.__name__}{number}", shapes)
        if made is not None:
            layers.append(made)
            shapes[made.name] = made.shape(*(shapes[name] for name in made.inputs))
    last = list(shapes)[-1]
    layers.append(DenseLayer("last", (last,), units=draw(st.integers(1, 5))))
    return Network(shapes[INPUT], tuple(layers), classes=draw(st.booleans()))


Shapes = Mapping[str, Shape]
Draw = Callable[[st.DrawFn, str, Shapes], NetworkLayer | None]


def _one(draw: st.DrawFn, shapes: Shapes, fits: Callable[[Shape], bool] = lambda shape: True) -> str | None:
    """The newest value that fits, or sometimes an older one."""
    names = [name for name, shape in shapes.items() if fits(shape)]
    return draw(st.sampled_from([*names, *names[-1:] * 3])) if names else None


def _is_map(shape: Shape) -> bool:
    return len(shape) == 3


def _is_sequence(shape: Shape) -> bool:
    return len(shape) == 3 and shape[1] == 1


def _window(draw: st.DrawFn, given: Shape, dilations: Sequence[int] = (1, 1, 2)) -> dict[str, object]:
    padding = draw(st.sampled_from(PADDINGS))
    kernel, stride, dilation = [], [], []
    for size in given[:2]:
        step = draw(st.sampled_from(dilations))
        largest = 3 if padding != "valid" else min(3, (size - 1) // step + 1)
        kernel.append(draw(st.integers(1, largest)))
        dilation.append(step)
        stride.append(draw(st.integers(1, 2)))
    return {"kernel": tuple(kernel), "stride": tuple(stride), "dilation": tuple(dilation), "padding": padding}


def _conv(draw: st.DrawFn, name: str, shapes: Shapes) -> NetworkLayer | None:
    if (x := _one(draw, shapes, _is_map)) is None:
        return None
    window = _window(draw, shapes[x])
    activation, depthwise = draw(st.sampled_from(ACTIVATIONS)), draw(st.booleans())
    filters = 0 if depthwise else draw(CHANNELS)
    return ConvLayer(name, (x,), filters=filters, depthwise=depthwise, activation=activation, **window)  # type: ignore[arg-type]


def _pool(draw: st.DrawFn, name: str, shapes: Shapes) -> NetworkLayer | None:
    if (x := _one(draw, shapes, _is_map)) is None:
        return None
    return PoolLayer(name, (x,), largest=draw(st.booleans()), **_window(draw, shapes[x], (1,)))  # type: ignore[arg-type]


def _dense(draw: st.DrawFn, name: str, shapes: Shapes) -> NetworkLayer | None:
    x = _one(draw, shapes)
    assert x is not None
    return DenseLayer(name, (x,), units=draw(CHANNELS), activation=draw(st.sampled_from(ACTIVATIONS)))


def _mean(draw: st.DrawFn, name: str, shapes: Shapes) -> NetworkLayer | None:
    x = _one(draw, shapes, _is_map)
    return None if x is None else MeanLayer(name, (x,), axes=draw(st.sampled_from([(0, 1), (0,), (1,)])))


def _pair(draw: st.DrawFn, shapes: Shapes) -> tuple[str, str] | None:
    """Two different values that broadcast."""
    x = _one(draw, shapes)
    assert x is not None

    def fits(name: str) -> bool:
        short, long = sorted((shapes[x][::-1], shapes[name][::-1]), key=len)
        return name != x and all(m == n or 1 in (m, n) for m, n in zip(short, long, strict=False))

    others = [name for name in shapes if fits(name)]
    return (x, draw(st.sampled_from(others))) if others else None


def _add(draw: st.DrawFn, name: str, shapes: Shapes) -> NetworkLayer | None:
    pair = _pair(draw, shapes)
    return None if pair is None else AddLayer(name, pair, activation=draw(st.sampled_from(ACTIVATIONS)))


def _mul(draw: st.DrawFn, name: str, shapes: Shapes) -> NetworkLayer | None:
    pair = _pair(draw, shapes)
    return None if pair is None else MulLayer(name, pair)


def _activation(draw: st.DrawFn, name: str, shapes: Shapes) -> NetworkLayer | None:
    x = _one(draw, shapes)
    assert x is not None
    return ActivationLayer(name, (x,), activation=draw(st.sampled_from([*ACTIVATIONS[1:], "sigmoid", "tanh"])))


def _concat(draw: st.DrawFn, name: str, shapes: Shapes) -> NetworkLayer | None:
    x = _one(draw, shapes)
    assert x is not None
    others = [other for other in shapes if other != x and shapes[other][:-1] == shapes[x][:-1]]
    return ConcatLayer(name, (x, draw(st.sampled_from(others)))) if others else None


def _last(draw: st.DrawFn, name: str, shapes: Shapes) -> NetworkLayer | None:
    x = _one(draw, shapes, _is_map)
    return None if x is None else LastLayer(name, (x,))


def _gru(draw: st.DrawFn, name: str, shapes: Shapes) -> NetworkLayer | None:
    x = _one(draw, shapes, _is_sequence)
    return None if x is None else GruLayer(name, (x,), units=draw(CHANNELS))


def _norm(draw: st.DrawFn, name: str, shapes: Shapes) -> NetworkLayer | None:
    x = _one(draw, shapes)
    return None if x is None else NormLayer(name, (x,))


def _attention(draw: st.DrawFn, name: str, shapes: Shapes) -> NetworkLayer | None:
    x = _one(draw, shapes, _is_sequence)
    return None if x is None else AttentionLayer(name, (x,), heads=draw(st.integers(1, 3)), size=draw(CHANNELS))


_DRAWN: Mapping[type[NetworkLayer], Draw] = {
    ConvLayer: _conv,
    DenseLayer: _dense,
    PoolLayer: _pool,
    MeanLayer: _mean,
    AddLayer: _add,
    LastLayer: _last,
    MulLayer: _mul,
    ActivationLayer: _activation,
    ConcatLayer: _concat,
    GruLayer: _gru,
    NormLayer: _norm,
    AttentionLayer: _attention,
}
