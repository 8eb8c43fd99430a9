"""Kernels for layers with constant weights and biases that are learned on the device: `mote_learned_bias.h`.

One wrapper serves all kernels, which keep their weights, code and requantization constants. `Biases` says where the
biases are among a kernel's parameters; before each call the wrapper copies them to scratch memory and adds the learned
ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import (
    Biases,
    Entry,
    Instance,
    Kernel,
    Knob,
    Packed,
    Params,
    Refusal,
    Structs,
    Value,
    View,
    aligned,
)
from mote.ir.graph.tensor import Array
from mote.ir.ops.common import BIAS, WindowOp, learned, learned_bias_bits

HEADER = "learned_bias"
WORD, CHANNEL = 1.5, 16.0
"""Estimated cycles to copy a word of the bias array, and to add one learned bias."""
MOST_WORDS = 1 << 16
"""Maximum size in words of an array with irregularly placed biases, whose positions are stored as uint16."""
BUILT_IN = Refusal("its biases are part of its code or weights")


def learning(kernel: Kernel) -> Kernel:
    """The kernel, extended to layers with a learned bias."""
    header = kernel.header or f"{kernel.name}_s8"
    return replace(kernel, pack=partial(_pack, kernel=kernel), header=header, learned=kernel.learned | {BIAS})


def _pack(view: View, kernel: Kernel, **knobs: Knob) -> Packed | Refusal:
    packed = kernel.pack(view, **knobs)
    if isinstance(packed, Refusal) or BIAS not in learned(view.graph, view.op):
        return packed
    if packed.biases is None or packed.entry.row_index or packed.sealed is not None:
        return BUILT_IN
    return _with_learned(view, packed, packed.biases)


def _with_learned(view: View, inner: Packed, biases: Biases) -> Packed | Refusal:
    """Wraps a bound kernel so that it takes the learned bias as second operand, after the row pointers of the first
    one."""
    entry, placed = inner.entry, biases.starts is not None
    array = _array(inner.params, biases.path) if biases.starts is None else biases.starts
    words, own = _words(array), aligned(inner.needs.scratch or 0)
    if biases.owners is not None and max(words, view.output.channels) > MOST_WORDS:
        return Refusal(f"its biases lie irregularly among {words} words, which may be {MOST_WORDS} at most")
    scale, places = biases.scale, _places(biases.owners)
    given: Params = {
        "channels": view.output.channels,
        "words": words,
        "step": biases.step,
        "placed": places.size // 2,
        "places": places if places.size else 0,
        "own": own,
        **_rows_under(view, entry),
        "bits": learned_bias_bits(view.graph, view.op).astype(np.uint8),
        "starts": array if placed else 0,
        "scale": 0 if scale is None or bool(np.all(scale == 1)) else scale.astype(np.int32),
    }
    name = f"{inner.name}_learned"
    scratch = "MOTE_LEARNED_SCRATCH" if inner.needs.scratch is not None else "MOTE_LEARNED_NO_SCRATCH"
    put = "MOTE_LEARNED_PAIRS" if biases.paired else "MOTE_LEARNED_PLACE" if placed else "MOTE_LEARNED_PARAMETER"
    of = inner.name, put, biases.path, scratch
    instances = [Instance(f"MOTE_LEARNED_BIAS_{entry.call.name}", of)]
    if entry.row:
        instances.append(Instance("MOTE_LEARNED_BIAS_ROW", (*of, entry.row)))
    if entry.rows:
        instances.append(Instance("MOTE_LEARNED_BIAS_SEVERAL", (*of, entry.rows)))
    return replace(
        inner,
        name=name,
        family=inner.family,
        params={"kernel": inner.params, "learned": given},
        entry=replace(
            entry,
            operands=(0, BIAS),
            row=f"{entry.row}_learned" if entry.row else "",
            rows=f"{entry.rows}_learned" if entry.rows else "",
        ),
        needs=replace(inner.needs, scratch=own + 4 * words),
        price=replace(inner.price, opening=WORD * words + CHANNEL * view.output.channels),
        instances=(*inner.instances, *instances),
        headers=(*inner.headers, HEADER),
        biases=None,
    )


def _places(owners: NDArray[np.int64] | None) -> NDArray[np.uint16]:
    """Pairs of channel and word index for irregularly placed biases."""
    words = np.flatnonzero(owners) if owners is not None else np.zeros(0, np.int64)
    channels = words if owners is None else owners[words] - 1
    return np.stack([channels, words], axis=1).astype(np.uint16).reshape(-1)


def _rows_under(view: View, entry: Entry) -> Params:
    """Number of row pointers before the pointer to the learned biases, for the one-row and the several-rows
    function."""
    if not isinstance(view.op, WindowOp):
        return {"under_row": 1, "under_rows": 1}
    rows = view.op.vertical
    return {"under_row": rows.kernel, "under_rows": (entry.group - 1) * rows.stride + rows.kernel}


def _array(params: Mapping[str, Value], path: str) -> Array | Structs:
    value: Value = params
    for name in path.split("."):
        assert isinstance(value, Mapping)
        value = value[name]
    assert isinstance(value, np.ndarray | Structs)
    return value


def _words(array: Array | Structs) -> int:
    return array.rows.size if isinstance(array, Structs) else array.size
