"""Mutants of ONNX models: small random networks and single operators, edited through their records, or in their
bytes."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

pytest.importorskip("onnx")

from onnx import ModelProto, helper, numpy_helper

from mote.frontends.onnx.ops import PARSERS
from tests.frontends.onnx import test_onnx_control
from tests.frontends.onnx.fused_models import CASES
from tests.frontends.onnx.onnx_support import model_of
from tests.fuzz.mutants import BYTES, EDITS, MODES, TARGETS, WEIGHTS, Mutant, with_noise

NUMBERS = (-(1 << 63), -(1 << 31), -7, -2, -1, 0, 1, 2, 3, 4, 5, 8, 33, 64, 1 << 31, (1 << 63) - 1)
REALS = (0.0, -1.0, 1.0, 0.5, 1e-30, 1e4, float("inf"), float("nan"), 3.0)
TEXTS = ("", "VALID", "SAME_UPPER", "SAME_LOWER", "NOTSET", "nearest", "linear", "cubic", "reflect", "edge", "none")
OPERATORS = sorted(PARSERS)
FUNCTIONS = ("Relu", "Sigmoid", "Tanh", "HardSwish", "LeakyRelu", "Elu", "Softplus", "Abs", "Exp", "Erf")
CUT = 0.1
"""The share of mutants with damaged bytes of which only a part is left."""


def mutant(seed: int, number: int) -> Mutant:
    """The mutant of that number."""
    rng = Random(f"onnx/{seed}/{number}")
    name, model = _base(rng)
    if rng.random() < BYTES:
        edits, data = ("bytes",), with_noise(rng, model.SerializeToString())
        data = data[: rng.randrange(len(data))] if rng.random() < CUT else data
    else:
        edits = tuple(_edit(rng, model) for _ in range(rng.choices(EDITS, WEIGHTS)[0]))
        data = model.SerializeToString()
    plain = [mode for mode in MODES if not mode.startswith("stream")]
    return Mutant(seed, number, name, edits, rng.choice(plain), rng.choice(TARGETS), data, ".onnx")


def _base(rng: Random) -> tuple[str, ModelProto]:
    """A model that can be compiled, and its name."""
    kind = rng.choices(("network", "single", "fused", "control"), (12, 8, 2, 2))[0]
    made = {
        "network": _network,
        "single": _single,
        "fused": lambda r: r.choice(list(CASES.values())),
        "control": _control,
    }[kind](rng)
    copy = ModelProto()
    copy.CopyFrom(made)
    return kind, copy


def _numbers(rng: Random, *shape: int) -> np.ndarray:
    return np.random.default_rng(rng.randrange(1 << 30)).standard_normal(shape).astype(np.float32)


class _Net:
    """Nodes one after another, with the shape of what the last one makes."""

    def __init__(self, rng: Random, shape: tuple[int, ...]) -> None:
        self.rng, self.given, self.shape = rng, shape, shape
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}
        self.last = "x"

    def constant(self, value: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def node(self, kind: str, *others: str, shape: tuple[int, ...] | None = None, **attributes: Any) -> None:
        made = f"t{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(kind, [self.last, *others], [made], name=f"n{len(self.nodes)}", **attributes)
        )
        self.last, self.shape = made, self.shape if shape is None else shape

    def model(self) -> ModelProto:
        return model_of(self.nodes, {"x": self.given}, [self.last], self.constants, opset=17)


def _conv(net: _Net) -> None:
    rng, (n, channels, height, width) = net.rng, net.shape
    groups = rng.choice((1, 1, channels))
    outputs = groups * rng.randint(1, 3)
    weights = net.constant(_numbers(rng, outputs, channels // groups, 3, 3))
    stride = rng.choice((1, 1, 2))
    new = (-(-height // stride), -(-width // stride))
    options = {"group": groups, "strides": [stride, stride], "pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}
    net.node("Conv", weights, net.constant(_numbers(rng, outputs)), shape=(n, outputs, *new), **options)


def _pool(net: _Net) -> None:
    n, channels, height, width = net.shape
    if min(height, width) > 1:
        kind = net.rng.choice(("MaxPool", "AveragePool"))
        net.node(kind, shape=(n, channels, height // 2, width // 2), kernel_shape=[2, 2], strides=[2, 2])


def _batch_norm(net: _Net) -> None:
    parts = [net.constant(np.abs(_numbers(net.rng, net.shape[1])) + 0.5) for _ in range(4)]
    net.node("BatchNormalization", *parts, epsilon=1e-3)


def _function(net: _Net) -> None:
    net.node(
        net.rng.choice(("Relu", "Sigmoid", "Tanh", "HardSwish", "LeakyRelu", "Elu", "Softplus", "Abs", "Exp", "Erf"))
    )


def _arithmetic(net: _Net) -> None:
    other = net.constant(_numbers(net.rng, net.shape[1], *[1] * (len(net.shape) - 2)))
    net.node(net.rng.choice(("Add", "Mul", "Sub", "Max", "Min")), other)


def _slice(net: _Net) -> None:
    ends = [max(1, size - net.rng.randint(0, 1)) for size in net.shape]
    begin, end = (net.constant(np.array(values, np.int64)) for values in ([0] * len(ends), ends))
    net.node("Slice", begin, end, shape=tuple(ends))


def _pad(net: _Net) -> None:
    pads = [0, 0, 1, 0, 0, 0, 0, 1]
    n, channels, height, width = net.shape
    net.node("Pad", net.constant(np.array(pads, np.int64)), shape=(n, channels, height + 1, width + 1))


def _transpose(net: _Net) -> None:
    order = net.rng.sample(range(4), 4)
    net.node("Transpose", shape=tuple(net.shape[a] for a in order), perm=order)


def _resize(net: _Net) -> None:
    n, channels, height, width = net.shape
    scales = net.constant(np.array([1, 1, 2, 2], np.float32))
    net.node(
        "Resize", "", scales, shape=(n, channels, 2 * height, 2 * width), mode=net.rng.choice(("nearest", "linear"))
    )


def _mean(net: _Net) -> None:
    kind = net.rng.choice(("ReduceMean", "ReduceMax", "ReduceMin"))
    net.node(kind, shape=(*net.shape[:2], 1, 1), axes=[2, 3], keepdims=1)


def _softmax(net: _Net) -> None:
    net.node("Softmax", axis=net.rng.choice((1, -1)))


IMAGES: tuple[Callable[[_Net], None], ...] = (
    *(_conv, _conv, _pool, _batch_norm, _function, _arithmetic, _slice, _pad, _transpose, _resize, _mean, _softmax),
)


def _network(rng: Random) -> ModelProto:
    """A few layers on an image, and perhaps a matrix behind them."""
    net = _Net(rng, (1, rng.randint(1, 4), rng.randint(2, 8), rng.randint(2, 8)))
    for _ in range(rng.randint(1, 5)):
        rng.choice(IMAGES)(net)
    if rng.random() < 0.5:
        size = int(np.prod(net.shape[1:]))
        net.node("Flatten", shape=(net.shape[0], size))
        net.node("Gemm", net.constant(_numbers(rng, size, 3)), shape=(net.shape[0], 3))
    return net.model()


def _single(rng: Random) -> ModelProto:
    """Any operator at all with some inputs, most of which it does not take."""
    domain, kind = rng.choice(OPERATORS)
    shape = tuple(rng.randint(1, 4) for _ in range(rng.choice((1, 2, 3, 4, 4))))
    net = _Net(rng, shape)
    others = []
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        whole = rng.random() < 0.3
        size = [rng.choice((1, 2, 3, n)) for n in shape[rng.randrange(len(shape)) :]]
        others.append(net.constant(np.array([rng.choice(NUMBERS[4:10])]) if whole else _numbers(rng, *size)))
    net.node(kind, *others)
    net.nodes[-1].domain = domain
    model = net.model()
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    return model


def _control(rng: Random) -> ModelProto:
    """A loop, or a branch that is chosen at run time."""
    node = helper.make_node
    if rng.random() < 0.5:
        nodes = [node("Loop", ["n", "", "x"], ["y", "z"], body=test_onnx_control.counting())]
        return model_of(nodes, {"x": [2, 3]}, ["y", "z"], {"n": np.array(rng.randint(1, 5), np.int64)})
    nodes = [node("ReduceSum", ["x"], ["s"], keepdims=0), node("Less", ["s", "zero"], ["c"])]
    nodes.append(node("If", ["c"], ["y"], **test_onnx_control.branches()))
    return model_of(nodes, {"x": [2, 3]}, ["y"], {"zero": np.zeros((), np.float32)})


def _edit(rng: Random, model: ModelProto) -> str:
    """Change one thing; its name."""
    kinds = (_edit_attribute, _edit_node, _edit_constant, _edit_values, _edit_edges, _edit_version)
    change = rng.choices(kinds, (6, 5, 3, 4, 3, 1))[0]
    change(rng, model)
    return change.__name__


def _any_node(rng: Random, model: ModelProto) -> Any:
    """A node of the graph, or of a body in it."""
    node = rng.choice(model.graph.node) if model.graph.node else None
    bodies = [a.g for a in node.attribute if a.HasField("g") and a.g.node] if node is not None else []
    return rng.choice(rng.choice(bodies).node) if bodies and rng.random() < 0.5 else node


def _edit_attribute(rng: Random, model: ModelProto) -> None:
    node = _any_node(rng, model)
    if node is None or not node.attribute:
        return
    a = rng.choice(node.attribute)
    what = rng.randrange(6)
    if what == 0:
        node.attribute.remove(a)
    elif what == 1:
        a.name = rng.choice(("axis", "axes", "pads", "group", "strides", "mode", "unheard"))
    elif what == 2:
        a.type = rng.randint(0, 10)
    elif len(a.ints):
        a.ints[rng.randrange(len(a.ints))] = rng.choice(NUMBERS)
        if rng.random() < 0.2:
            a.ints.append(rng.choice(NUMBERS))
    else:
        a.i, a.f, a.s = rng.choice(NUMBERS), rng.choice(REALS), rng.choice(TEXTS).encode()


def _edit_node(rng: Random, model: ModelProto) -> None:
    node = _any_node(rng, model)
    if node is None:
        return
    names = [*(n for each in model.graph.node for n in (*each.input, *each.output)), "lost", ""]
    what = rng.randrange(7)
    if what == 0 and node in model.graph.node:
        model.graph.node.remove(node)
    elif what == 1:
        model.graph.node.append(node)
    elif what == 2 and node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice(names)
    elif what == 3 and node.output:
        node.output[rng.randrange(len(node.output))] = rng.choice(names)
    elif what == 4:
        node.input.append(rng.choice(names))
    elif what == 5 and node.input:
        del node.input[-1]
    else:
        node.domain, node.op_type = rng.choice(OPERATORS)


def _edit_constant(rng: Random, model: ModelProto) -> None:
    if not model.graph.initializer:
        return
    t = rng.choice(model.graph.initializer)
    what = rng.randrange(4)
    if what == 0 and t.dims:
        t.dims[rng.randrange(len(t.dims))] = rng.choice(NUMBERS)
    elif what == 1:
        t.data_type = rng.randint(0, 26)
    elif what == 2:
        t.raw_data = t.raw_data[: rng.randrange(len(t.raw_data) + 1)]
    else:
        t.dims.append(rng.choice((1, 1, 2, -1)))


def _edit_values(rng: Random, model: ModelProto) -> None:
    """Other numbers in a constant, which stays whole."""
    if not model.graph.initializer:
        return
    t = rng.choice(model.graph.initializer)
    try:
        data = numpy_helper.to_array(t).copy()
    except Exception:
        return
    if not data.size:
        return
    choice = NUMBERS[1:-2] if data.dtype.kind == "i" else REALS
    with np.errstate(all="ignore"):
        data.reshape(-1)[rng.randrange(data.size)] = np.array(rng.choice(choice)).astype(data.dtype)
    t.CopyFrom(numpy_helper.from_array(data, t.name))


def _edit_edges(rng: Random, model: ModelProto) -> None:
    what = rng.randrange(4)
    if what == 0 and model.graph.output:
        model.graph.output[0].name = rng.choice(("x", "lost", *(n for node in model.graph.node for n in node.output)))
    elif what == 1 and model.graph.input:
        model.graph.input[0].type.tensor_type.elem_type = rng.randint(0, 26)
    elif model.graph.input and (dims := model.graph.input[0].type.tensor_type.shape.dim):
        dim = rng.choice(dims)
        if what == 2:
            dim.dim_param = "n"
        else:
            dim.dim_value = rng.choice(NUMBERS)


def _edit_version(rng: Random, model: ModelProto) -> None:
    if model.opset_import:
        model.opset_import[0].version = rng.choice((0, 8, 9, 10, 11, 12, 13, 14, 18, 21, 23, 27, 28, 99))
