"""Matrix-vector products six outputs at a time: parameters and instances of `mote_fully_connected6_pairs_s8.h`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from mote.compiler.kernels.armv7em.common import NO_CONSTANTS
from mote.compiler.kernels.armv7em.ordering.knob import SINGLE
from mote.compiler.kernels.armv7em.vector.vector4 import ROOMY, Matrix, pairs_fit
from mote.compiler.kernels.armv7em.vector.vector6_assembly import LONG, ONCE, code
from mote.compiler.kernels.armv7em.vector.vector8 import COMPACT, DEPTH, MOST_STEPS, SCALE, Finish, kernels
from mote.compiler.kernels.contract import Call, Entry, Instance, Needs, Packed, Params, Refusal
from mote.compiler.kernels.pack.params import pad_to
from mote.ir.graph.numeric.fixedpoint import Ints, wrap32

NAME = "fully_connected6_pairs"
OUTPUTS, PAIRS = 6, 3
FPU = "_fpu"
"""Name suffix of kernels that keep inputs in FPU registers."""


def _packed(
    matrix: Matrix,
    vectors: int,
    finish: Finish | Refusal,
    *,
    roomy: bool,
    compact: bool = False,
    fpu: bool = False,
) -> Packed | Refusal:
    if isinstance(finish, Refusal):
        return finish
    channels, inputs = matrix.weights.shape
    steps, last = -(-inputs // DEPTH), -(-(channels % OUTPUTS) // 2) or PAIRS
    if channels < OUTPUTS:
        return Refusal(f"there are fewer than {OUTPUTS} outputs")
    if steps > MOST_STEPS:
        return Refusal("there are too many inputs")
    if not roomy and inputs % DEPTH:
        return Refusal(f"the inputs are no multiple of {DEPTH}")
    if fpu and steps > LONG:
        return Refusal("registers of the FPU hold too few of the inputs")
    largest = int(np.maximum(-matrix.sums.low, matrix.sums.high).max())
    if not pairs_fit(matrix.weights, largest):
        return NO_CONSTANTS
    text = partial(code, steps, shift=finish.shift, form=finish.form, roomy=roomy, fpu=fpu)
    texts = {pairs: text(pairs=pairs, compact=compact) for pairs in sorted({PAIRS, last})}
    if compact and texts[PAIRS] == text(pairs=PAIRS, compact=False):
        return Refusal("its code is short as it is")
    form = "" if finish.form == ONCE else f"_{finish.form}"
    ends = (ROOMY if roomy else "", COMPACT if compact else "", FPU if fpu else "")
    name = f"{steps}_{finish.shift}{form}{''.join(ends)}"
    instances = [
        Instance(
            "MOTE_FC6_PAIRS_CODE",
            (f"{name}_{pairs}", steps, pairs, finish.shift, finish.form, int(roomy)),
            tuple(lines),
            apart=pairs != PAIRS,
        )
        for pairs, lines in texts.items()
    ]
    whole = f"{name}_of_{last}"
    kernel = (whole, steps, finish.form, f"{name}_{PAIRS}", f"{name}_{last}")
    params: Params = {
        "inputs": inputs,
        "channels": channels,
        **finish.scalars,
        "weights": wrap32(_stream(matrix, finish)).astype(np.int32),
    }
    return Packed(
        f"{NAME}_{whole}",
        params,
        Entry(Call.FLAT, vectors),
        Needs(scratch=8 * steps if roomy else None),
        instances=(*instances, Instance(f"MOTE_FULLY_CONNECTED6_PAIRS{ROOMY.upper() if roomy else ''}", kernel)),
    )


def _stream(matrix: Matrix, finish: Finish) -> Ints:
    """Serialize three pairs of outputs at a time: initial sums, words of two weights of each pair in turn,
    requantization constants. With constants for each channel, a pair's first sum starts at zero: its bias is part of
    the constants, times 256."""
    padded = pad_to(pad_to(matrix.weights.astype(np.int64), 0, 2), 1, DEPTH)
    weights = padded.reshape(len(padded) // 2, 2, -1, DEPTH)
    first, second = weights[:, 0], weights[:, 1]
    products = (first[..., 0] * first[..., 1] + first[..., 2] * first[..., 3]).sum(axis=1)
    start, offset = (pad_to(values, 0, 2).reshape(-1, 2) for values in (matrix.channel[:, 0], finish.offset))
    begins = np.stack([start[:, 0] - products, (start[:, 1] << SCALE) + offset[:, 1]], axis=1)
    constants = finish.constants
    if finish.form == ONCE:
        begins[:, 1] += start[:, 0]
    else:
        constants = np.concatenate([constants[:, :1] + (begins[:, :1] << SCALE), constants[:, 1:]], axis=1)
        begins = begins[:, 1:] + products[:, None]
    both = first + 256 * second
    words = (both[..., :2] & 0xFFFF) | both[..., 2:] << 16
    groups = pairwise([*range(0, len(begins), PAIRS), len(begins)])
    parts = ((begins[a:b], words[a:b].transpose(1, 0, 2), constants[a:b]) for a, b in groups)
    return np.concatenate([values.reshape(-1) for part in parts for values in part])


KERNELS = (
    *(
        replace(kernel, isa=kernel.isa | {"fpu"}, unless=frozenset({"dual", "mve"}))
        for kernel in kernels(NAME, OUTPUTS, partial(_packed, roomy=True, fpu=True), ROOMY + FPU, SINGLE)
        if not kernel.name.endswith(COMPACT)
    ),
    *kernels(NAME, OUTPUTS, partial(_packed, roomy=True), ROOMY),
    *kernels(NAME, OUTPUTS, partial(_packed, roomy=False)),
)
