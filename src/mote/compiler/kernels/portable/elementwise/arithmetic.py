"""ADD, SUB and MUL: `mote_add_s8.h`, `mote_add_exact_s8.h`, `mote_mul_s8.h` and `mote_arithmetic_f32.h`."""

from __future__ import annotations

from mote.compiler.kernels.contract import FLOAT32, INT8, OTHER_F32, Kernel, Packed, Params, Refusal, View
from mote.compiler.kernels.pack.arithmetic import Order, elementwise, one_step, product_params, product_scale
from mote.compiler.kernels.pack.params import output_params
from mote.compiler.kernels.pack.requantize.add import ONE_STEP
from mote.ir.ops.common import int8_range
from mote.ir.ops.elementwise.arithmetic import Add, Mul
from mote.ir.ops.onnxruntime_rounding import EvenAdd


def _add_f32(view: View) -> Packed:
    op = view.the(Add)
    low, high = op.real_range
    signs = (1.0, float(op.sign))
    return elementwise(
        view, "add_f32", lambda o: {"a_sign": signs[o[0]], "b_sign": signs[o[1]], "low": low, "high": high}
    )


def _mul_f32(view: View) -> Packed:
    low, high = view.the(Mul).real_range
    return elementwise(view, "mul_f32", lambda _: {"low": low, "high": high})


def _add(view: View) -> Packed | Refusal:
    return one_step(view, "add_s8", ONE_STEP, beats=("add_exact", "add_even"))


def _add_exact(view: View) -> Packed | Refusal:
    """Packs ADD or SUB with LiteRT's own sequence of roundings, which always works."""
    op = view.the(Add)
    if isinstance(op, EvenAdd):
        return Refusal("it rounds as ONNX Runtime does")
    scales = op.multipliers(view.graph)
    signs = (1, op.sign)

    def operand(i: int) -> Params:
        zero = op.input(view.graph, i).zero_point
        return {"zero": zero, "mult": scales[i][0], "shift": -scales[i][1] - 1, "sign": signs[i]}

    def params(order: Order) -> Params:
        mult, shift = scales[2]
        output = output_params(op.activation, view.output)
        return {"a": operand(order[0]), "b": operand(order[1]), "mult": mult, "shift": -shift - 1, "output": output}

    return elementwise(view, "add_exact_s8", params)


def _mul(view: View) -> Packed:
    _, shift = product_scale(view)
    lo, hi = int8_range(view.the(Mul).activation, view.output)
    more: Params = {"left": max(shift, 0), "ties": -1 if shift < 0 else 0, "lo": lo, "hi": hi}
    return elementwise(view, "mul_s8", lambda order: product_params(view, order) | more)


KERNELS = (
    Kernel("add_f32", (Add,), FLOAT32, _add_f32, header="arithmetic_f32", costs=OTHER_F32),
    Kernel("mul_f32", (Mul,), FLOAT32, _mul_f32, header="arithmetic_f32", costs=OTHER_F32),
    Kernel("add", (Add,), INT8, _add, header="add_s8"),
    Kernel("add_exact", (Add,), INT8, _add_exact, header="add_exact_s8"),
    Kernel("mul", (Mul,), INT8, _mul, header="mul_s8"),
)
