"""Dense, EinsumDense, Embedding, activations as layers, and layers without effect in inference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise as e
from mote.frontends.build import indexing, matrix, moves, norms, reductions
from mote.frontends.build.builder import Value
from mote.frontends.keras import activations
from mote.frontends.keras.call import LayerCall, Parser, Results, only
from mote.ir.graph.types import DType


def activated(call: LayerCall, x: Value, option: str = "activation") -> Value:
    """A result after the activation of an option, which may be a layer."""
    said = call.layer.options.get(option)
    if isinstance(said, Mapping) and isinstance(said.get("config"), Mapping):
        return only(call.apply(call.layer.child(option, said), [x], {}))
    return activations.named(said)(call.b, x)


def dense(call: LayerCall) -> Value:
    x, units = call.x, call.layer.integer("units")
    if call.layer.options.get("lora_rank"):
        raise UnsupportedNodeError("LoRA is not supported: merge it into the weights by saving the model again")
    kernel = call.weight(0, (x.shape[-1], units), "kernel")
    return activated(call, matrix.linear(call.b, x, kernel, call.bias(1, units)))


def einsum_dense(call: LayerCall) -> Value:
    """An einsum with a constant kernel."""
    kernel = call.layer.weights.get(f"{call.layer.path}vars/0")
    shape = () if kernel is None else kernel.shape
    x = matrix.einsum(call.b, call.layer.text("equation"), [call.x, call.b.constant(call.weight(0, shape, "kernel"))])
    if call.layer.get("bias_axes", None):
        bias = call.layer.weights.get(f"{call.layer.path}vars/1")
        offsets = call.weight(1, () if bias is None else bias.shape, "bias")
        x = e.add(call.b, x, call.b.constant(offsets))
    return activated(call, x)


def embedding(call: LayerCall) -> Value:
    """Rows of a table by indices, which Keras accepts in any numeric type."""
    rows, columns = call.layer.integer("input_dim"), call.layer.integer("output_dim")
    table, b = call.weight(0, (rows, columns), "table"), call.b
    indices = e.cast(b, call.x, DType.INT32)
    made = indexing.gather(b, b.constant(table), 0, indices)
    if call.layer.flag("mask_zero", False):
        call.made[made] = e.not_equal(b, indices, e.scalar(b, 0, DType.INT32))
    return made


def identity(call: LayerCall) -> Results:
    return call.values if len(call.values) > 1 else call.x


def masking(call: LayerCall) -> Value:
    """Steps set to zero where all channels equal the mask value."""
    b, x = call.b, call.x
    differs = e.logical_not(b, e.equal(b, x, e.scalar(b, call.layer.real("mask_value", 0.0))))
    kept = reductions.maximum(b, e.cast(b, differs, DType.FLOAT32), [-1], True)
    made = e.mul(b, x, kept)
    call.made[made] = e.cast(b, moves.squeeze(b, kept, [x.rank - 1]), DType.BOOL)
    return made


def wrapped(call: LayerCall) -> Results:
    """A wrapper layer without effect in inference."""
    return call.apply(call.layer.child("layer", call.layer.get("layer")), call.args, call.kwargs)


def activation(call: LayerCall) -> Value:
    return activated(call, call.x)


def relu(call: LayerCall) -> Value:
    slope, threshold = (call.layer.real(option, 0.0) for option in ("negative_slope", "threshold"))
    most = None if call.layer.get("max_value", None) is None else call.layer.real("max_value")
    return activations.relu(call.b, call.x, slope, most, threshold)


def leaky_relu(call: LayerCall) -> Value:
    return e.leaky_relu(call.b, call.x, call.layer.real("negative_slope", 0.3))


def thresholded_relu(call: LayerCall) -> Value:
    """ThresholdedReLU of Keras 2: zero up to the threshold, and x above it."""
    return e.thresholded_relu(call.b, call.x, call.layer.real("theta", 1.0))


def elu(call: LayerCall) -> Value:
    return e.elu_scaled(call.b, call.x, call.layer.real("alpha", 1.0))


def prelu(call: LayerCall) -> Value:
    """PReLU with learned slopes, per element or shared along axes."""
    shared: Any = call.layer.get("shared_axes", None) or ()
    shape = [1 if axis in shared else n for axis, n in enumerate(call.x.shape)][1:]
    return e.prelu(call.b, call.x, call.b.constant(call.weight(0, shape, "slope")))


def softmax(call: LayerCall) -> Value:
    call.refuse_mask()
    if call.argument("mask", 1) is not None:
        raise UnsupportedNodeError("a mask is not supported")
    axes = call.layer.list_of_integers("axis")
    if len(axes) > 1:
        return _softmax_of_several(call, axes)
    return norms.softmax(call.b, call.x, axes[0])


def _softmax_of_several(call: LayerCall, axes: tuple[int, ...]) -> Value:
    """Softmax over several axes, merged into one."""
    b, x = call.b, call.x
    last = x.axes(axes)
    order = [*(a for a in range(x.rank) if a not in last), *last]
    turned = moves.transpose(b, x, order)
    flat = moves.reshape(b, turned, (*turned.shape[: x.rank - len(last)], -1))
    back = moves.reshape(b, norms.softmax(b, flat), turned.shape)
    return moves.transpose(b, back, [order.index(a) for a in range(x.rank)])


NOISE = (
    "AlphaDropout",
    "Dropout",
    "GaussianDropout",
    "GaussianNoise",
    "SpatialDropout1D",
    "SpatialDropout2D",
    "SpatialDropout3D",
)
"""Layers with an effect in training only."""
AUGMENTING = (
    "AugMix",
    "CutMix",
    "MixUp",
    "RandAugment",
    "RandomBrightness",
    "RandomColorDegeneration",
    "RandomColorJitter",
    "RandomContrast",
    "RandomElasticTransform",
    "RandomErasing",
    "RandomFlip",
    "RandomGaussianBlur",
    "RandomGrayscale",
    "RandomHue",
    "RandomInvert",
    "RandomPerspective",
    "RandomPosterization",
    "RandomRotation",
    "RandomSaturation",
    "RandomSharpness",
    "RandomShear",
    "RandomTranslation",
    "RandomZoom",
    "Solarization",
)
"""Augmentation layers with an effect in training only. Keras saves their calls with `training=True`, which inference
overrides."""
KERAS2: Mapping[str, Parser] = {"ThresholdedReLU": thresholded_relu}
"""Layers that Keras 3 lacks."""
LAYERS: Mapping[str, Parser] = {
    **KERAS2,
    **dict.fromkeys((*NOISE, *AUGMENTING), identity),
    "Activation": activation,
    "ActivityRegularization": identity,
    "Dense": dense,
    "ELU": elu,
    "EinsumDense": einsum_dense,
    "Embedding": embedding,
    "Identity": identity,
    "LeakyReLU": leaky_relu,
    "Masking": masking,
    "PReLU": prelu,
    "ReLU": relu,
    "Softmax": softmax,
    "SpectralNormalization": wrapped,
}
