"""Products of computed matrices, two rows and four columns at a time: `mote_matmul_pairs_s8.h`."""

from __future__ import annotations

from mote.compiler.kernels.armv7em.common import DSP
from mote.compiler.kernels.contract import INT8, Kernel, Packed, Refusal, View, aligned
from mote.compiler.kernels.pack.matmul import packed_matmul
from mote.ir.ops.matrix.batch_matmul import BatchMatmul, HeadMatmul, MatrixProduct


def _pairs(view: View) -> Packed | Refusal:
    _, depth, columns = view.the(MatrixProduct).sizes(view.graph)
    return packed_matmul(view, "matmul_pairs_s8", aligned(depth), 2 * aligned(depth) * (2 + aligned(columns)))


KERNELS = tuple(
    Kernel("batch_matmul_pairs", (op,), INT8, _pairs, header="matmul_pairs_s8", isa=DSP, lanes=4)
    for op in (BatchMatmul, HeadMatmul)
)
