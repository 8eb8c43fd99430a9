"""Distances to stored vectors, and support vector machines: `mote_vectors_f32.h`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mote.compiler.kernels.contract import FLOAT32, Call, Entry, Kernel, Packed, Params, Refusal, View, units_of
from mote.ir.ops.classical.distances_svm import (
    COEFFICIENTS,
    INTERCEPTS,
    VECTORS,
    WEIGHTS,
    Distances,
    KernelFunction,
    Metric,
    SupportVectors,
)

LIKE = "fully_connected_f32"
"""Cost family that these kernels share."""
METRICS = list(Metric)


def _distances(view: View) -> Packed:
    op, depth = view.the(Distances), view.input.shape[-1]
    params: Params = {
        "depth": depth,
        "count": view.output.shape[-1],
        "metric": METRICS.index(op.metric),
        "vectors": view.constant(VECTORS),
    }
    name = "distances_f32"
    if len(op.inputs) > WEIGHTS:
        name, params = "weighted_distances_f32", {**params, "weights": view.constant(WEIGHTS)}
    return Packed(name, params, Entry(Call.FLAT, units_of(view.input.shape, depth)))


def _support(function: KernelFunction) -> Callable[[View], Packed | Refusal]:
    def pack(view: View) -> Packed | Refusal:
        op, depth = view.the(SupportVectors), view.input.shape[-1]
        if op.function != function:
            return Refusal(f"its function is {op.function}")
        params: Params = {
            "depth": depth,
            "classes": len(op.counts),
            "degree": op.degree,
            "gamma": op.gamma,
            "offset": op.offset,
            "counts": np.array(op.counts, np.int32),
            "vectors": view.constant(VECTORS),
            "coefficients": view.constant(COEFFICIENTS),
            "intercepts": view.constant(INTERCEPTS),
        }
        return Packed(f"support_{function}_f32", params, Entry(Call.FLAT, units_of(view.input.shape, depth)))

    return pack


KERNELS = (
    Kernel("distances_f32", (Distances,), FLOAT32, _distances, header="vectors_f32", costs=LIKE),
    *(
        Kernel(f"support_{f}_f32", (SupportVectors,), FLOAT32, _support(f), header="vectors_f32", costs=LIKE)
        for f in KernelFunction
    ),
)
