"""float32 gradients of activations, normalizations and windowed layers: `mote_activation_gradients_f32.h`,
`mote_normalization_gradients_f32.h` and `mote_window_gradients_f32.h`."""

from __future__ import annotations

from collections.abc import Callable

from mote.compiler.kernels.contract import (
    FLOAT32,
    OTHER_F32,
    Call,
    Entry,
    Kernel,
    Needs,
    Packed,
    Params,
    View,
    units_of,
)
from mote.compiler.kernels.pack.params import span_params
from mote.ir.graph.tensor import Shape
from mote.ir.ops.common import float_range
from mote.ir.ops.training.activation_gradients import (
    ClampGradient,
    HardSwishGradient,
    LeakyReluGradient,
    LogisticGradient,
    TanhGradient,
)
from mote.ir.ops.training.normalization_gradients import (
    LayerNormalizationGradient,
    RmsNormalizationGradient,
    SoftmaxGradient,
)
from mote.ir.ops.training.window_gradients import (
    AveragePoolGradient,
    ConvInputGradient,
    ConvWeightGradient,
    DepthwiseInputGradient,
    DepthwiseWeightGradient,
    MaxPoolGradient,
    WeightGradient,
    WindowGradient,
)

ELEMENTS, VECTORS, WINDOWS = "activation_gradients_f32", "normalization_gradients_f32", "window_gradients_f32"
IN_PLACE = Needs(in_place=(0, 1))
Pack = Callable[[View], Packed]


def _elements(name: str, view: View, params: Params | None = None) -> Packed:
    return Packed(name, params or {"unused": 0}, Entry(Call.FLAT, view.output.size, operands=(0, 1)), IN_PLACE)


def _relu(view: View) -> Packed:
    low, high = float_range(view.the(ClampGradient).activation)
    return _elements("relu_gradient_f32", view, {"low": low, "high": high})


def _leaky_relu(view: View) -> Packed:
    return _elements("leaky_relu_gradient_f32", view, {"alpha": view.the(LeakyReluGradient).alpha})


def _plain(name: str) -> Pack:
    """Returns the packer of an activation's gradient without parameters."""
    return lambda view: _elements(name, view)


def _vectors(name: str, view: View, params: Params) -> Packed:
    depth = view.input.shape[-1]
    entry = Entry(Call.FLAT, units_of(view.input.shape, depth), operands=(0, 1))
    return Packed(name, {"depth": depth, **params}, entry, IN_PLACE)


def _softmax(view: View) -> Packed:
    return _vectors("softmax_gradient_f32", view, {"beta": view.the(SoftmaxGradient).beta})


def _normalization(view: View) -> Packed:
    op = view.the(LayerNormalizationGradient)
    name = "root_mean_square" if isinstance(op, RmsNormalizationGradient) else "standardize"
    return _vectors(f"{name}_gradient_f32", view, {"epsilon": op.epsilon})


def _windows(view: View, name: str, images: Shape, made: Shape, operands: tuple[int, ...] = (0, 1)) -> Packed:
    """Packs a gradient of a windowed layer. `images`, `made`: shapes of the layer's input and output."""
    op = view.op
    assert isinstance(op, WindowGradient | WeightGradient)
    params: Params = {
        "images": images[0],
        "rows": span_params(op.vertical, images[1], made[1]),
        "cols": span_params(op.horizontal, images[2], made[2]),
        "channels": images[3],
        "outputs": made[3],
    }
    return Packed(f"{name}_f32", params, Entry(operands=operands))


def _images(name: str, *operands: int) -> Pack:
    """Returns the packer of a gradient with respect to the layer's input."""
    return lambda view: _windows(view, name, view.output.shape, view.input.shape, operands)


def _weights(name: str) -> Pack:
    """Returns the packer of a gradient with respect to the weights."""
    return lambda view: _windows(view, name, view.input.shape, view.op.input(view.graph, 1).shape)


KERNELS = tuple(
    Kernel(f"{name}_f32", (kind,), FLOAT32, pack, header, costs=costs)
    for name, kind, pack, header, costs in (
        ("relu_gradient", ClampGradient, _relu, ELEMENTS, OTHER_F32),
        ("leaky_relu_gradient", LeakyReluGradient, _leaky_relu, ELEMENTS, OTHER_F32),
        ("logistic_gradient", LogisticGradient, _plain("logistic_gradient_f32"), ELEMENTS, OTHER_F32),
        ("tanh_gradient", TanhGradient, _plain("tanh_gradient_f32"), ELEMENTS, OTHER_F32),
        ("hard_swish_gradient", HardSwishGradient, _plain("hard_swish_gradient_f32"), ELEMENTS, OTHER_F32),
        ("softmax_gradient", SoftmaxGradient, _softmax, VECTORS, OTHER_F32),
        ("normalization_gradient", LayerNormalizationGradient, _normalization, VECTORS, OTHER_F32),
        ("conv_input_gradient", ConvInputGradient, _images("conv_input_gradient", 0, 1), WINDOWS, "conv2d_f32"),
        ("conv_weight_gradient", ConvWeightGradient, _weights("conv_weight_gradient"), WINDOWS, "conv2d_f32"),
        (
            "depthwise_input_gradient",
            DepthwiseInputGradient,
            _images("depthwise_input_gradient", 0, 1),
            WINDOWS,
            "depthwise_f32",
        ),
        (
            "depthwise_weight_gradient",
            DepthwiseWeightGradient,
            _weights("depthwise_weight_gradient"),
            WINDOWS,
            "depthwise_f32",
        ),
        ("average_pool_gradient", AveragePoolGradient, _images("average_pool_gradient", 0), WINDOWS, OTHER_F32),
        ("max_pool_gradient", MaxPoolGradient, _images("max_pool_gradient", 0, 1), WINDOWS, OTHER_F32),
    )
)
