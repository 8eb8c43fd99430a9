"""Products of computed matrices, sixteen values at a time: `mote_matmul_vectors_s8.h`."""

from __future__ import annotations

from mote.compiler.kernels.contract import INT8, Kernel, Packed, Refusal, View, aligned
from mote.compiler.kernels.helium.common import HELIUM
from mote.compiler.kernels.pack.matmul import packed_matmul
from mote.compiler.kernels.portable.matrix.batch_matmul import product_walk
from mote.ir.ops.matrix.batch_matmul import BatchMatmul, HeadMatmul, MatrixProduct

STEP = 8192
"""`MOTE_VECTORS_STEP`."""
VECTOR = 16


def _vectors(view: View) -> Packed | Refusal:
    _, depth, columns = view.the(MatrixProduct).sizes(view.graph)
    deep = aligned(depth, VECTOR)
    walk = product_walk(view)
    if max(walk.left[1], walk.right[1]) > STEP:
        return Refusal(f"values of a sum lie more than {STEP} bytes apart")
    return packed_matmul(view, "matmul_vectors_s8", deep, 2 * deep + aligned(columns) // 4 * (4 * deep + VECTOR))


KERNELS = tuple(
    Kernel("batch_matmul_vectors", (op,), INT8, _vectors, header="matmul_vectors_s8", isa=HELIUM, lanes=4)
    for op in (BatchMatmul, HeadMatmul)
)
