"""The kernels of the stock runtime, for which images are packed by default.

They are data, recorded from what the tests of operators compile (`benchmarks/kernels.py`): every portable kernel, and
those of instruction sets that are not specialized for one layer, with portable fallbacks for cores that lack the
instructions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib.resources import files

from mote.base.errors import MoteError
from mote.compiler.emit.image.entries import Limits
from mote.compiler.emit.image.kernels import KernelRecord
from mote.compiler.emit.image.manifest import Manifest, manifest
from mote.compiler.emit.image.npu.kernels import npu_kernels
from mote.compiler.kernels.armv7em.gemm.gemm3 import GemmForm
from mote.compiler.kernels.armv7em.gemm.gemm4x2 import shared_instances
from mote.compiler.kernels.armv7em.gemm.gemm_assembly import MatrixWeights
from mote.hardware.targets import ALIGNED, Target

FILE = "stock.json"
MINIMAL = (
    *("conv2d_s8", "depthwise_s8", "pointwise_s8", "fully_connected_s8", "add_s8", "mul_s8", "pool_s8", "pool_add_s8"),
    *("mean_s8", "mean_add_s8", "mean_lines_s8", "softmax_s8", "softmax_table_s8", "lut_s8", "move", "copy", "join"),
    *("quantize", "sum_s8"),
)
"""Kernel headers that an int8 CNN needs on any core."""
TUNED = (
    *("conv3_pair_linear_0", "conv3_pair_nhwc_0", "conv3_pair_planar_0", "pointwise3_pair_linear_0"),
    *("pointwise3_pair_nhwc_0", "pointwise3_rows_pair_planar_0", "winograd2_s8_linear_11", "winograd2_s8_relu_11"),
    *("depthwise3_any_s1_relu_10", "depthwise3_any_s2_relu_10", "depthwise_column_s8"),
    *("depthwise3_w16_s1_3c_4_relu_10", "depthwise3_w16_s1_5c_8_relu_10", "depthwise3_w16_s1_6_8_relu_10"),
    *("depthwise_any5_s1_relu_10", "depthwise_any5_s2_relu_10"),
    *("depthwise_any7_s1_relu_10", "depthwise_any7_s2_relu_10"),
    *("fully_connected4_s8", "fully_connected4_roomy_s8", "add4_s8", "add4_rows_s8"),
)
"""Kernels in addition to the minimal set, for cores with DSP instructions; they take layers of any shape."""
SHARED, SHARED_LIKE = (GemmForm(MatrixWeights.WIDE, "", "planar", 11),), "pointwise3_rows_pair_planar_0"
"""Forms of 1x1 convolutions whose code layers share, and an existing kernel with the same parameters."""
MOST_JOINED = 4
"""Maximum inputs of a concatenation in the minimal set."""


@cache
def everything() -> tuple[KernelRecord, ...]:
    """All recorded kernels."""
    text = (files("mote.compiler.emit.image") / FILE).read_text(encoding="utf-8")
    return tuple(KernelRecord.from_json(data) for data in json.loads(text))


def limits_of(target: Target, *, together: bool = False) -> Limits:
    """The limits of a runtime for a target; `together`: all kernels are in one C file."""
    fast, npu = (target.npu.fast, target.npu.family) if target.npu else (0, "")
    fused, aligned = "fma" in target.features, ALIGNED in target.features
    return Limits(fused=fused, aligned=aligned, together=together, fast=fast, npu=npu)


def stock(target: Target) -> Manifest:
    """The stock runtime of a target, with NPU kernels if it has an Ethos-U."""
    kernels = (*everything(), *(npu_kernels() if target.npu else ()))
    return manifest("the stock runtime", target.name, target.features, kernels, limits_of(target))


def minimal(target: Target) -> Manifest:
    """The minimal runtime for int8 CNNs."""
    return _set("the minimal runtime", target, _minimal())


def tuned(target: Target) -> Manifest:
    """The minimal runtime with additional tuned kernels for cores with DSP instructions, which take layers of any
    shape."""
    if "dsp" not in target.features:
        raise MoteError(
            "the tuned kernels need DSP instructions, which this core does not have",
            where=f"target {target.name}",
            remedy="use --kernels minimal, or all",
        )
    kernels = (*_minimal(), *(k for k in everything() if k.name in TUNED), *_shared())
    return _set("the tuned runtime", target, kernels)


def _set(where: str, target: Target, kernels: Iterable[KernelRecord]) -> Manifest:
    return manifest(where, target.name, target.features, kernels, limits_of(target, together=True))


def _shared() -> Iterator[KernelRecord]:
    """The kernels of 1x1 convolutions that compute four pixels at a time by code shared by layers of any depth."""
    like = next(k for k in everything() if k.name == SHARED_LIKE)
    for form in SHARED:
        name, instances = shared_instances(form, 0)
        kernel = f"pointwise4x2_{name}"
        yield replace(
            like,
            name=kernel,
            headers=("gemm4x2_s8",),
            rows=f"{kernel}_rows",
            instances=instances,
        )


def _minimal() -> list[KernelRecord]:
    return [k for k in everything() if k.headers[0] in MINIMAL and k.operands <= MOST_JOINED]
