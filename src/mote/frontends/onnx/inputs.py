"""The inputs of an ONNX graph: their shapes, dynamic dimensions, and which of them are images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mote.base.errors import MoteError
from mote.base.text import did_you_mean, printable
from mote.frontends.onnx.file.tensors import DTYPES, DamagedError, held_type
from mote.frontends.onnx.node import GraphScope, words
from mote.frontends.remedies import batch_of_one
from mote.ir.graph.tensor import Shape
from mote.ir.graph.types import DType

_WINDOWS = words(
    "Conv ConvTranspose ConvInteger QLinearConv MaxPool AveragePool LpPool GlobalAveragePool GlobalMaxPool GlobalLpPool"
    " QLinearAveragePool QLinearGlobalAveragePool FusedConv BatchNormalization InstanceNormalization GroupNormalization"
    " Resize Upsample DepthToSpace SpaceToDepth LRN"
)
"""Operators that take images with channels on axis 1."""
_ELEMENTWISE = words(
    "Add Sub Mul Div Relu Clip LeakyRelu PRelu Sigmoid Tanh HardSigmoid HardSwish Elu Selu Abs Neg Sqrt Exp Log Cast"
    " Identity Dropout QuantizeLinear DequantizeLinear QLinearAdd QLinearMul Pad Concat Floor Ceil Round Pow Max Min"
    " Erf Gelu Mish Softplus Softsign Sin Cos Swish Celu ThresholdedRelu Where Slice Split"
    " Quant IntQuant BipolarQuant Trunc"
)
"""Operators that keep the axes."""


_ANONYMOUS = frozenset({"", "?", "*", "-1", "none", "unk", "unknown"})
"""Names that exporters give to every dynamic dimension, in lower case: equal ones need not be the same size."""


@dataclass(frozen=True)
class Input:
    name: str
    shape: Shape
    dtype: DType
    element_type: int


Propose = Callable[[str, Shape], tuple[Shape, str] | None]
"""Proposes a shape for an input with dynamic dimensions (0), and gives the reason; None where there is none."""


def inputs_of(
    infos: Sequence[Any], shapes: Mapping[str, Shape], assumed: list[str], propose: Propose = lambda name, shape: None
) -> list[Input]:
    """The inputs with fixed shapes: the user's first, then the file's. Named dimensions have the same size everywhere;
    a dynamic first one is `assumed` to be a batch of 1, others are refused with a proposal."""
    names = [info.name for info in infos]
    for name in shapes:
        if name not in names:
            raise MoteError(
                f"there is no input '{printable(name)}' to give a shape to",
                remedy=f"{did_you_mean(name, names)}the inputs are: {', '.join(map(printable, names)) or 'none'}",
            )
    sizes: dict[str, int] = {}
    for info in infos:
        _learn(info, shapes.get(info.name), sizes)
    return [_input(info, shapes.get(info.name), sizes, assumed, propose) for info in infos]


def _dims(info: Any) -> list[Any] | None:
    """The dimensions of an input; None where the file has no rank."""
    kind = info.type.WhichOneof("value")
    if kind != "tensor_type":
        what = (kind or "nothing that is known").removesuffix("_type").replace("_", " ")
        raise MoteError(
            f"input '{printable(info.name)}' is a {what}, not a tensor",
            remedy="export the model with tensors as its inputs",
        )
    tensor = info.type.tensor_type
    return list(tensor.shape.dim) if tensor.HasField("shape") else None


def _learn(info: Any, given: Shape | None, sizes: dict[str, int]) -> None:
    """The sizes of named dimensions in a given shape."""
    dims = _dims(info)
    if given is None or dims is None:
        return
    if len(given) != len(dims):
        raise MoteError(
            f"input '{printable(info.name)}' has {len(dims)} axes, the shape {'x'.join(map(str, given))} has"
            f" {len(given)}",
            remedy=f"give it as --shape {printable(info.name)}={','.join(map(_size, dims))} with numbers for names",
        )
    for dim, size in zip(dims, given, strict=True):
        if (name := _name(dim)) and sizes.setdefault(name, size) != size:
            raise MoteError(
                f"'{printable(name)}' would be {sizes[name]} and {size}",
                remedy="the same name is the same size, in every shape that is given",
            )


def _name(dim: Any) -> str:
    """The name of a dynamic dimension that stands for one size everywhere, if it has one."""
    return "" if dim.dim_param.lower() in _ANONYMOUS else str(dim.dim_param)


def _size(dim: Any) -> str:
    return str(dim.dim_value) if dim.dim_value > 0 else printable(dim.dim_param) or "?"


def _input(info: Any, given: Shape | None, sizes: Mapping[str, int], assumed: list[str], propose: Propose) -> Input:
    dims, name = _dims(info), printable(info.name)
    number = info.type.tensor_type.elem_type
    dtype = DTYPES.get(number, held_type(number))
    if dtype == DType.UNKNOWN:
        raise MoteError(f"input '{name}' has elements of the type {number}, which is not supported")
    if given is not None:
        return Input(info.name, given, dtype, number)
    if dims is None:
        raise MoteError(f"the file has no shape for input '{name}'", remedy=f"give it: --shape {name}=1,3,96,96")
    shape = [d.dim_value if d.dim_value > 0 else sizes.get(_name(d), 0) for d in dims]
    if any(d.dim_value < -1 for d in dims):
        raise DamagedError(f"input '{name}' has the shape {'x'.join(str(d.dim_value) for d in dims)}")
    batched = bool(shape) and not shape[0]
    if batched:
        shape[0] = 1
    if open_ := [_size(dim) for dim, size in zip(dims, shape, strict=True) if not size]:
        example = ",".join(str(size) if size else "N" for size in shape)
        remedy = f"fix it with --shape {name}={example}, with numbers for N"
        if proposal := propose(info.name, tuple(shape)):
            remedy = f"fix it with --shape {name}={','.join(map(str, proposal[0]))} ({proposal[1]})"
        named = f"{', '.join(open_)} {'is' if len(open_) == 1 else 'are'}"
        raise MoteError(
            f"input '{name}' has the shape {'x'.join(map(_size, dims))}: {named} only known at run time", remedy=remedy
        )
    if batched:
        assumed.append(batch_of_one(name, dims[0].dim_param, tuple(shape)))
    return Input(info.name, tuple(shape), dtype, number)


def is_image(scope: GraphScope, name: str) -> bool:
    """Whether the first operator on an input, but for element-wise ones, takes channels on axis 1."""
    seen, waiting = set(), [name]
    while waiting:
        at = waiting.pop()
        for call in scope.consumers(at) if at not in seen else ():
            if call.op_type in _WINDOWS and call.inputs[0] == at:
                return True
            if call.op_type in _ELEMENTWISE:
                waiting += call.outputs
        seen.add(at)
    return False
