"""Packing shared by ADD, SUB and MUL kernels, portable ones and those of instruction sets."""

from __future__ import annotations

from collections.abc import Callable

from mote.compiler.kernels.contract import OTHER_F32, Call, Entry, Needs, Packed, Params, Price, Refusal, View
from mote.compiler.kernels.pack.broadcast import broadcast
from mote.compiler.kernels.pack.requantize.add import AddPrecision, affine
from mote.ir.ops.common import int8_range
from mote.ir.ops.elementwise.arithmetic import INT8, Add, Mul

Order = tuple[int, int]
"""Positions of the operator's inputs that are passed as the kernel's operands `a` and `b`."""

LARGEST_SHIFT = 20
"""Largest right shift of a product of two int8 numbers that leaves anything; larger shifts give 0."""


def elementwise(view: View, name: str, params: Callable[[Order], Params], beats: tuple[str, ...] = ()) -> Packed:
    """Packs a binary kernel: element-wise (FLAT) where both operands have the same shape, otherwise the broadcasting
    variant (ROWS)."""
    g, op = view.graph, view.op
    a, b, y = op.input(g).shape, op.input(g, 1).shape, view.output
    if a == b:
        return Packed(
            name, params((0, 1)), Entry(Call.FLAT, y.size, operands=(0, 1)), Needs(in_place=(0, 1)), beats=beats
        )
    order, walk = broadcast(y.shape, a, b)
    stem, suffix = name.rsplit("_", 1)
    both: Params = {"walk": walk, stem: params(order)}
    costs = OTHER_F32 if suffix == "f32" else f"{stem}_rows"
    return Packed(
        f"{stem}_rows_{suffix}",
        both,
        Entry(Call.ROWS, operands=order),
        Needs(in_place=(0, 1)),
        Price(costs=costs),
        beats=beats,
    )


def one_step(view: View, name: str, precision: AddPrecision, beats: tuple[str, ...]) -> Packed | Refusal:
    """Packs int8 ADD or SUB as one affine function of both inputs, or refuses it if no such constants exist."""
    params = affine_params(view, precision)
    if isinstance(params, Refusal):
        return params
    factors, constant = params
    return elementwise(view, name, lambda o: {"a": factors[o[0]], "b": factors[o[1]], "c": constant}, beats)


def affine_params(view: View, precision: AddPrecision) -> tuple[tuple[int, int], int] | Refusal:
    """The factors of the two inputs of ADD or SUB and the added constant, or a refusal if none give LiteRT's
    results."""
    g, op, y = view.graph, view.the(Add), view.output
    if int8_range(op.activation, y) != (-128, 127):
        return Refusal("the fused activation has limits of its own")
    ratios = op.input(g).scale / y.scale, op.sign * op.input(g, 1).scale / y.scale
    params = affine(op.exact(g, INT8[:, None], INT8[None, :]), *ratios, precision)
    return params or Refusal("no constants give LiteRT's sum in one step")


def product_scale(view: View) -> tuple[int, int]:
    """Multiplier and shift of a product's requantization, with shifts too large for kernels replaced by an
    equivalent."""
    mult, shift = view.the(Mul).multiplier(view.graph)
    return (1 << 30, -LARGEST_SHIFT) if mult == 0 or shift < -LARGEST_SHIFT else (mult, shift)


def product_params(view: View, order: Order) -> Params:
    """The fields of `mote_mul4_s8_t`, which are also the first fields of `mote_mul_s8_t`."""
    a, b = (view.op.input(view.graph, i) for i in order)
    mult, shift = product_scale(view)
    right = max(-shift, 0)
    return {
        "a_zero": a.zero_point,
        "b_zero": b.zero_point,
        "mult": mult,
        "add": (view.output.zero_point << right) + (1 << right >> 1),
        "right": right,
    }
