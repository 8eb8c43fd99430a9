"""Convolutions whose channels have few distinct weights (binary, ternary): inputs of equal weight are summed before one
multiplication. Packed lists of inputs for `mote_lists_s8.h`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from mote.compiler.kernels.contract import Instance, Kernel, Packed, Refusal, View
from mote.compiler.kernels.pack.requantize.even import TO_EVEN
from mote.compiler.kernels.pack.weights.swar import GROUP
from mote.compiler.kernels.portable.windows.conv import sums_of
from mote.compiler.kernels.swar import gemm
from mote.compiler.kernels.swar.gemm import OVERFLOWS, CoreProducts, Stream
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.ops.common import bias_values

FEW = 3
"""Most distinct weights of a channel, apart from the most frequent one."""
LONGEST = 256
"""Most inputs of a list, so that their sum fits 16 bits."""
INPUT = 8
"""Bytes of an input of four pixels."""
FAR = 255 // INPUT
"""Most inputs that can be skipped between two entries of a list."""
LIST = 4
"""Overhead of a list, in inputs."""
OFFSET = 128
"""Offset that is added to inputs so that they are unsigned."""
MOST = 0xFFFF // INPUT
MANY = Refusal(f"a channel has more than {FEW + 1} distinct weights")
DEEP = Refusal(f"a window has more than {MOST} inputs")


def stream(view: View, products: CoreProducts) -> Stream | Refusal:
    """Lists and constants of all channels in the order in which the kernel reads them."""
    matrix = view.constant(1).astype(np.int64).reshape(view.output.shape[3], -1)
    groups = -(-matrix.shape[1] // GROUP)
    if groups * GROUP > MOST:
        return DEEP
    if max(len(np.unique(row)) for row in matrix) > FEW + 1:
        return MANY
    sums = sums_of(view)
    if not sums.fits.all():
        return OVERFLOWS
    constants = products.constants(sums)
    if sums.even and constants.slow.any():
        return TO_EVEN
    rows = constants.rows.copy()
    rows[constants.slow] = 0
    steps = np.stack([sums.mult, -sums.shift - 1, np.full_like(sums.mult, view.output.zero_point)], axis=1)
    rows[constants.slow, :3] = steps[constants.slow]
    matrix[sums.constant] = 0
    bias = bias_values(view.op.tensor(view.graph, 2), len(matrix)) - view.input.zero_point * matrix.sum(
        axis=1, dtype=np.int64
    )
    starts = np.where(sums.constant, 0, bias + constants.offset)
    behind = groups * GROUP - matrix.shape[1]
    work, parts = 0, []
    for row, start, slow, rest in zip(matrix, starts, constants.slow, rows, strict=True):
        usual = _usual(row)
        more = [int(weight) - usual for weight in np.unique(row) if weight != usual]
        lists = [(m, places) for m in more for places in pieces(np.flatnonzero(row - usual == m))]
        begin = start - OFFSET * (int(row.sum()) + behind * usual)
        parts += [[begin, usual], *(_words(m, places) for m, places in lists), [0, int(slow)], rest]
        work += sum(LIST + len(places) for _, places in lists)
    form = ("linear" if sums.linear else "plain") + products.suffix
    again = np.zeros((0, 4), np.int64)
    return Stream(f"lists_{form}", np.concatenate(parts).astype(np.int64), again, work / matrix.size)


def _usual(row: Ints) -> int:
    """The most frequent weight of a channel; of equally frequent ones, preferably zero."""
    values, counts = np.unique(row, return_counts=True)
    return int(max(zip(counts.tolist(), values.tolist(), strict=True), key=lambda each: (each[0], each[1] == 0))[1])


def pieces(places: Ints) -> Iterator[Ints]:
    """Split ascending input indices into lists that are short enough and whose gaps are small enough."""
    for near in np.split(places, np.flatnonzero(np.diff(places) - 1 > FAR) + 1):
        yield from np.split(near, range(LONGEST, len(near), LONGEST))


def _words(weight: int, places: Ints) -> Ints:
    """Serialize a list: weight, first offset and length, and a gap byte for each input."""
    gaps = np.diff(places, prepend=places[0] - 1) - 1
    bytes_ = np.pad(INPUT * gaps, (0, -len(gaps) % 4)).astype(np.uint8)
    head = [weight, int(places[0]) * INPUT | len(places) << 16]
    return np.concatenate([head, bytes_.view("<u4").astype(np.int64)])


def _pack(view: View, products: CoreProducts, *, pointwise: bool) -> Packed | Refusal:
    packed = gemm.pack(view, products, view.once(_STREAMS[products.suffix]), pointwise=pointwise)
    if isinstance(packed, Refusal):
        return packed
    form = packed.name.rpartition("_")[2]
    kind = "POINTWISE" if pointwise else "CONV"
    return replace(packed, instances=(Instance("MOTE_LISTS", (form,)), Instance(f"MOTE_{kind}_LISTS", (form,))))


_STREAMS = {a.suffix: partial(stream, products=a) for a in (gemm.LONG, gemm.SHORT_PRODUCT)}


def kernels(products: CoreProducts, isa: str, ending: str = "") -> tuple[Kernel, ...]:
    """Catalogue entries for an instruction set; `ending`: suffix of the kernels' names."""
    return gemm.kernels(products, isa, f"lists{products.suffix}{ending}", _pack, "lists_s8")
