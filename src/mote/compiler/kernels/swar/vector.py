"""Fully connected layers with two products in one multiplication (SWAR): packed weights and constants of
`mote_fully_connected_swar_s8.h`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from mote.compiler.kernels.contract import (
    INT8,
    Call,
    Entry,
    Instance,
    Kernel,
    Knob,
    Needs,
    Packed,
    Params,
    Price,
    Refusal,
    Structs,
    View,
)
from mote.compiler.kernels.pack.params import output_params, pad_to
from mote.compiler.kernels.pack.requantize.even import TO_EVEN
from mote.compiler.kernels.pack.weights.swar import VECTOR, Places, SwarWeights, swar
from mote.compiler.kernels.portable.matrix.fully_connected import FINE, starts, sums_of, vectors
from mote.compiler.kernels.swar.gemm import CUTS_OFF, OVERFLOWS, CoreProducts, left_over
from mote.ir.graph.numeric.fixedpoint import Ints, wrap32
from mote.ir.graph.types import Rounding
from mote.ir.ops.common import int8_range
from mote.ir.ops.matrix.fully_connected import FullyConnected

CHANNELS = 4
"""Output channels that are computed at once."""
INPUTS = 8
"""Inputs are zero-padded to a multiple of this."""
BYTES, JOINED, WORDS = "bytes", "joined", "words"
"""Values of the knob `weights`: one byte each, all unpacked in the loop (BYTES); one byte each, of which only every
second is unpacked (JOINED); two bytes each (WORDS)."""


@dataclass(frozen=True)
class VectorLoop:
    """Variant of the inner loop over the inputs: weight format, channels at once, and memory layout of the inputs."""

    name: str
    weights: str
    channels: int
    places: Places

    @property
    def inputs(self) -> int:
        """Inputs of a group."""
        return 2 * self.places.words


USUAL = VectorLoop("swar", BYTES, CHANNELS, VECTOR)
LOOPS = (
    USUAL,
    VectorLoop("joined4x4", JOINED, 4, Places(12, 4, 2, 1)),
    VectorLoop("joined4x8", JOINED, 4, Places(20, 4, 4, 1)),
    VectorLoop("joined8x8", JOINED, 8, Places(20, 4, 4, 1)),
    VectorLoop("words4x4", WORDS, 4, Places(8, 4)),
)
KNOBS: dict[str, dict[str, tuple[Knob, ...]]] = {
    "armv6m": {"weights": (BYTES, JOINED, WORDS)},
    "rv32m": {"weights": (BYTES, JOINED), "channels": (4, 8), "inputs": (4, 8)},
}
"""For each instruction set: the knobs `weights` (format), `channels` (computed at once) and `inputs` (accumulated
before the upper half of a packed sum is extracted)."""


def _pack(
    view: View, products: CoreProducts, *, weights: str = BYTES, channels: int = 4, inputs: int = 4
) -> Packed | Refusal:
    wanted = weights, channels, inputs
    loop = next((loop for loop in LOOPS if (loop.weights, loop.channels, loop.inputs) == wanted), None)
    if loop is None:
        return Refusal(f"there is no loop for {channels} channels and {inputs} inputs with weights in {weights}")
    return _packed(view, products, loop)


def _packed(view: View, products: CoreProducts, loop: VectorLoop) -> Packed | Refusal:
    op, y, sums = view.the(FullyConnected), view.output, view.once(sums_of)
    if int8_range(op.activation, y) != (-128, 127):
        return CUTS_OFF
    if not sums.fits.all():
        return OVERFLOWS
    constants = products.constants(sums)
    slow = np.flatnonzero(constants.slow)
    if len(slow) and sums.even:
        return TO_EVEN
    if not sums.exact[slow].all():
        return FINE
    matrix = pad_to(np.where(sums.constant[:, None], 0, view.constant(1).astype(np.int64)), 1, INPUTS)
    weights = swar(matrix, loop.places, view.graph.ranges[view.input.id].hull)
    of_channels = _by_group(weights, loop)
    begins = np.where(sums.constant, 0, view.once(starts) + constants.offset)
    blocks, at = [], []
    length = 0
    for first in range(0, len(matrix), loop.channels):
        own = slice(first, first + loop.channels)
        behind = zip(weights.spills[own], constants.rows[own], strict=True)
        words = of_channels[:, own]
        missing = loop.channels - words.shape[1]
        block = [
            pad_to(begins[own], 0, loop.channels),
            np.pad(words, [(0, 0), (0, missing), (0, 0)], constant_values=_no_weight(loop)).reshape(-1),
            *(part for spills, rest in behind for part in (left_over(spills), rest)),
        ]
        at += [length] * loop.channels
        length += sum(map(len, block))
        blocks += block
    again = np.stack([slow, np.array(at)[slow], sums.mult[slow], -sums.shift[slow] - 1], axis=1)
    form = ("linear" if sums.linear else "plain") + products.suffix
    groups = matrix.shape[1] // loop.inputs
    params: Params = {
        "depth": view.constant(1).shape[1],
        "groups": groups,
        "channels": len(matrix),
        "round_once": int(op.rounding is not Rounding.TWICE),
        "stream": wrap32(np.concatenate(blocks)).astype(np.int32),
        "slow": len(slow),
        "again": Structs("mote_fc_swar_again_t", again) if len(slow) else 0,
        "output": output_params(op.activation, y),
    }
    usual = loop is USUAL
    instance = Instance("MOTE_FULLY_CONNECTED_SWAR", (form,))
    if not usual:
        instance = Instance("MOTE_FULLY_CONNECTED_BLOCKS", (form, loop.name, loop.channels, loop.places.group // 4))
    return Packed(
        f"fully_connected_{loop.name}_{form}",
        params,
        Entry(Call.FLAT, vectors(view)),
        Needs(scratch=loop.places.group * groups),
        Price(density=weights.density),
        (instance,),
        () if usual else ("fully_connected_blocks_s8",),
    )


def _by_group(weights: SwarWeights, loop: VectorLoop) -> Ints:
    """Packed weights with shape [groups, channels, words]."""
    words = weights.words if loop.weights == WORDS else weights.bytes
    return words.reshape(len(words), weights.pairs.shape[1], -1).transpose(1, 0, 2)


def _no_weight(loop: VectorLoop) -> int:
    """A word of zero weights."""
    return 0 if loop.weights == WORDS else 0x80808080


def kernels(products: CoreProducts, isa: str, ending: str = "") -> tuple[Kernel, ...]:
    """Catalogue entries for an instruction set; `ending`: suffix of the kernels' names."""
    return (
        Kernel(
            f"fully_connected_swar{products.suffix}{ending}",
            (FullyConnected,),
            INT8,
            partial(_pack, products=products),
            header="fully_connected_swar_s8",
            isa=frozenset({isa}),
            lanes=CHANNELS,
            knobs=(lambda view: KNOBS[isa]) if isa in KNOBS else None,
        ),
    )
