"""Layers of HGQ (HGQ2): those of Keras with quantized inputs, weights and perhaps results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from math import log2, prod

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise as e
from mote.frontends.build import matrix, norms, quantized, reductions
from mote.frontends.build.builder import Value
from mote.frontends.keras.call import LayerCall, Parser, only
from mote.frontends.keras.fixed_point import FixedPoint, described
from mote.frontends.keras.layers import core, merging, qkeras, windows
from mote.ir.graph.tensor import Array

EPSILON = 1e-7
"""Epsilon that Keras adds to divisors."""
KERNEL, BIAS = ("kq_conf", "kq/"), ("bq_conf", "bq/")
"""Quantizers of weights: their options, and the places of their bits."""


def quantizer(call: LayerCall) -> Value:
    """A quantizer that is a layer."""
    return _quantized(call, call.x, described(call.layer, "config", ""))


def _quantized(call: LayerCall, x: Value, by: FixedPoint | None) -> Value:
    return x if by is None else qkeras.rounded(call, x, by)


def layer(parser: Parser) -> Parser:
    """A layer with quantized inputs and perhaps a quantized result."""

    def parse(call: LayerCall) -> Value:
        call.refuse_mask()
        return _ended(call, only(parser(_begun(call))))

    return parse


def _begun(call: LayerCall) -> LayerCall:
    """A call with quantized inputs."""
    said, values = call.layer, call.values
    if not said.flag("enable_iq", True):
        return call
    confs = said.options.get("iq_confs")
    if confs is None:
        return replace(call, args=[_quantized(call, call.x, described(said, "iq_conf", "iq/"))])
    many = confs if isinstance(confs, list) else [confs] * len(values)
    if len(many) != len(values):
        raise UnsupportedNodeError(f"it has {len(many)} quantizers for {len(values)} inputs")
    made = []
    for i, (value, conf) in enumerate(zip(values, many, strict=True)):
        one = replace(said, said={**said.said, "config": {"iq_conf": conf}})
        place = f"iq/quantizers/quantizer{f'_{i}' if i else ''}/"
        made.append(_quantized(call, value, described(one, "iq_conf", place)))
    return replace(call, args=[made])


def _ended(call: LayerCall, x: Value) -> Value:
    """A result, which is perhaps quantized."""
    return _quantized(call, x, described(call.layer, "oq_conf", "oq/")) if call.layer.flag("enable_oq", False) else x


def weighted(parser: Parser) -> Parser:
    """A layer with a quantized kernel, and perhaps a quantized bias."""

    def parse(call: LayerCall) -> Value:
        own = [x for x in qkeras.stored(call.layer) if x.ndim]
        places = [KERNEL, BIAS] if call.layer.options.get("bq_conf") is not None else [KERNEL]
        if len(own) < len(places):
            raise UnsupportedNodeError(f"it has {len(own)} weights, and {len(places)} quantizers of them")
        return _product(call, parser, [_on_grid(call, x, *q) for x, q in zip(own, places, strict=False)])

    return layer(parse)


def _on_grid(call: LayerCall, x: Array, option: str, place: str) -> Array:
    by = described(call.layer, option, place)
    return x.astype(np.float32) if by is None else by.of_weights(x)


def _product(call: LayerCall, parser: Parser, weights: list[Array]) -> Value:
    """A layer with other weights, and its activation."""
    inner = qkeras.with_weights(call.layer, dict(enumerate(weights)), activation=None)
    sums = qkeras.product(replace(call, layer=inner), parser)
    made = core.activated(call, sums)
    if call.layer.options.get("activation") == "relu" and sums.tensor in call.codes:
        shape, codes = call.codes[sums.tensor]
        call.codes[made.tensor] = shape, lambda out: quantized.function(call.b, codes(out), _positive, out)
    return made


def _positive(x: NDArray[np.float32]) -> Array:
    return np.maximum(x, 0)


def batch_normalization(call: LayerCall) -> Value:
    """Batch normalization with a quantized factor and offset. Without `center`, HGQ adds 1 to the offset."""
    said, x = call.layer, call.x
    axis = x.axis(said.integer("axis", -1))
    scale, center = said.flag("scale", True), said.flag("center", True)
    names = ["gamma"] * scale + ["beta"] * center + ["mean", "variance"]
    own = {name: call.weight(i, (x.shape[axis],), name).astype(np.float32) for i, name in enumerate(names)}
    factor = own.get("gamma", np.float32(1)) / np.sqrt(own["variance"] + np.float32(said.real("epsilon", 1e-3)))
    offset = own.get("beta", np.float32(1)) - own["mean"] * factor
    return norms.per_channel(call.b, x, _on_grid(call, factor, *KERNEL), _on_grid(call, offset, *BIAS), axis)


def batch_norm_dense(call: LayerCall) -> Value:
    """A product of normalized inputs: their factors are in the kernel, and their means in the bias, as HGQ has them."""
    own = [x.astype(np.float32) for x in qkeras.stored(call.layer) if x.ndim and x.dtype.kind == "f"]
    scaled = call.layer.flag("scale", True)
    depth, units = call.x.shape[-1], call.layer.integer("units")
    if [x.shape for x in own] != [(depth, units), (units,), *[(depth,)] * (2 + scaled)]:
        raise UnsupportedNodeError("the shapes of its weights do not fit its options")
    kernel, bias, mean, variance = own[0], own[1], own[-2], own[-1]
    gamma = own[2] if scaled else np.float32(1)
    factor = gamma / np.sqrt(variance + np.float32(call.layer.real("epsilon", 1e-3)))
    folded = _on_grid(call, factor[:, None] * kernel, *KERNEL)
    return _product(call, core.dense, [folded, _on_grid(call, bias - mean @ kernel, *BIAS)])


def affine_activation(call: LayerCall) -> Value:
    """An activation of a learned multiple of the input."""
    factor, offset = (float(call.weight(i, (1,), name)[0]) for i, name in enumerate(("scale", "bias")))
    return core.activated(call, e.scaled(call.b, call.x, factor, offset))


def softmax(call: LayerCall) -> Value:
    """Softmax from quantized tables of the exponential function and of the reciprocal."""
    b, x, said = call.b, call.x, call.layer
    axes, scale = x.axes(said.list_of_integers("axes")), said.real("input_scaler", 1.0)
    stable = said.flag("stable", True)
    if stable:
        x = e.sub(b, reductions.maximum(b, x, axes, True), x)
        x = _quantized(call, x, described(said, "exp_iq_conf", "exp_table/iq/"))
    powers = e.exp(b, e.scaled(b, x, -scale if stable else scale))
    powers = _quantized(call, powers, described(said, "exp_oq_conf", "exp_table/oq/"))
    total = reductions.sum_(b, powers, axes, True)
    total = _quantized(call, total, described(said, "inv_iq_conf", "inv_table/iq/"))
    inverse = e.reciprocal(b, e.scaled(b, total, 1.0, EPSILON))
    return e.mul(b, powers, _quantized(call, inverse, described(said, "inv_oq_conf", "inv_table/oq/")))


def _moving(parser: Parser) -> Parser:
    """Max pooling, on the codes of a quantized input where there are some."""

    def parse(call: LayerCall) -> Value:
        made = qkeras.moved(call, parser)
        return only(parser(call)) if made is None else made

    return parse


def _power(x: float) -> float:
    """The power of two next to a number."""
    return float(2.0 ** round(log2(x)))


def average(call: LayerCall) -> Value:
    """The sum of the operands times the power of two next to a reciprocal of their number."""
    total = reduce(lambda x, y: e.add(call.b, x, y), call.values)
    return e.scaled(call.b, total, _power(1 / len(call.values)))


def total(scale: Callable[[LayerCall, list[int]], float]) -> Parser:
    """A sum over axes, times a number."""

    def parse(call: LayerCall) -> Value:
        axes = call.x.axes(call.layer.list_of_integers("axes"))
        made = reductions.sum_(call.b, call.x, axes, call.layer.flag("keepdims", False))
        return e.scaled(call.b, made, scale(call, list(axes)))

    return parse


def einsum(call: LayerCall) -> Value:
    return matrix.einsum(call.b, call.layer.text("equation"), call.values)


def _over(parsers: Mapping[str, Parser], *names: str) -> Mapping[str, Parser]:
    """Layers without weights, under the names that HGQ gives them."""
    return {f"Q{name}": layer(parsers[name]) for name in names}


POOLING = [f"{kind}Pooling{n}D" for kind in ("Average", "GlobalAverage", "GlobalMax") for n in (1, 2, 3)]
LAYERS: Mapping[str, Parser] = {
    **_over(merging.LAYERS, "Add", "Dot", "Maximum", "Minimum", "Multiply", "Subtract"),
    **_over(windows.LAYERS, *POOLING),
    "QAffinedUnaryFunctionLUT": layer(affine_activation),
    "QAveragePow2": layer(average),
    "QBatchNormDense": layer(batch_norm_dense),
    "QBatchNormalization": layer(batch_normalization),
    "QConv1D": weighted(qkeras.CONV_1D),
    "QConv2D": weighted(qkeras.CONV_2D),
    "QConv3D": weighted(windows.conv(3)),
    "QDense": weighted(core.dense),
    "QEinsum": layer(einsum),
    "QEinsumDense": weighted(core.einsum_dense),
    **{f"QMaxPooling{n}D": layer(_moving(windows.LAYERS[f"MaxPooling{n}D"])) for n in (1, 2, 3)},
    "QMeanPow2": layer(total(lambda call, axes: _power(1 / prod(call.x.shape[a] for a in axes)))),
    "QSoftmax": layer(softmax),
    "QSum": layer(total(lambda call, axes: call.layer.real("scale", 1.0))),
    "QUnaryFunctionLUT": layer(core.activation),
    "Quantizer": quantizer,
}
