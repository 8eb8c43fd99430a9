"""SOFTMAX, LOG_SOFTMAX and other normalizations of vectors: `mote_softmax_s8.h`, `mote_softmax_table_s8.h`,
`mote_softmax_s8_s16.h`, `mote_softmax_s16.h`, `mote_softmax_f32.h`, and `mote_log_softmax_*.h`,
`mote_l2_normalization_*.h`, `mote_local_response_f32.h`, `mote_standardize_f32.h`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.compiler.kernels.contract import (
    FLOAT32,
    INT8,
    OTHER,
    OTHER_F32,
    OTHER_S16,
    Call,
    Entry,
    Kernel,
    Needs,
    Packed,
    Params,
    Refusal,
    View,
    signature,
    units_of,
)
from mote.compiler.kernels.pack.params import scale_params
from mote.ir.graph.types import DType
from mote.ir.ops.reductions.layer_norm import BIAS, SCALE, RootMeanSquare, Standardize
from mote.ir.ops.reductions.normalize import ONE_OVER_128, L2Normalization, LocalResponseNormalization, LogSoftmax
from mote.ir.ops.reductions.softmax import EXP_LINES, RECIPROCAL_LINES, Softmax, exponentials

MAX_SHIFT = 30
"""Maximum left shift, the largest that C allows for int32; larger ones would only be applied to zeros."""


MANY, FEW = 256, 64
"""Minimum number of elements for which a table of exponentials, 1024 bytes, is worth its flash; FEW: if flash does not
count."""


def _packed(view: View, name: str, params: Params) -> Packed:
    depth = view.input.shape[-1]
    return Packed(
        name, {"depth": depth, **params}, Entry(Call.FLAT, units_of(view.input.shape, depth)), Needs(in_place=(0,))
    )


def _softmax_f32(view: View) -> Packed:
    return _packed(view, "softmax_f32", {"beta": view.the(Softmax).beta})


def _softmax(view: View) -> Packed:
    return _packed(view, "softmax_s8", _steps(view.the(Softmax).scaling(view.graph)))


def _softmax_table(view: View) -> Packed | Refusal:
    """Packs int8 SOFTMAX with a table of all exponentials, for large inputs."""
    if view.input.size < (FEW if view.fast else MANY):
        return Refusal("a table of exponentials takes more flash than computing them")
    steps = -np.arange(256, dtype=np.int64).astype(np.int16)
    exp = exponentials(steps, *view.the(Softmax).scaling(view.graph)).astype(np.int32)
    return replace(_packed(view, "softmax_table_s8", {"exp": exp}), beats=() if view.small else ("softmax",))


def _steps(scaling: tuple[int, int, int]) -> Params:
    """Rescaling of input differences for the exponential."""
    mult, shift, radius = scaling
    return {"mult": mult, "shift": min(shift, MAX_SHIFT), "radius": radius}


def _softmax_wide(view: View) -> Packed:
    packed = _packed(view, "softmax_s8_s16", _steps(view.the(Softmax).scaling(view.graph)))
    return replace(packed, needs=replace(packed.needs, in_place=()))


def _softmax_s16(view: View) -> Packed:
    mult, shift = view.the(Softmax).scaling16(view.input)
    tables: Params = {"exp": EXP_LINES, "reciprocal": RECIPROCAL_LINES}
    return _packed(view, "softmax_s16", {"mult": mult, "shift": -shift - 1, **tables})


def _log_softmax(view: View) -> Packed:
    op = view.the(LogSoftmax)
    depth = view.input.shape[-1]
    back = {f"back_{name}": value for name, value in scale_params(*op.back(view.graph)).items()}
    params: Params = {"steps": {"depth": depth, **_steps(op.scaling(view.graph))}, **back}
    return Packed("log_softmax_s8", params, Entry(Call.FLAT, units_of(view.input.shape, depth)), Needs(in_place=(0,)))


def _log_softmax_f32(view: View) -> Packed:
    return _packed(view, "log_softmax_f32", {})


def _l2_normalization(view: View) -> Packed:
    before = view.the(L2Normalization).before(view.graph)
    return _packed(
        view, "l2_normalization_s8", {"zero": view.input.zero_point, "before": before, "after": ONE_OVER_128 - before}
    )


def _l2_normalization_f32(view: View) -> Packed:
    return _packed(view, "l2_normalization_f32", {})


def _local_response(view: View) -> Packed:
    op = view.the(LocalResponseNormalization)
    params: Params = {"radius": op.radius, "bias": op.bias, "alpha": op.alpha, "beta": op.beta}
    return replace(_packed(view, "local_response_f32", params), needs=Needs())


def _standardize(view: View) -> Packed:
    op = view.the(Standardize)
    given = {name: p for name, p in (("scale", SCALE), ("bias", BIAS)) if op.tensor(view.graph, p) is not None}
    name = "root_mean_square_f32" if isinstance(op, RootMeanSquare) else "standardize_f32"
    return _packed(view, name, {"epsilon": op.epsilon, **{name: view.constant(p) for name, p in given.items()}})


KERNELS = (
    Kernel("softmax_f32", (Softmax,), FLOAT32, _softmax_f32),
    Kernel("softmax_table", (Softmax,), INT8, _softmax_table),
    Kernel("softmax", (Softmax,), INT8, _softmax),
    Kernel("softmax_s8_s16", (Softmax,), signature(DType.INT8, DType.INT16), _softmax_wide, costs=OTHER_S16),
    Kernel("softmax_s16", (Softmax,), signature(DType.INT16, DType.INT16), _softmax_s16),
    Kernel("log_softmax", (LogSoftmax,), INT8, _log_softmax, costs=OTHER),
    Kernel("log_softmax_f32", (LogSoftmax,), FLOAT32, _log_softmax_f32, costs=OTHER_F32),
    Kernel("l2_normalization", (L2Normalization,), INT8, _l2_normalization),
    Kernel("l2_normalization_f32", (L2Normalization,), FLOAT32, _l2_normalization_f32, costs=OTHER_F32),
    Kernel("standardize_f32", (Standardize,), FLOAT32, _standardize, "standardize_f32", costs=OTHER_F32),
    Kernel("local_response_f32", (LocalResponseNormalization,), FLOAT32, _local_response, costs=OTHER_F32),
)
