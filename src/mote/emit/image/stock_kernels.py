"""The kernels of the stock runtime, for which images are packed by default.

They are data, recorded from what the tests of operators compile (`benchmarks/kernels.py`): every portable kernel, and
those of instruction sets that are not made for one layer, with portable versions on cores that lack the
instructions.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from mote.emit.image.entries import Limits
from mote.emit.image.kernels import KernelRecord
from mote.emit.image.manifest import Manifest, manifest
from mote.targets import ALIGNED, Target

FILE = "stock.json"
MINIMAL = (
    *("conv2d_s8", "depthwise_s8", "pointwise_s8", "fully_connected_s8", "add_s8", "mul_s8", "pool_s8", "pool_add_s8"),
    *("mean_s8", "mean_add_s8", "mean_lines_s8", "softmax_s8", "softmax_table_s8", "lut_s8", "move", "copy", "join"),
    *("quantize", "sum_s8"),
)
"""Kernel headers that an int8 CNN needs on any core."""
MOST_JOINED = 4
"""Most inputs of a concatenation in the minimal set."""


@cache
def everything() -> tuple[KernelRecord, ...]:
    """All recorded kernels."""
    text = (files("mote.emit.image") / FILE).read_text(encoding="utf-8")
    return tuple(KernelRecord.from_json(data) for data in json.loads(text))


def limits_of(target: Target) -> Limits:
    """Limits of a runtime for a core."""
    return Limits(fused="fma" in target.features, aligned=ALIGNED in target.features)


def stock(target: Target) -> Manifest:
    """The stock runtime of a target."""
    return manifest("the stock runtime", target.name, target.features, everything(), limits_of(target))


def minimal(target: Target) -> Manifest:
    """The minimal runtime for int8 CNNs."""
    kernels = (k for k in everything() if k.headers[0] in MINIMAL and k.operands <= MOST_JOINED)
    return manifest("the minimal runtime", target.name, target.features, kernels, limits_of(target))
