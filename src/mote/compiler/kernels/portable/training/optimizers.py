"""float32 optimizer steps: `mote_optimizers_f32.h`. The output, weights or gradient sums, is updated in place."""

from __future__ import annotations

from mote.compiler.kernels.contract import FLOAT32, OTHER_F32, Entry, Kernel, Needs, Packed, Params, View
from mote.ir.ops.training.optimizers import BLOCK, GRADIENT, RATE, STEP, AccumulateGradient, AdamStep, SgdStep


def _accumulated(view: View) -> Packed:
    params: Params = {"size": view.output.size, "every": view.the(AccumulateGradient).every}
    return Packed("accumulate_gradient_f32", params, Entry(operands=(1, 2)))


def _sgd(view: View) -> Packed:
    """Packs SGD with or without momentum; with gradient accumulation the step counter is an operand, too."""
    op = view.the(SgdStep)
    params: Params = {
        "size": view.output.size,
        "every": op.every,
        "momentum": op.momentum,
        "decay": op.weight_decay,
    }
    moments = tuple(range(STEP + 1, len(op.inputs)))
    counted = (STEP,) if op.every > 1 else ()
    name = f"{'momentum' if moments else 'sgd'}{'_mean' if counted else ''}_f32"
    return Packed(name, params, Entry(operands=(GRADIENT, RATE, *counted, *moments)))


def _adam(view: View) -> Packed:
    op = view.the(AdamStep)
    params: Params = {
        "size": view.output.size,
        "every": op.every,
        "beta1": op.beta1,
        "beta2": op.beta2,
        "epsilon": op.epsilon,
        "decay": op.weight_decay,
    }
    return Packed("adam_8bit_f32", params, Entry(operands=tuple(range(GRADIENT, len(op.inputs)))), Needs(8 * BLOCK))


KERNELS = tuple(
    Kernel(f"{name}_f32", (kind,), FLOAT32, pack, "optimizers_f32", costs=OTHER_F32)
    for name, kind, pack in (
        ("accumulate_gradient", AccumulateGradient, _accumulated),
        ("sgd", SgdStep, _sgd),
        ("adam_8bit", AdamStep, _adam),
    )
)
