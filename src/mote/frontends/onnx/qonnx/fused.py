"""Operators that Deeploy and FINN fuse, rewritten as ONNX's own with quantizers: layers with a RequantShift
(RequantizedConv, RequantizedGemm), and those of streamlined networks before they become hardware (Im2Col with its
product, MaxPoolNHWC, QuantAvgPool2d, XnorPopcountMatMul). What cannot be rewritten is left, and refused by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.onnx.file.tensors import read_tensor
from mote.frontends.onnx.qonnx.dialect import GENERAL, PULP, number_of, shift_of
from mote.ir.graph.tensor import Array

BEFORE_DEEPLOY = "compile the network that Deeploy reads, with RequantShift, rather than one after its passes"
BEFORE_FINN = "use the network with Quant nodes, before FINN's transformations"
CONSTANTS = "fold its constants (onnxsim, or qonnx-cleanup), so that they are initializers of the file"
SHIFTS = ("div", "n_levels", "n_levels_out", "signed")
WINDOW = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
FIRST, LAST = (0, 3, 1, 2), (0, 2, 3, 1)
"""The axes of images, to channels first and back."""


@dataclass
class Fused:
    """A fused node, and the nodes that are made of it."""

    inputs: Sequence[str]
    output: str
    attributes: Mapping[str, Any]
    known: Callable[[str], Array | None]
    made: list[Any] = field(default_factory=list)

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        name = f"{self.output} (part {len(self.made)})"
        self.made.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, value: Array) -> str:
        from onnx import numpy_helper

        return self.op("Constant", value=numpy_helper.from_array(value.astype(np.float32)))

    def given(self, place: int, what: str) -> Array:
        """An input that must be constant numbers."""
        value = self.known(self.inputs[place])
        if value is None or value.dtype.kind not in "iufb":
            raise UnsupportedNodeError(f"its {what} is not constant", CONSTANTS)
        return value

    def integers(self, name: str, count: int, default: Sequence[int] = ()) -> list[int]:
        numbers = list(self.attributes[name].ints) if name in self.attributes else list(default)
        if len(numbers) != count:
            raise UnsupportedNodeError(f"its attribute {name} has {len(numbers)} integers, not {count}")
        return numbers

    def finished(self, result: str) -> None:
        """End with a node that has the fused node's output."""
        from onnx import helper

        self.made.append(helper.make_node("Identity", [result], [self.output]))


def _needs(f: Fused, *counts: int, remedy: str = BEFORE_FINN) -> None:
    if len(f.inputs) not in counts or not all(f.inputs) or not f.output:
        wanted = " or ".join(map(str, counts))
        raise UnsupportedNodeError(f"it has {len(f.inputs)} inputs, not {wanted}", remedy)


def _shifted(f: Fused, sums: str, mul: Array, add: Array) -> None:
    """The RequantShift of a layer, whose offset has the half that rounds already."""
    shift = shift_of(f.attributes)
    if "shift" not in f.attributes or 1 << min(max(number_of(f.attributes, "shift"), 0), 63) != shift.div:
        raise UnsupportedNodeError("its multiplier is scaled for CMSIS-NN, which rounds twice", BEFORE_DEEPLOY)
    from onnx import helper

    half = add.astype(np.float64) - shift.div // 2
    node = helper.make_node("RequantShift", [sums, f.constant(mul), f.constant(half)], [f.output])
    node.attribute.extend(f.attributes[name] for name in SHIFTS if name in f.attributes)
    f.made.append(node)


def _conv(f: Fused) -> None:
    """RequantizedConv: image, kernel, perhaps a bias, multiplier, offset."""
    _needs(f, 4, 5, remedy=BEFORE_DEEPLOY)
    if "channels_first" in f.attributes and not f.attributes["channels_first"].i:
        raise UnsupportedNodeError("its channels are last", BEFORE_DEEPLOY)
    mul, add = (f.given(place, what) for place, what in ((-2, "multiplier"), (-1, "offset")))
    rank = f.given(1, "kernel").ndim
    mul, add = (x.reshape(-1, *[1] * (rank - 2)) if x.size == max(x.shape, default=1) else x for x in (mul, add))
    sums = f.op("Conv", *f.inputs[:-2])
    f.made[-1].attribute.extend(f.attributes[name] for name in WINDOW if name in f.attributes)
    _shifted(f, sums, mul, add)


def _gemm(f: Fused) -> None:
    """RequantizedGemm: two matrices, offset, multiplier. The offset has the bias, times the multiplier."""
    _needs(f, 4, remedy=BEFORE_DEEPLOY)
    if any(name in f.attributes and f.attributes[name].f != 1 for name in ("alpha", "beta")):
        raise UnsupportedNodeError("its alpha or beta is not 1, and may be in its constants or not", BEFORE_DEEPLOY)
    add, mul = (f.given(place, what) for place, what in ((2, "offset"), (3, "multiplier")))
    turned = [f.attributes[name] for name in ("transA", "transB") if name in f.attributes and f.attributes[name].i]
    if turned:
        sums = f.op("Gemm", *f.inputs[:2], f.constant(np.zeros(1)))
        f.made[-1].attribute.extend(turned)
    else:
        sums = f.op("MatMul", *f.inputs[:2])
    _shifted(f, sums, mul, add)


def _max_pool(f: Fused) -> None:
    """Max pooling with channels last."""
    _needs(f, 1)
    pooled = f.op("MaxPool", f.op("Transpose", f.inputs[0], perm=FIRST))
    names = ("kernel_shape", "pads", "strides", "ceil_mode")
    f.made[-1].attribute.extend(f.attributes[name] for name in names if name in f.attributes)
    f.finished(f.op("Transpose", pooled, perm=LAST))


def _average_pool(f: Fused) -> None:
    """Average pooling of integers: sums that are shifted to a number of bits."""
    _needs(f, 1)
    values = {name: int(f.attributes[name].i) if name in f.attributes else 0 for name in ("kernel", "stride")}
    ins, outs = (int(f.attributes[name].i) if name in f.attributes else 0 for name in ("ibits", "obits"))
    if min(*values.values(), ins, outs) < 1 or values["kernel"] > 1 << 12 or ins > 16:
        raise UnsupportedNodeError("its kernel, stride or numbers of bits are not supported", BEFORE_FINN)
    size = values["kernel"] ** 2
    last = "data_layout" in f.attributes and f.attributes["data_layout"].s == b"NHWC"
    x = f.op("Transpose", f.inputs[0], perm=FIRST) if last else f.inputs[0]
    pooled = f.op("AveragePool", x, kernel_shape=[values["kernel"]] * 2, strides=[values["stride"]] * 2)
    half = f.op("Add", f.op("Mul", pooled, f.constant(np.array(size))), f.constant(np.array(0.5)))
    shift = max((((1 << ins) - 1) * size).bit_length() - outs, 0)
    made = f.op("Floor", f.op("Mul", f.op("Floor", half), f.constant(np.array(2.0**-shift))))
    f.finished(f.op("Transpose", made, perm=LAST) if last else made)


def _xnor(f: Fused) -> None:
    """The number of equal bits of rows and columns: where the weight is 1, those of the input, else the others."""
    _needs(f, 2)
    bits = f.given(1, "second matrix").astype(np.float64)
    if bits.ndim != 2 or not np.all((bits == 0) | (bits == 1)):
        raise UnsupportedNodeError("its second matrix is not one of the bits 0 and 1", BEFORE_FINN)
    product = f.op("MatMul", f.inputs[0], f.constant(2 * bits - 1))
    f.finished(f.op("Add", product, f.constant((1 - bits).sum(axis=0))))


def _lowered(f: Fused, image: str, window: Fused) -> None:
    """A convolution that FINN has lowered: a product of windows with constant weights, channels last."""
    kernel, strides = window.integers("kernel_size", 2), window.integers("stride", 2)
    pads, gaps = window.integers("pad_amount", 4, (0, 0, 0, 0)), window.integers("dilations", 2, (1, 1))
    weights = f.given(1, "second matrix")
    taps = kernel[0] * kernel[1]
    if weights.ndim != 2 or min(kernel) < 1 or not weights.size or len(weights) % taps:
        raise UnsupportedNodeError(f"weights of {weights.shape} do not fit a window of {kernel}", BEFORE_FINN)
    if any(pads) and "pad_value" in window.attributes and window.attributes["pad_value"].i:
        raise UnsupportedNodeError("its windows are padded with numbers other than 0", BEFORE_FINN)
    own = weights.reshape(*kernel, -1, weights.shape[1]).transpose(3, 2, 0, 1)
    x = f.op("Transpose", image, perm=FIRST)
    options = {"kernel_shape": kernel, "strides": strides, "pads": pads, "dilations": gaps}
    f.finished(f.op("Transpose", f.op("Conv", x, f.constant(own), **options), perm=LAST))


def _alone(f: Fused) -> None:
    raise UnsupportedNodeError("its windows are not read by one product with constant weights", BEFORE_FINN)


KINDS: Mapping[tuple[str, str], Callable[[Fused], None]] = {
    **{(domain, "RequantizedConv"): _conv for domain in PULP},
    **{(domain, "RequantizedGemm"): _gemm for domain in PULP},
    **{(domain, "Im2Col"): _alone for domain in GENERAL},
    **{(domain, "MaxPoolNHWC"): _max_pool for domain in GENERAL},
    **{(domain, "QuantAvgPool2d"): _average_pool for domain in GENERAL},
    **{(domain, "XnorPopcountMatMul"): _xnor for domain in GENERAL},
}
"""Rewriting functions by domain and operator."""


def unfused(model: Any) -> None:
    """Rewrite the fused operators of a model."""
    graph = model.graph
    if not any((node.domain, node.op_type) in KINDS for node in graph.node):
        return
    known = _constants(graph)
    windows = {node.output[0]: node for node in graph.node if node.op_type == "Im2Col" and len(node.output) == 1}
    windows = {name: node for name, node in windows.items() if _only_product(graph, name) and len(node.input) == 1}
    nodes: list[Any] = []
    for node in graph.node:
        made = _rewritten(node, known, windows)
        nodes += [node] if made is None else made
    read = {name for node in nodes for name in node.input}
    del graph.node[:]
    graph.node.extend(node for node in nodes if node.op_type != "Im2Col" or node.output[0] not in windows.keys() - read)


def _only_product(graph: Any, name: str) -> bool:
    """Whether a value is read by one product only, on its left."""
    readers = [node for node in graph.node if name in node.input]
    product = len(readers) == 1 and readers[0].op_type == "MatMul" and not readers[0].domain
    return product and readers[0].input[0] == name and all(output.name != name for output in graph.output)


def _rewritten(node: Any, known: Mapping[str, Any], windows: Mapping[str, Any]) -> list[Any] | None:
    """The nodes that a node becomes; None where it is left."""
    lowered = windows.get(node.input[0]) if node.op_type == "MatMul" and len(node.input) == 2 else None
    make = KINDS.get((node.domain, node.op_type))
    if (make is None and lowered is None) or len(node.output) != 1:
        return None
    f = _fused(node, known)
    try:
        if lowered is not None:
            _lowered(f, lowered.input[0], _fused(lowered, known))
        elif make is not None:
            make(f)
    except UnsupportedNodeError:
        return None
    return f.made


def _fused(node: Any, known: Mapping[str, Any]) -> Fused:
    def constant(name: str) -> Array | None:
        tensor = known.get(name)
        return None if tensor is None or tensor.data_location else read_tensor(tensor)

    return Fused(list(node.input), node.output[0], {a.name: a for a in node.attribute}, constant)


def _constants(graph: Any) -> dict[str, Any]:
    """The tensors of a graph's constants."""
    known = {tensor.name: tensor for tensor in graph.initializer}
    made = [node for node in graph.node if node.op_type == "Constant" and not node.domain and len(node.output) == 1]
    return known | {node.output[0]: a.t for node in made for a in node.attribute if a.name == "value"}
