"""Grouped convolutions four output channels and two pixels at a time: packed weights and code of
`mote_grouped4_s8.h`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.compiler.kernels.contract import (
    INT8,
    Call,
    Entry,
    Instance,
    Kernel,
    Needs,
    Packed,
    Params,
    Price,
    Refusal,
    View,
)
from mote.compiler.kernels.helium.common import HELIUM, NO_CONSTANTS
from mote.compiler.kernels.helium.gemm.gemm4 import TILE, VECTOR, Layer, layer, vectors_of
from mote.compiler.kernels.helium.gemm.gemm_assembly import CHANNELS, PAIR, Columns, Outputs, code
from mote.compiler.kernels.helium.padded_rows import padded_params, padded_rows
from mote.compiler.kernels.helium.requantize import Requantize
from mote.compiler.kernels.pack.requantize.vector import COUNT
from mote.ir.ops.windows.grouped_conv import GroupedConv2D


def _pack(view: View) -> Packed | Refusal:
    op, x, y, w = view.the(GroupedConv2D), view.input, view.output, view.constant(1)
    v, h = op.vertical, op.horizontal
    groups, inputs = op.groups(view.graph), w.shape[3]
    outputs = w.shape[0] // groups
    at_once = 1 if inputs % VECTOR == 0 else VECTOR // inputs
    if inputs % 4 or at_once * inputs % VECTOR or at_once > groups:
        return Refusal("no few groups have a multiple of sixteen input channels")
    if at_once * outputs < CHANNELS:
        return Refusal("there are fewer than four channels")
    columns = Columns(v.kernel, h.kernel, h.stride, at_once * inputs, x.shape[3])
    if not columns.fits or h.dilation > 1 or y.shape[2] < PAIR:
        return Refusal("it is for windows of up to three rows over few channels, and rows of two pixels and more")
    conv = layer(view)
    if conv is None:
        return NO_CONSTANTS
    padded = padded_rows(view, columns.span)
    requantize = Requantize.of(conv.lanes)
    parts = [
        _part(conv, columns, w.shape, min(first, groups - at_once) * outputs, outputs)
        for first in range(0, groups, at_once)
    ]
    weights, constants = (np.concatenate([part[name] for part in parts]) for name in ("weights", "constants"))
    shape = (v.kernel, h.kernel, h.stride, at_once * inputs, x.shape[3])
    name = f"{v.kernel}x{h.kernel}x{shape[3]}_{x.shape[3]}_s{h.stride}_{y.shape[3]}_{requantize.name}"
    arguments = (name, COUNT[requantize.form], *shape, y.shape[3], requantize.form, requantize.shift)
    function = Instance("MOTE_GROUPED4_CODE", arguments, tuple(code(columns, Outputs(requantize, y.shape[3]))))
    slide: Params = {
        **padded_params(view, padded),
        "depth": x.shape[3],
        "zero": x.zero_point,
        "span": columns.span,
        "gemm": {**parts[0], "weights": weights, "constants": constants, "channels": y.shape[3]},
    }
    params: Params = {
        "slide": slide,
        "groups": groups,
        "at_once": at_once,
        "inputs": inputs,
        "outputs": outputs,
        "weights": weights.size // len(parts),
        "constants": constants.size // len(parts),
    }
    return Packed(
        f"grouped4_{name}",
        params,
        Entry(Call.ROWS, row=f"grouped4_{name}_row", taps=v.kernel),
        Needs(scratch=padded.size if padded else v.kernel * columns.span * x.shape[3]),
        Price(groups=groups, tile=TILE, whole_tiles=True, row_tiles=True, density=len(parts) * at_once**2 / groups),
        instances=(function, Instance("MOTE_GROUPED4", (name,))),
    )


def _part(conv: Layer, columns: Columns, shape: tuple[int, ...], first: int, outputs: int) -> Params:
    """Parameters `mote_gemm4_t` of some groups with `outputs` channels each, from channel `first` on: weights are zero
    for the inputs of the other groups."""
    inputs = shape[3]
    groups = np.arange(columns.channels // inputs, dtype=np.int64)
    channels = first + np.arange(len(groups) * outputs, dtype=np.int64)
    grouped = conv.weights.reshape(shape)[channels].reshape(len(groups), outputs, *shape[1:])
    weights = np.zeros((len(groups), outputs, *shape[1:3], len(groups), inputs), np.int8)
    weights[groups, ..., groups, :] = grouped
    part = replace(conv, weights=weights.reshape(len(channels), -1), constants=conv.constants[channels])
    order = vectors_of(columns)
    return part.params(part.weights.reshape(len(channels), -1, VECTOR)[:, order].reshape(len(channels), -1))


KERNELS = (Kernel("grouped4", (GroupedConv2D,), INT8, _pack, header="grouped4_s8", isa=HELIUM, lanes=4),)
