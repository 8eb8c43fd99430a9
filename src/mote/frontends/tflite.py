"""`.tflite` -> Graph. Operators are parsed by their own file in `mote.ops`; this one reads the container.

Numbers below are field ids and enum values of the public TFLite schema (version 3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from mote.errors import MoteError, Unsupported, UnsupportedError
from mote.frontends import variables
from mote.frontends.flatbuffer import Buffer, MalformedError, Table, Vector
from mote.frontends.variables import Call, VariableError, Variables
from mote.graph import Graph, Op, Quantization, State, Tensor
from mote.graph.tensor import DTYPES, Array

T = TypeVar("T")

TYPES = {0: "float32", 2: "int32", 3: "uint8", 4: "int64", 6: "bool", 7: "int16", 9: "int8"}
OTHER_TYPES = {1: "float16", 5: "string", 8: "complex64", 10: "float64", 11: "complex128", 12: "uint64",
               13: "resource", 14: "variant", 15: "uint32", 16: "uint16", 17: "int4"}  # fmt: skip

OPERATORS = {
    name: code
    for code, name in enumerate(
        [
            "ADD",
            "AVERAGE_POOL_2D",
            "CONCATENATION",
            "CONV_2D",
            "DEPTHWISE_CONV_2D",
            "DEPTH_TO_SPACE",
            "DEQUANTIZE",
            "EMBEDDING_LOOKUP",
            "FLOOR",
            "FULLY_CONNECTED",
            "HASHTABLE_LOOKUP",
            "L2_NORMALIZATION",
            "L2_POOL_2D",
            "LOCAL_RESPONSE_NORMALIZATION",
            "LOGISTIC",
            "LSH_PROJECTION",
            "LSTM",
            "MAX_POOL_2D",
            "MUL",
            "RELU",
            "RELU_N1_TO_1",
            "RELU6",
            "RESHAPE",
            "RESIZE_BILINEAR",
            "RNN",
            "SOFTMAX",
            "SPACE_TO_DEPTH",
            "SVDF",
            "TANH",
            "CONCAT_EMBEDDINGS",
            "SKIP_GRAM",
            "CALL",
            "CUSTOM",
            "EMBEDDING_LOOKUP_SPARSE",
            "PAD",
            "UNIDIRECTIONAL_SEQUENCE_RNN",
            "GATHER",
            "BATCH_TO_SPACE_ND",
            "SPACE_TO_BATCH_ND",
            "TRANSPOSE",
            "MEAN",
            "SUB",
            "DIV",
            "SQUEEZE",
            "UNIDIRECTIONAL_SEQUENCE_LSTM",
            "STRIDED_SLICE",
            "BIDIRECTIONAL_SEQUENCE_RNN",
            "EXP",
            "TOPK_V2",
            "SPLIT",
            "LOG_SOFTMAX",
            "DELEGATE",
            "BIDIRECTIONAL_SEQUENCE_LSTM",
            "CAST",
            "PRELU",
            "MAXIMUM",
            "ARG_MAX",
            "MINIMUM",
            "LESS",
            "NEG",
            "PADV2",
            "GREATER",
            "GREATER_EQUAL",
            "LESS_EQUAL",
            "SELECT",
            "SLICE",
            "SIN",
            "TRANSPOSE_CONV",
            "SPARSE_TO_DENSE",
            "TILE",
            "EXPAND_DIMS",
            "EQUAL",
            "NOT_EQUAL",
            "LOG",
            "SUM",
            "SQRT",
            "RSQRT",
            "SHAPE",
            "POW",
            "ARG_MIN",
            "FAKE_QUANT",
            "REDUCE_PROD",
            "REDUCE_MAX",
            "PACK",
            "LOGICAL_OR",
            "ONE_HOT",
            "LOGICAL_AND",
            "LOGICAL_NOT",
            "UNPACK",
            "REDUCE_MIN",
            "FLOOR_DIV",
            "REDUCE_ANY",
            "SQUARE",
            "ZEROS_LIKE",
            "FILL",
            "FLOOR_MOD",
            "RANGE",
            "RESIZE_NEAREST_NEIGHBOR",
            "LEAKY_RELU",
            "SQUARED_DIFFERENCE",
            "MIRROR_PAD",
            "ABS",
            "SPLIT_V",
            "UNIQUE",
            "CEIL",
            "REVERSE_V2",
            "ADD_N",
            "GATHER_ND",
            "COS",
            "WHERE",
            "RANK",
            "ELU",
            "REVERSE_SEQUENCE",
            "MATRIX_DIAG",
            "QUANTIZE",
            "MATRIX_SET_DIAG",
            "ROUND",
            "HARD_SWISH",
            "IF",
            "WHILE",
            "NON_MAX_SUPPRESSION_V4",
            "NON_MAX_SUPPRESSION_V5",
            "SCATTER_ND",
            "SELECT_V2",
            "DENSIFY",
            "SEGMENT_SUM",
            "BATCH_MATMUL",
            "PLACEHOLDER_FOR_GREATER_OP_CODES",
            "CUMSUM",
            "CALL_ONCE",
            "BROADCAST_TO",
            "RFFT2D",
            "CONV_3D",
            "IMAG",
            "REAL",
            "COMPLEX_ABS",
            "HASHTABLE",
            "HASHTABLE_FIND",
            "HASHTABLE_IMPORT",
            "HASHTABLE_SIZE",
            "REDUCE_ALL",
            "CONV_3D_TRANSPOSE",
            "VAR_HANDLE",
            "READ_VARIABLE",
            "ASSIGN_VARIABLE",
            "BROADCAST_ARGS",
            "RANDOM_STANDARD_NORMAL",
            "BUCKETIZE",
            "RANDOM_UNIFORM",
            "MULTINOMIAL",
            "GELU",
            "DYNAMIC_UPDATE_SLICE",
            "RELU_0_TO_1",
            "UNSORTED_SEGMENT_PROD",
            "UNSORTED_SEGMENT_MAX",
            "UNSORTED_SEGMENT_SUM",
            "ATAN2",
            "UNSORTED_SEGMENT_MIN",
            "SIGN",
            "BITCAST",
            "BITWISE_XOR",
            "RIGHT_SHIFT",
        ]
    )
}
NAMES = {code: name for name, code in OPERATORS.items()}
INTERMEDIATES = 8
"""The field of an operator with tensors that hold nothing: how it quantizes what it computes inside."""
ACTIVATIONS = {0: "NONE", 1: "RELU", 2: "RELU_N1_TO_1", 3: "RELU6", 4: "TANH", 5: "SIGN_BIT"}


@dataclass(frozen=True)
class Node:
    """One operator of the file, as its parser in `mote.ops` sees it."""

    code: str
    index: int
    options: Table | None
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    tensors: dict[int, Tensor]
    states: tuple[State, ...] = ()
    intermediates: tuple[int, ...] = ()

    def integer(self, field: int, default: int = 0, fmt: str = "i") -> int:
        return default if self.options is None else self.options.integer(field, fmt, default)

    def real(self, field: int, default: float = 0.0) -> float:
        return default if self.options is None else float(self.options.scalar(field, "f", default))

    def flag(self, field: int) -> bool:
        return self.options is not None and self.options.flag(field)

    def integers(self, field: int) -> list[int]:
        return [] if self.options is None else self.options.integers(field)

    def activation(self, field: int) -> str:
        """The fused activation; one that Mote does not know makes the layer unsupported."""
        code = self.integer(field, fmt="b")
        name = ACTIVATIONS.get(code, f"#{code}")
        if name not in ("NONE", "RELU", "RELU_N1_TO_1", "RELU6"):
            raise UnsupportedNodeError(f"fused activation {name} is not supported")
        return name

    def padding(self, field: int) -> str:
        code = self.integer(field, fmt="b")
        if code not in (0, 1):
            raise UnsupportedNodeError(f"padding #{code} is not supported")
        return "VALID" if code else "SAME"

    def arity(self, inputs: range, outputs: int = 1) -> None:
        if len(self.inputs) not in inputs or len(self.outputs) != outputs:
            raise UnsupportedNodeError(
                f"has {len(self.inputs)} inputs and {len(self.outputs)} outputs, which its operator does not take"
            )

    def constant(self, position: int, what: str) -> Array:
        """The value of an input that Mote needs at compile time (an axis, a shape, paddings)."""
        i = self.inputs[position] if position < len(self.inputs) else -1
        data = self.tensors[i].data if i >= 0 else None
        if data is None:
            raise UnsupportedNodeError(f"{what} must be a constant")
        return data

    def after(self, *positions: int) -> tuple[int, ...]:
        """What the operator leaves in the states that it is given as the inputs at `positions`: outputs of its own."""
        found = {s.before: s.after for s in self.states}
        if any(self.inputs[p] not in found for p in positions):
            raise UnsupportedNodeError("a state must be a variable tensor")
        return tuple(found[self.inputs[p]] for p in positions)

    def same(self) -> dict[str, Any]:
        """The fields that every Op takes over from the node."""
        name = self.tensors[self.outputs[0]].name if self.outputs else ""
        return {"inputs": self.inputs, "outputs": self.outputs, "name": name, "index": self.index}


class UnsupportedNodeError(Exception):
    """Raised by an operator's parser; collected, so that one message lists every unsupported layer."""


Parser = Callable[[Node], Op | list[Op]]
PARSERS: dict[str, Parser] = {}


def parses(*codes: str) -> Callable[[Parser], Parser]:
    """Register the parser of one or more TFLite operators."""

    def register(parser: Parser) -> Parser:
        for code in codes:
            assert code in OPERATORS and code not in PARSERS, code
            PARSERS[code] = parser
        return parser

    return register


@dataclass(frozen=True)
class Layer:
    """An operator of the file: what Mote makes of it, or why it cannot."""

    node: Node
    ops: tuple[Op, ...]
    problem: str | None = None

    @property
    def name(self) -> str:
        return self.node.tensors[self.node.outputs[0]].name if self.node.outputs else ""


@dataclass(frozen=True)
class Model:
    """A file as it was read, supported or not; `graph()` is the checked graph."""

    where: str
    tensors: dict[int, Tensor]
    layers: list[Layer]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    states: tuple[State, ...] = ()
    assigns: tuple[Op, ...] = ()
    """What writes the states after everything else."""

    @property
    def problems(self) -> list[Unsupported]:
        return [Unsupported(x.node.index, x.name, x.node.code, x.problem) for x in self.layers if x.problem]

    def partial(self) -> Graph:
        """The graph of the layers that Mote knows, unchecked."""
        empty = Graph(Path(self.where).stem, self.tensors, (), self.inputs, self.outputs, self.states)
        return empty.with_ops([*(op for layer in self.layers for op in layer.ops), *self.assigns])

    def graph(self) -> Graph:
        if self.problems:
            raise UnsupportedError(self.problems, where=self.where)
        return self.partial().verify()


def load(path: Path) -> Graph:
    """Read a `.tflite` file. Every problem with the file is a MoteError that names it."""
    return parse(read_file(path), str(path))


def read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise MoteError(f"cannot read the file ({error.strerror})", where=str(path)) from None


def parse(data: bytes, where: str) -> Graph:
    return guarded(lambda: _read(data, where).graph(), where)


def read(data: bytes, where: str) -> Model:
    """The file with its unsupported layers marked, for `mote inspect`."""
    return guarded(lambda: _read(data, where), where)


def guarded(action: Callable[[], T], where: str) -> T:
    """What a damaged file makes go wrong deep inside ends as one clear message."""
    try:
        return action()
    except MoteError as error:
        if not error.where:
            error.where = where
        elif error.where.startswith(("layer ", "graph ")):
            error.where = f"{where}: {error.where}"
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError, AssertionError) as error:
        raise MoteError(
            f"the model is inconsistent ({type(error).__name__}: {error})",
            where=where,
            remedy="export the model again; if LiteRT runs it, please report this as a bug",
        ) from error


def _read(data: bytes, where: str) -> Model:
    import mote.ops  # noqa: F401 (registers the parsers; here, because operators import this file)

    if len(data) < 8 or data[4:8] != b"TFL3":
        raise MalformedError("no TFL3 identifier")
    root = Buffer(data).root()
    subgraphs = root.tables(2)
    if not subgraphs:
        raise MalformedError("no subgraph")
    subgraph = subgraphs[0]
    codes = [_operator_code(t) for t in root.tables(1)]
    buffers = [b.vector(0) for b in root.tables(4)]
    tensors = _tensors(subgraph, buffers)
    inputs, outputs = (tuple(_index(tensors, i) for i in subgraph.integers(f)) for f in (1, 2))
    if not outputs:
        raise MoteError("the model has no outputs")
    if constant := [i for i in outputs if tensors[i].data is not None]:
        raise MoteError(f"output tensor {constant[0]} is a constant")
    if len(set(inputs)) < len(inputs):
        raise MoteError("an input is listed twice")
    calls = _calls(subgraph, codes, tensors)
    known = Variables(tensors, _initial_values(calls, subgraphs, codes, buffers))
    own = _states(subgraph, tensors)
    layers = _layers(calls, tensors, known, own)
    states, assigns = known.finish()
    outputs = tuple(known.value(i) for i in outputs)
    if read := [i for i in outputs if i in known.before.values()]:
        raise MoteError(f"output '{tensors[read[0]].name}' is what a variable held, which the model changes")
    model = Model(where, tensors, layers, inputs, outputs, (*own, *states), assigns)
    partial = model.partial()
    checked = [
        replace(
            layer,
            problem=layer.problem or next((p for op in layer.ops if (p := op.unsupported(partial))), None),
        )
        for layer in model.layers
    ]
    return replace(model, layers=checked)


def _operator_code(table: Table) -> str:
    code = max(table.integer(0, "b"), table.integer(3, "i"))
    name = NAMES.get(code, f"operator #{code}")
    return f"CUSTOM({table.string(1)})" if name == "CUSTOM" else name


def _tensors(subgraph: Table, buffers: list[Vector | None]) -> dict[int, Tensor]:
    hollow = {i for op in subgraph.tables(3) for i in op.integers(INTERMEDIATES)}
    return {i: _tensor(i, table, buffers, i in hollow) for i, table in enumerate(subgraph.tables(0))}


def _states(subgraph: Table, tensors: dict[int, Tensor]) -> tuple[State, ...]:
    """A state for each variable tensor; what an operator leaves there becomes a tensor of its own. LiteRT begins with
    zeros, the zero point where they are int8."""
    found = [i for i, table in enumerate(subgraph.tables(0)) if table.flag(5)]
    states = []
    for before, after in zip(found, range(len(tensors), len(tensors) + len(found)), strict=True):
        t = tensors[before]
        tensors[after] = replace(t, id=after, copy_of=before)
        first = t.zero_point if t.dtype == "int8" else 0
        states.append(State(before, after, np.full(t.shape, first, DTYPES.get(t.dtype))))
    return tuple(states)


def _tensor(i: int, table: Table, buffers: list[Vector | None], hollow: bool) -> Tensor:
    code = table.integer(1, "b")
    dtype = TYPES.get(code) or OTHER_TYPES.get(code, f"type #{code}")
    shape = tuple(table.integers(0))
    if any(d < (0 if hollow else 1) for d in shape) or prod(shape) > 1 << 31:
        raise MalformedError(f"tensor {i} has the shape {shape}")
    number = table.integer(2, "I")
    if number >= len(buffers):
        raise MalformedError(f"tensor {i} names buffer {number} of {len(buffers)}")
    vector = buffers[number]
    data = None
    if number and vector is not None and vector.length and dtype in DTYPES:
        raw = vector.array("uint8").tobytes()
        kind = DTYPES[dtype]
        if len(raw) != prod(shape) * kind.itemsize:
            raise MalformedError(f"tensor {i} holds {len(raw)} bytes, its shape needs {prod(shape) * kind.itemsize}")
        data = np.frombuffer(raw, kind).reshape(shape)
    name = table.string(3) or f"tensor_{i}"
    return Tensor(i, name, shape, dtype, _quantization(i, table.table(4), shape, dtype), data)


def _quantization(i: int, table: Table | None, shape: tuple[int, ...], dtype: str) -> Quantization | None:
    scales = table.vector(2) if table else None
    if table is None or scales is None or scales.length == 0:
        return None
    scale = scales.array("float32").astype(np.float32)
    zeros = table.vector(3)
    zero_point = zeros.array("int64").astype(np.int64) if zeros and zeros.length else np.zeros(scale.size, np.int64)
    axis = table.integer(6)
    valid = zero_point.size in (1, scale.size) and bool(np.all(np.isfinite(scale)) and np.all(scale >= 0))
    if dtype.startswith(("int", "uint")) and dtype in DTYPES:
        limits = np.iinfo(dtype)
        valid = valid and bool(np.all((limits.min <= zero_point) & (zero_point <= limits.max)))
    if not valid:
        raise MalformedError(f"tensor {i} has invalid quantization parameters")
    if scale.size > 1 and not (0 <= axis < len(shape) and shape[axis] == scale.size):
        raise MalformedError(f"tensor {i} has {scale.size} scales on axis {axis} of shape {shape}")
    return Quantization(scale, np.broadcast_to(zero_point, scale.shape), axis)


def _index(tensors: dict[int, Tensor], i: int) -> int:
    if i not in tensors:
        raise MalformedError(f"an operator or the graph names tensor {i} of {len(tensors)}")
    return i


def _calls(subgraph: Table, codes: list[str], tensors: dict[int, Tensor]) -> list[Call]:
    """The operators of a subgraph as the file has them."""
    calls = []
    for index, table in enumerate(subgraph.tables(3)):
        number = table.integer(0, "I")
        if number >= len(codes):
            raise MalformedError(f"layer {index} names operator code {number} of {len(codes)}")
        inputs = tuple(-1 if i == -1 else _index(tensors, i) for i in table.integers(1))
        outputs = tuple(_index(tensors, i) for i in table.integers(2))
        intermediates = tuple(-1 if i == -1 else _index(tensors, i) for i in table.integers(INTERMEDIATES))
        calls.append(Call(codes[number], table.table(4), inputs, outputs, intermediates))
    return calls


def _initial_values(
    main: list[Call], subgraphs: list[Table], codes: list[str], buffers: list[Vector | None]
) -> dict[variables.Key, Array]:
    """What the model's variables hold before the first inference; every other subgraph must be there for that."""
    once = {0 if c.options is None else c.options.integer(0) for c in main if c.code == "CALL_ONCE"}
    if once != set(range(1, len(subgraphs))):
        raise MoteError(f"{len(subgraphs)} subgraphs; Mote compiles models with one (and those that CALL_ONCE names)")
    found: dict[variables.Key, Array] = {}
    for i in sorted(once):
        tensors = _tensors(subgraphs[i], buffers)
        try:
            found |= variables.initial_values(_calls(subgraphs[i], codes, tensors), tensors)
        except VariableError as error:
            raise MoteError(f"the initialization in subgraph {i} is not supported: {error}") from None
    return found


def _layers(calls: list[Call], tensors: dict[int, Tensor], known: Variables, states: tuple[State, ...]) -> list[Layer]:
    layers = []
    for index, call in enumerate(calls):
        inputs = tuple(known.value(i) for i in call.inputs)
        node = Node(call.code, index, call.options, inputs, call.outputs, tensors, states, call.intermediates)
        try:
            if call.code in variables.CODES:
                known.take(call)
                layers.append(Layer(node, ()))
            else:
                layers.append(Layer(node, _parse_node(node)))
        except (UnsupportedNodeError, VariableError) as reason:
            layers.append(Layer(node, (), str(reason)))
    return layers


def _parse_node(node: Node) -> tuple[Op, ...]:
    parser = PARSERS.get(node.code)
    if parser is None:
        raise UnsupportedNodeError("Mote has no such operator yet")
    for i in (*node.inputs, *node.outputs):
        if i >= 0 and node.tensors[i].dtype not in DTYPES:
            raise UnsupportedNodeError(f"tensor '{node.tensors[i].name}' has type {node.tensors[i].dtype}")
    parsed = parser(node)
    return tuple(parsed) if isinstance(parsed, list) else (parsed,)
