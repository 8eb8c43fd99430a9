"""Functions of one tensor, element by element: `mote_lut_s8.h` for all of them between bytes, `mote_unary_f32.h`."""

from __future__ import annotations

from collections.abc import Callable

from mote.graph import Op
from mote.graph.types import DType
from mote.kernels.contract import FLOAT32, Call, Kernel, Packed, Params, Signature, View
from mote.ops.common import FLOAT_MAX
from mote.ops.unary import Clamp, HardSwish, LeakyRelu, Logistic, Tanh, Unary

BYTES = Signature(*(frozenset({DType.INT8, DType.UINT8}),) * 2)


def _lut(view: View) -> Packed:
    table = view.the(Unary).table(view.graph)
    return Packed("lut_s8", {"table": table}, Call.FLAT, view.output.size, in_place=(0,))


def _nothing(view: View) -> Params:
    """The struct of a function without parameters: in C it must have a field."""
    return {"unused": 0}


def _limits(view: View) -> Params:
    low, high = view.the(Clamp).clamp.bounds
    return {"low": low, "high": min(high, FLOAT_MAX)}


def _slope(view: View) -> Params:
    return {"alpha": view.the(LeakyRelu).alpha}


def _real(name: str, op: type[Op], params: Callable[[View], Params]) -> Kernel:
    def pack(view: View) -> Packed:
        return Packed(name, params(view), Call.FLAT, view.output.size, in_place=(0,))

    return Kernel(name, (op,), FLOAT32, pack, header="unary_f32", costs="unary_f32")


KERNELS = (
    Kernel("lut", (Unary,), BYTES, _lut, tuned=True),
    _real("logistic_f32", Logistic, _nothing),
    _real("tanh_f32", Tanh, _nothing),
    _real("relu_f32", Clamp, _limits),
    _real("leaky_relu_f32", LeakyRelu, _slope),
    _real("hard_swish_f32", HardSwish, _nothing),
)
