"""float32 layers with weights or biases learned on the device: `mote_learned_layer.h` around the layers of
`mote_layer_*.h`."""

from __future__ import annotations

from mote.compiler.kernels.contract import (
    FLOAT32,
    Call,
    Entry,
    Instance,
    Kernel,
    Packed,
    Params,
    Refusal,
    View,
    units_of,
)
from mote.compiler.kernels.pack.layers import float_layer
from mote.compiler.kernels.pack.params import window_params
from mote.ir.ops.common import BIAS, WEIGHTS, learned
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

CONSTANT = Refusal("it is for learned weights or biases")


def _layer(view: View, layer: str, params: Params, entry: Entry) -> Packed | Refusal:
    """Packs a layer with learned weights, which computes four output channels at once, or one where flash matters more
    than time."""
    op = view.op
    assert isinstance(op, Conv2D | DepthwiseConv2D | FullyConnected)
    if not learned(view.graph, op):
        return CONSTANT
    variant, biased = float_layer(view, op.activation), op.tensor(view.graph, BIAS) is not None
    lean, dots = ("one_", "MOTE_DOTS_ONE") if view.small else ("", "MOTE_DOTS")
    of = f"layer_{layer}_{lean}{variant.suffix}"
    name = f"learned_{'' if biased else 'unbiased_'}{of}"
    instances = (
        Instance(f"MOTE_LAYER_{layer.upper()}", (of, *variant.arguments, dots)),
        Instance(f"MOTE_LEARNED_{entry.call.name}", (name, of, "BIASED" if biased else "UNBIASED")),
    )
    return Packed(
        name,
        {**params, "in_zero": 0, "weights": 0, "finish": {**variant.finish, **({"bias": 0} if biased else {})}},
        Entry(
            entry.call,
            entry.units,
            operands=(0, WEIGHTS, BIAS) if biased else (0, WEIGHTS),
            taps=entry.taps,
            row=f"{name}_row" if entry.call is Call.ROWS else "",
        ),
        instances=instances,
        headers=("learned_layer",),
    )


def _conv2d(view: View) -> Packed | Refusal:
    op, (channels, _, _, depth) = view.the(Conv2D), view.op.input(view.graph, WEIGHTS).shape
    params: Params = {
        **window_params(view),
        "in_channels": depth,
        "groups": 1,
        "depth": depth,
        "outputs": channels,
    }
    return _layer(view, "conv2d", params, Entry(Call.ROWS, taps=op.vertical.kernel))


def _depthwise(view: View) -> Packed | Refusal:
    op = view.the(DepthwiseConv2D)
    params: Params = {
        **window_params(view),
        "in_channels": view.input.shape[3],
        "channels": view.output.shape[3],
        "multiplier": op.multiplier,
    }
    return _layer(view, "depthwise", params, Entry(Call.ROWS, taps=op.vertical.kernel))


def _fully_connected(view: View) -> Packed | Refusal:
    channels, depth = view.op.input(view.graph, WEIGHTS).shape
    params: Params = {"depth": depth, "channels": channels}
    return _layer(view, "fully_connected", params, Entry(Call.FLAT, units_of(view.input.shape, depth)))


KERNELS = tuple(
    Kernel(
        f"learned_{layer}_f32",
        (kind,),
        FLOAT32,
        pack,
        f"layer_{layer}",
        costs=f"{layer}_f32",
        learned=frozenset({WEIGHTS, BIAS}),
    )
    for layer, kind, pack in (
        ("conv2d", Conv2D, _conv2d),
        ("depthwise", DepthwiseConv2D, _depthwise),
        ("fully_connected", FullyConnected, _fully_connected),
    )
)
