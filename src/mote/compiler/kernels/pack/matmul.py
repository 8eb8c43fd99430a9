"""Products of computed matrices by kernels that pack the right ones into working memory: `mote_packed_matmul.h`."""

from __future__ import annotations

from mote.compiler.kernels.contract import Call, Entry, Needs, Packed, Params, Price, Refusal, View
from mote.compiler.kernels.pack.requantize.even import TO_EVEN, rounds_to_even
from mote.compiler.kernels.portable.matrix.batch_matmul import product_walk, sizes
from mote.ir.graph.numeric.fixedpoint import INT32_MAX
from mote.ir.ops.matrix.batch_matmul import HeadMatmul, MatrixProduct

LARGEST_SHIFT = 20
"""A zero point that is shifted as far leaves room for the high word of a product."""
TOO_DEEP = Refusal("sums may be too large to be doubled")
BAD_SCALE = Refusal(f"sums are not shifted to the right by 1 to {LARGEST_SHIFT} bits")


def packed_matmul(view: View, name: str, padded: int, scratch: int) -> Packed | Refusal:
    """The kernel `name`, which pads sums to so many products, and needs so many bytes of working memory."""
    op, g = view.the(MatrixProduct), view.graph
    left, right = op.input(g), op.input(g, 1)
    if rounds_to_even(view):
        return TO_EVEN
    rows, depth, columns = op.sizes(g)
    mult, shift = op.scale(g)
    far = [abs(t.zero_point) + 128 for t in (left, right)]
    if 2 * depth * far[0] * far[1] > INT32_MAX:
        return TOO_DEEP
    if not 1 <= -shift <= LARGEST_SHIFT:
        return BAD_SCALE
    heads = view.output.shape[1] if isinstance(op, HeadMatmul) else 1
    params: Params = {
        "size": sizes(view, product_walk(view), columns if isinstance(op, HeadMatmul) else rows * columns),
        "out_line": heads * columns,
        "left_zero": left.zero_point,
        "right_zero": right.zero_point,
        "mult": mult,
        "add": (view.output.zero_point << -shift) + (1 << -shift - 1),
        "shift": -shift,
    }
    return Packed(
        name,
        params,
        Entry(Call.WHOLE, operands=(0, 1)),
        Needs(scratch=scratch),
        Price(tile=(2, 1), density=padded / depth),
    )
