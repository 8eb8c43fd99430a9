"""The container of a `.tflite` file: tensors, operators, variables. `ops/` has the parsers of operators."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from mote.base.errors import CALIBRATE, MoteError, UnsupportedNodeError, naming, working_on
from mote.base.text import printable
from mote.frontends import limits
from mote.frontends.calibration import RANDOM
from mote.frontends.model import Model, SourceLayer, checked
from mote.frontends.remedies import RUN_TIME_SIZES, batch_of_one
from mote.frontends.source import Format, Source
from mote.frontends.tflite import control, variables
from mote.frontends.tflite.blockwise import BlockwiseScales, blocks_of, check_blocks
from mote.frontends.tflite.control import BodySubgraph, Caller
from mote.frontends.tflite.file import schema, storage
from mote.frontends.tflite.file.flatbuffer import FlatBuffer, MalformedError
from mote.frontends.tflite.file.metadata import FileMetadata, metadata
from mote.frontends.tflite.file.record import TableRecord
from mote.frontends.tflite.file.signatures import chosen
from mote.frontends.tflite.file.sparsity import densified, sparsity
from mote.frontends.tflite.file.storage import Storage
from mote.frontends.tflite.folding import KnownTensors
from mote.frontends.tflite.known import known_result, with_small_weights
from mote.frontends.tflite.node import Node
from mote.frontends.tflite.ops import CUSTOM_PARSERS, MAY_BE_EMPTY, MAY_BE_INFINITE, PARSERS, Parser, custom
from mote.frontends.tflite.restarts import renamed, restarted
from mote.frontends.tflite.shaped import Shaped
from mote.frontends.tflite.unsigned import DIFFERENT, Signed, signed
from mote.frontends.tflite.variables import FileOperator, VariableError, Variables
from mote.ir.graph import Graph, Op, Quantization, State, Tensor
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.moves.reshape import Reshape


def parse(data: bytes, where: str) -> Graph:
    """The graph of a file. Every problem with it is a MoteError that names `where`."""
    return read(Source(where, Format.TFLITE, data)).graph()


def read(source: Source) -> Model:
    """The model of a file, with its unsupported layers marked."""
    with naming(source.where):
        return _read(source)


def _read(source: Source) -> Model:
    root = _root(source.data)
    subgraphs = root.children("subgraphs", schema.SUBGRAPH)
    if not subgraphs:
        raise MalformedError("no subgraph")
    codes = [_operator_code(r) for r in root.children("operator_codes", schema.OPERATOR_CODE)]
    buffers = [storage.stored(source.data, r) for r in root.children("buffers", schema.BUFFER)]
    said = [f"the description in the file says: {RANDOM}"] if RANDOM in root.string("description") else []
    number = chosen(root, len(subgraphs), source.signature)
    try:
        about = metadata(root, buffers, source.data, number, said)
        model = _File(source, subgraphs, codes, buffers, number, about, said).model()
        return replace(model, version=about.version, preprocess=about.preprocess)
    except MalformedError:
        if compiled := [x for code in codes if (x := custom.compiled_by(_custom_name(code))) is not None]:
            raise MoteError(f"the file holds {compiled[0][0].removeprefix('is ')}", remedy=compiled[0][1]) from None
        raise


def _root(data: bytes) -> TableRecord:
    if len(data) < 8 or data[4:8] != schema.IDENTIFIER:
        raise MalformedError("no TFL3 identifier")
    return TableRecord(schema.MODEL, FlatBuffer(data).root())


def subgraph_of(source: Source) -> int:
    """The index of the subgraph that is the model."""
    root = _root(source.data)
    return chosen(root, len(root.children("subgraphs", schema.SUBGRAPH)), source.signature)


@dataclass
class _File:
    """The parts of a file that its subgraphs share."""

    source: Source
    subgraphs: list[TableRecord]
    codes: list[str]
    buffers: list[Storage]
    number: int
    """Index of the subgraph that is the model."""
    about: FileMetadata
    notes: list[str] = field(default_factory=list)
    """Warnings about the file."""
    open: list[int] = field(default_factory=list)
    """The subgraphs that are being read, outermost first."""
    called: set[int] = field(default_factory=set)
    """The subgraphs that were read."""
    calls: int = 0
    """Number of subgraphs read, counted at every call."""
    stateful: set[int] = field(default_factory=set)

    def model(self) -> Model:
        """The subgraph that is the model, with those that it calls."""
        main = self.subgraphs[self.number]
        self.open.append(self.number)
        tensors = _tensors(main, self.buffers, self.notes)
        inputs, outputs = (tuple(_index(tensors, i) for i in main.integers(name)) for name in ("inputs", "outputs"))
        if not outputs:
            raise MoteError("the model has no outputs")
        self._describe(inputs, outputs, tensors)
        calls = _calls(main, self.codes, tensors)
        self.source.check_constants(tensors[i].name for i in inputs)
        shaped = Shaped.of(tensors, inputs, calls, dict(self.source.shapes))
        calls = shaped.apply(tensors, calls)
        once = {c.options.integer("init_subgraph_index") for c in calls if c.code == "CALL_ONCE"}
        held = Variables(tensors, self._initial_values(once))
        anew = restarted(calls, tensors, _variables(main, tensors))
        calls, own = renamed(calls, anew), _states(main, tensors, anew)
        _check_edges(inputs, outputs, tensors, own)
        self._fix(inputs, tensors)
        _fix_shapes(inputs, tensors, calls, _open(main, tensors) | shaped.open)
        inputs = _computed_inputs(inputs, tensors, self.notes)
        assumed = _check_sizes(main, [i for i in inputs if i not in shaped.given], tensors, self.notes)
        made: list[State] = []
        bytes_ = signed(calls, tensors, inputs, outputs, own)
        known = KnownTensors(tensors, _open(main, tensors) | shaped.open)
        layers = self._layers(bytes_, known, held, own, made, _blocks(main, tensors))
        if any(tensors[i].data is not None for i in (*inputs, *(s.before for s in own))):
            raise MalformedError("an input or a variable tensor is computed")
        _check_unread(inputs, tensors, layers)
        unused = sorted(set(range(len(self.subgraphs))) - {self.number} - once - self.called)
        if unused and not self.source.signature:
            self.notes.append(f"subgraphs that nothing calls are omitted: {', '.join(map(str, unused))}")
        states, assigns = held.finish()
        outputs = tuple(held.value(i) for i in outputs)
        if changed := [i for i in outputs if i in held.before.values()]:
            raise MoteError(f"output '{tensors[changed[0]].name}' is what a variable held, which the model changes")
        outputs, copies = _computed_outputs(outputs, tensors, self.notes)
        first, last = tuple(bytes_.entries), (*bytes_.exits, *copies, *assigns)
        kept = (*own, *states, *made)
        made_of = self.source.where, tensors, layers, inputs, outputs, kept, first, last, tuple(self.notes)
        return checked(Model(*made_of, assumed=assumed))

    def _describe(self, inputs: Sequence[int], outputs: Sequence[int], tensors: dict[int, Tensor]) -> None:
        """Take normalization and labels from the metadata."""
        for i, about in zip(inputs, self.about.inputs, strict=False):
            if len(about.normalization) in (0, 1, tensors[i].channels):
                tensors[i] = replace(tensors[i], normalization=about.normalization)
        for i, about in zip(outputs, self.about.outputs, strict=False):
            if about.of_values or len(about.labels) in (0, tensors[i].channels):
                tensors[i] = replace(tensors[i], labels=about.labels)
            else:
                said = f"the metadata has {len(about.labels)} labels for output '{tensors[i].name}'"
                self.notes.append(f"{said}, which has {tensors[i].channels} classes: they are ignored")

    def _fix(self, inputs: Sequence[int], tensors: dict[int, Tensor]) -> None:
        """Replace inputs by constants."""
        fixed = {constant.name: constant for constant in self.source.constants}
        for t in (tensors[i] for i in inputs if tensors[i].name in fixed):
            tensors[t.id] = replace(t, data=fixed[t.name].array(t.shape, t.dtype))

    def _initial_values(self, once: set[int]) -> dict[variables.Key, Array]:
        """The initial values of the model's variables."""
        initial: dict[variables.Key, Array] = {}
        for i in sorted(once):
            if not 0 <= i < len(self.subgraphs) or i == self.number:
                raise MalformedError(f"CALL_ONCE names subgraph {i} of {len(self.subgraphs)}")
            tensors = _tensors(self.subgraphs[i], self.buffers, [])
            try:
                initial |= variables.initial_values(_calls(self.subgraphs[i], self.codes, tensors), tensors)
            except VariableError as error:
                raise MoteError(f"the initialization in subgraph {i} is not supported: {error}") from None
        return initial

    def _body(self, outer: Variables, number: int, given: Sequence[int]) -> BodySubgraph:
        """A subgraph that an operator calls with some tensors of the calling graph."""
        self._check_call(number)
        record = self.subgraphs[number]
        tensors = _tensors(record, self.buffers, self.notes)
        inputs, outputs = ([_index(tensors, i) for i in record.integers(name)] for name in ("inputs", "outputs"))
        calls = _calls(record, self.codes, tensors)
        if any(call.code == "CALL_ONCE" for call in calls):
            raise UnsupportedNodeError(f"CALL_ONCE inside of subgraph {number} is not supported")
        passed = dict(zip(inputs, given, strict=False))
        handles = {i: outer.handles[t] for i, t in passed.items() if t in outer.handles}
        held = Variables(tensors, _types(outer), handles)
        anew = restarted(calls, tensors, _variables(record, tensors))
        calls, own = renamed(calls, anew), _states(record, tensors, anew)
        values = tuple(i for i in inputs if i not in handles)
        _check_edges(values, (), tensors, own)
        _size_inputs(record, tensors, {i: outer.tensors[outer.value(t)] for i, t in passed.items() if i in values})
        made: list[State] = []
        bytes_ = signed(calls, tensors, values, outputs, own)
        self.open.append(number)
        known = KnownTensors(tensors, _open(record, tensors))
        layers = self._layers(bytes_, known, held, own, made, _blocks(record, tensors))
        self.open.pop()
        if any(tensors[i].data is not None for i in (*values, *(s.before for s in own))):
            raise MalformedError(f"an input or a variable tensor of subgraph {number} is a constant, or computed")
        results = {p: held.handles[t] for p, t in enumerate(outputs) if t in held.handles}
        produced = tuple(held.value(t) for t in outputs if t not in held.handles)
        name = printable(record.string("name")) or f"subgraph_{number}"
        first, last = tuple(bytes_.entries), tuple(bytes_.exits)
        model = Model(name, tensors, layers, values, produced, (*own, *made), first, last)
        return BodySubgraph(number, checked(model), tensors, held, results)

    def _check_call(self, number: int) -> None:
        """Refuse calls of missing subgraphs, recursion, and too many calls."""
        if not 0 <= number < len(self.subgraphs) or number == self.number:
            raise MalformedError(f"an operator calls subgraph {number} of {len(self.subgraphs)}")
        if number in self.open:
            raise UnsupportedNodeError(f"subgraph {number} calls itself: recursion needs unbounded memory")
        self.called.add(number)
        self.calls += 1
        limits.check_bodies(self.calls, len(self.open))

    def _layers(
        self,
        file: Signed,
        known: KnownTensors,
        held: Variables,
        states: tuple[State, ...],
        made: list[State],
        blocks: Mapping[int, BlockwiseScales],
    ) -> tuple[SourceLayer, ...]:
        """The layers; `made` grows by the states that their parsers create."""
        layers, tensors = [], known.tensors
        bytes_of: dict[int, int] = {}
        caller = Caller(tensors, held, made, partial(self._body, held), self.stateful)
        for index, call in enumerate(file.calls):
            inputs = tuple(held.value(i) for i in call.inputs)
            of_file = (call.options, inputs, call.outputs, tensors, states, call.intermediates, call.custom)
            node = Node(call.code, index, *of_file, made, known.open, self.notes, blocks, self.about.arena)
            ops: tuple[Op, ...] = ()
            problem = None
            try:
                if index in file.refused and not _is_compiled(call.code):
                    raise UnsupportedNodeError(DIFFERENT)
                check_blocks(call.code, inputs, blocks, tensors)
                if call.code in variables.OPERANDS:
                    held.take(call)
                elif (value := known_result(node)) is not None:
                    tensors[node.outputs[0]] = replace(node.output(), data=value)
                    bytes_of |= {node.outputs[0]: node.inputs[0]} if call.code == "DEQUANTIZE" else {}
                else:
                    node = with_small_weights(node, bytes_of)
                    flow = call.code in control.OPERATORS
                    ops = known.take(caller.parse(node, _check_operands) if flow else _parse_node(node))
                    _check_outputs(node)
            except UnsupportedNodeError as reason:
                problem = reason.problem
            layers.append(SourceLayer(index, node.code, node.name, node.inputs, node.outputs, ops, problem))
        return tuple(layers)


SHAPE_OPERANDS = {"BROADCAST_TO": 1, "RESHAPE": 1, "TRANSPOSE_CONV": 0}
"""Operators with the shape of their output as an input, and the index of that input."""


def _fix_shapes(
    inputs: Sequence[int], tensors: dict[int, Tensor], calls: Sequence[FileOperator], open_: frozenset[int]
) -> None:
    """Replace inputs by constants that only give shapes which the outputs in the file have as well."""
    for t in (tensors[i] for i in inputs if tensors[i].data is None and tensors[i].dtype == DType.INT32):
        users = [call for call in calls if t.id in call.inputs]
        if not all(call.inputs.index(t.id) == SHAPE_OPERANDS.get(call.code) and call.outputs for call in users):
            continue
        shapes = {tensors[call.outputs[0]].shape for call in users}
        if len(shapes) == 1 and not open_ & {call.outputs[0] for call in users}:
            (shape,) = shapes
            if t.shape == (len(shape),):
                tensors[t.id] = replace(t, data=np.array(shape, np.int32))


def _types(outer: Variables) -> dict[variables.Key, Array]:
    """Placeholders for the variables of a called body, with their types: values that the body must not depend on."""
    held = ((key, outer.tensors[t]) for key, t in outer.held.items())
    return {**outer.initial, **{key: np.broadcast_to(np.zeros((), t.dtype.numpy), t.shape) for key, t in held}}


def _size_inputs(subgraph: TableRecord, tensors: dict[int, Tensor], given: Mapping[int, Tensor]) -> None:
    """Set dynamic input shapes of a body to those of the operands."""
    records = subgraph.children("tensors", schema.TENSOR)
    for i, outer in given.items():
        unsaid = not tensors[i].shape and not records[i].integers("shape_signature")
        if _is_open(records[i]) or unsaid:
            tensors[i] = replace(tensors[i], shape=outer.shape)


def _check_edges(
    inputs: tuple[int, ...], outputs: tuple[int, ...], tensors: dict[int, Tensor], states: tuple[State, ...]
) -> None:
    """Refuse duplicate inputs, and complex or variable tensors as inputs or outputs."""
    if len(set(inputs)) < len(inputs):
        raise MoteError("an input is listed twice")
    kept = {state.before for state in states}
    for what, ids in (("input", inputs), ("output", outputs)):
        for i in ids:
            if tensors[i].dtype == DType.COMPLEX64:
                raise MoteError(
                    f"{what} '{tensors[i].name}' has complex numbers",
                    remedy="export the model with REAL and IMAG, or COMPLEX_ABS, of it instead",
                )
            if i in kept:
                raise MoteError(
                    f"{what} '{tensors[i].name}' is a variable tensor",
                    remedy=f"export the model without it among the {what}s, or with a copy of it instead",
                )


def _check_unread(inputs: tuple[int, ...], tensors: dict[int, Tensor], layers: tuple[SourceLayer, ...]) -> None:
    """Refuse inputs of types that C lacks which no layer reads; those that one reads are refused with it."""
    for i in inputs:
        if not tensors[i].dtype.computable and not any(i in layer.inputs for layer in layers):
            name, dtype = tensors[i].name, tensors[i].dtype
            raise MoteError(f"input '{name}' has type {dtype}", remedy="export the model without it: no layer reads it")


def _computed_inputs(inputs: tuple[int, ...], tensors: dict[int, Tensor], notes: list[str]) -> tuple[int, ...]:
    """The inputs without constants."""
    for i in inputs:
        if tensors[i].data is not None:
            notes.append(f"input '{tensors[i].name}' is a constant, so that it is not an input of the compiled model")
    return tuple(i for i in inputs if tensors[i].data is None)


def _computed_outputs(
    outputs: tuple[int, ...], tensors: dict[int, Tensor], notes: list[str]
) -> tuple[tuple[int, ...], list[Op]]:
    """The outputs, with copies in place of constants, and the operators that copy them."""
    computed: list[int] = []
    copies: list[Op] = []
    for i in outputs:
        t = tensors[i]
        if t.data is None:
            computed.append(i)
            continue
        if not t.dtype.computable:
            raise MoteError(
                f"output '{t.name}' is a constant of type {t.dtype}",
                remedy="export the model without it among the outputs",
            )
        notes.append(f"output '{t.name}' is a constant, which is copied")
        copy = max(tensors) + 1
        tensors[copy] = replace(t, id=copy, data=None, copy_of=i)
        copies.append(Reshape(inputs=(i,), outputs=(copy,), name=t.name, shape=t.shape))
        computed.append(copy)
    return tuple(computed), copies


def _check_sizes(
    subgraph: TableRecord, inputs: Sequence[int], tensors: dict[int, Tensor], notes: list[str]
) -> tuple[str, ...]:
    """Refuse dynamic dimensions that the file stores as 1, but for the first one, which is assumed to be a batch; warn
    about others, which have their stored sizes. Returns what was assumed."""
    assumed = []
    records = subgraph.children("tensors", schema.TENSOR)
    for i in inputs:
        signature, shape = records[i].integers("shape_signature"), tensors[i].shape
        free = [axis for axis, n in enumerate(signature) if n == -1] if len(signature) == len(shape) else []
        taken = "x".join(map(str, shape))
        if any(axis > 0 and shape[axis] == 1 for axis in free):
            raise MoteError(
                f"input '{tensors[i].name}' has the shape {'x'.join('?' if n == -1 else str(n) for n in signature)},"
                " whose size is only known at run time",
                remedy=f"say how large it is: --shape {tensors[i].name}={_template(signature)}, with numbers for N",
            )
        if any(axis > 0 for axis in free):
            notes.append(
                f"input '{tensors[i].name}' may have any size on axes {free}; the model is compiled for {taken}"
            )
        if 0 in free and shape[0] == 1:
            assumed.append(batch_of_one(tensors[i].name, "", shape))
    return tuple(assumed)


def _template(signature: Sequence[int]) -> str:
    """A shape with N for dynamic dimensions, but for the batch."""
    return ",".join(str(n) if n >= 0 else "N" if axis else "1" for axis, n in enumerate(signature))


def _operator_code(record: TableRecord) -> str:
    number = max(record.integer("deprecated_builtin_code"), record.integer("builtin_code"))
    name = schema.NAMES[number] if 0 <= number < len(schema.NAMES) else f"operator #{number}"
    return custom_code(printable(record.string("custom_code"))) if name == "CUSTOM" else name


def custom_code(name: str) -> str:
    """The display form of a custom code."""
    return f"CUSTOM({name})"


def _tensors(subgraph: TableRecord, buffers: list[Storage], notes: list[str]) -> dict[int, Tensor]:
    """The tensors by index, with warnings; intermediate ones have no data, only quantization parameters."""
    operators = subgraph.children("operators", schema.OPERATOR)
    hollow = {i for record in operators for i in record.integers("intermediates")}
    inputs = set(subgraph.integers("inputs"))
    computed = {i for record in operators for i in record.integers("outputs")} | inputs
    records = subgraph.children("tensors", schema.TENSOR)
    quantized = {}
    odd: list[str] = []
    for i, record in enumerate(records):
        empty = (i not in computed or (i not in inputs and _is_open(record))) and not record.flag("is_variable")
        t = _tensor(i, record, buffers, hollow=i in hollow, empty=empty)
        quantized[i] = replace(t, quant=_quantization(t, record, odd))
    if odd:
        notes.append(odd[0] if len(odd) == 1 else f"{odd[0]}; the same of {len(odd) - 1} more")
    return quantized


def _blocks(subgraph: TableRecord, tensors: dict[int, Tensor]) -> dict[int, BlockwiseScales]:
    return blocks_of(subgraph.children("tensors", schema.TENSOR), tensors)


def _open(subgraph: TableRecord, tensors: dict[int, Tensor]) -> frozenset[int]:
    """The tensors with dynamic shapes: a dimension of its shape signature is -1, or it has no shape at all. The stored
    shape does not count."""
    given = set(subgraph.integers("inputs"))
    indices = set()
    for i, record in enumerate(subgraph.children("tensors", schema.TENSOR)):
        unsaid = not tensors[i].shape and not record.integers("shape_signature")
        if (_is_open(record) or unsaid) and tensors[i].data is None and i not in given:
            indices.add(i)
    return frozenset(indices)


def _is_open(tensor: TableRecord) -> bool:
    """Whether the shape signature of a tensor has a dynamic dimension."""
    return min(tensor.integers("shape_signature"), default=0) < 0


def _variables(subgraph: TableRecord, tensors: dict[int, Tensor]) -> list[int]:
    records = subgraph.children("tensors", schema.TENSOR)
    return [i for i, record in enumerate(records) if record.flag("is_variable") and tensors[i].dtype.computable]


def _states(subgraph: TableRecord, tensors: dict[int, Tensor], anew: Collection[int]) -> tuple[State, ...]:
    """A state for each variable tensor that is not reset in every inference; its new value becomes a tensor of its own.
    LiteRT initializes them with zeros, the zero point for int8."""
    indices = [i for i in _variables(subgraph, tensors) if i not in anew]
    states = []
    for before, after in zip(indices, range(len(tensors), len(tensors) + len(indices)), strict=True):
        t = tensors[before]
        tensors[after] = replace(t, id=after, copy_of=before)
        first = t.zero_point if t.dtype == DType.INT8 else 0
        states.append(State(before, after, np.broadcast_to(np.array(first, t.dtype.numpy), t.shape)))
    return tuple(states)


def _tensor(i: int, record: TableRecord, buffers: list[Storage], *, hollow: bool, empty: bool) -> Tensor:
    """A tensor without its quantization parameters. `empty`: it may have no elements, such as the shape of a scalar."""
    name = record.choice("type")
    dtype = DType(name) if name in list(DType) else DType.UNKNOWN
    shape = tuple(record.integers("shape"))
    label = printable(record.string("name")) or f"tensor_{i}"
    if any(d < (0 if hollow or empty else 1) for d in shape):
        raise MalformedError(f"tensor {i} '{label}' has the shape {shape}")
    number = record.integer("buffer")
    if number >= len(buffers):
        raise MalformedError(f"tensor {i} '{label}' names buffer {number} of {len(buffers)}")
    raw = buffers[number].content() if number and storage.readable(dtype) else b""
    tensor = Tensor(i, label, shape, dtype)
    sparse = sparsity(record, shape)
    limits.check_tensor(tensor, constant=bool(raw) and sparse is None)
    if not raw and (tensor.size or hollow or not dtype.stored or _is_open(record)):
        return tensor
    listed = tensor.size if sparse is None else len(places := sparse.places())
    if len(raw) != (need := storage.nbytes(dtype, listed)):
        raise MalformedError(f"tensor {i} '{label}' holds {len(raw)} bytes, its shape needs {need}")
    data = storage.elements(raw, dtype, listed)
    if sparse is not None:
        data = densified(data, places, tensor.size)
    packed = dtype if dtype in storage.PACKED else None
    return replace(tensor, dtype=storage.held(dtype), data=data.reshape(shape), stored=packed)


def _quantization(t: Tensor, tensor: TableRecord, odd: list[str]) -> Quantization | None:
    """The quantization parameters; `odd` grows where they are not on the axis that the file says."""
    record = TableRecord(schema.QUANTIZATION, tensor.child("quantization"))
    scales, zeros = record.vector("scale"), record.vector("zero_point")
    if scales is None or scales.length == 0:
        return None
    scale = scales.array("float32").astype(np.float32)
    zero_point = zeros.array("int64").astype(np.int64) if zeros and zeros.length else np.zeros(scale.size, np.int64)
    axis = record.integer("quantized_dimension")
    bad = scale[~(np.isfinite(scale) & (scale >= 0))]
    if bad.size:
        raise MoteError(
            f"tensor {t.id} '{t.name}' has the scale {bad[0]}, which is not a valid scale", remedy=CALIBRATE
        )
    valid = zero_point.size in (1, scale.size)
    if t.dtype.computable and t.dtype.integer:
        least, most = t.dtype.limits
        valid = valid and bool(np.all((least <= zero_point) & (zero_point <= most)))
    if not valid:
        raise MalformedError(f"tensor {t.id} '{t.name}' has invalid quantization parameters")
    if scale.size > 1 and not (0 <= axis < len(t.shape) and t.shape[axis] == scale.size):
        what = f"tensor {t.id} '{t.name}' has {scale.size} scales on axis {axis} of shape {t.shape}"
        if t.shape.count(scale.size) != 1:
            raise MalformedError(what)
        axis = t.shape.index(scale.size)
        odd.append(f"{what}: they are taken for those of axis {axis}, which alone has as many elements")
    return Quantization(scale, np.broadcast_to(zero_point, scale.shape), axis)


def _index(tensors: dict[int, Tensor], i: int) -> int:
    if i not in tensors:
        raise MalformedError(f"an operator or the graph names tensor {i} of {len(tensors)}")
    return i


def _calls(subgraph: TableRecord, codes: list[str], tensors: dict[int, Tensor]) -> list[FileOperator]:
    """The operators of a subgraph as in the file."""
    calls = []
    records = subgraph.children("operators", schema.OPERATOR)
    limits.check_layers(len(records))
    for index, record in enumerate(records):
        number = record.integer("opcode_index")
        if number >= len(codes):
            raise MalformedError(f"layer {index} names operator code {number} of {len(codes)}")
        code = codes[number]
        inputs = tuple(-1 if i == -1 else _index(tensors, i) for i in record.integers("inputs"))
        outputs = tuple(_index(tensors, i) for i in record.integers("outputs"))
        if code in variables.OPERANDS and ((len(inputs), len(outputs)) != variables.OPERANDS[code] or -1 in inputs):
            raise MalformedError(f"layer {index} {code} has operands that its operator does not take")
        intermediates = tuple(-1 if i == -1 else _index(tensors, i) for i in record.integers("intermediates"))
        custom = record.vector("custom_options")
        given = b"" if custom is None else custom.array("uint8").tobytes()
        calls.append(FileOperator(code, _options(record, index, code), inputs, outputs, intermediates, given))
    return calls


def _options(operator: TableRecord, index: int, code: str) -> TableRecord:
    """The options of an operator; those of another operator type mean that the file is damaged."""
    known = schema.OPTIONS.get(code)
    if known is None:
        return TableRecord({}, None)
    number = operator.integer(f"{known.union}_type")
    if number not in (0, known.number):
        raise MalformedError(f"layer {index} {code} has options #{number}, which are another operator's")
    return TableRecord(known.fields, operator.child(known.union) if number else None)


_REMEDIES = {
    DType.FLOAT16: ": only constants may, which DEQUANTIZE reads; convert the model with float32 or int8 activations",
    DType.INT4: ": only constants may; convert the model with int8 activations",
}
"""Remedies for element types that Mote does not compute."""


def _check_outputs(node: Node) -> None:
    """Refuse dynamic output shapes that cannot be inferred from the operators."""
    for t in map(node.output, range(len(node.outputs))):
        if not t.size and t.data is None:
            raise UnsupportedNodeError(f"the shape of '{t.name}' is only known at run time", RUN_TIME_SIZES)


def _custom_parser(code: str) -> Parser | None:
    """The parser of a custom operator: the user's before Mote's own."""
    name = _custom_name(code)
    if not name:
        return None
    own = CUSTOM_PARSERS.get(name, partial(custom.refuse, name))
    return partial(custom.parse, name) if custom.defined(name) else own


def _custom_name(code: str) -> str:
    """The name of a custom operator; empty for others."""
    name = code.removeprefix("CUSTOM(").removesuffix(")")
    return name if code == custom_code(name) else ""


def _is_compiled(code: str) -> bool:
    """Whether an operator is code for another processor, which is reported before its types."""
    return custom.compiled_by(_custom_name(code)) is not None


def _takes(node: Node, tensor: int, data: Array) -> bool:
    """Whether an operator accepts a constant with infinity or NaN."""
    if np.all(np.isfinite(data)) or (node.code == "PADV2" and tensor == node.inputs[-1]):
        return True
    return node.code in MAY_BE_INFINITE and not np.any(np.isnan(data))


def _check_operands(node: Node, handles: Collection[int] = ()) -> None:
    """Refuse operands of unsupported types; resource handles are not operands."""
    for t in (node.tensors[i] for i in (*node.inputs, *node.outputs) if i >= 0 and i not in handles):
        if not t.dtype.computable:
            raise UnsupportedNodeError(f"tensor '{t.name}' has type {t.dtype}{_REMEDIES.get(t.dtype, '')}")
        if t.data is not None and not _takes(node, t.id, t.data):
            raise UnsupportedNodeError(f"constant '{t.name}' holds infinity or NaN")
    empty = {p for p, i in enumerate(node.inputs) if i >= 0 and i not in handles and not node.tensors[i].size}
    if wrong := empty - MAY_BE_EMPTY.get(node.code, frozenset()):
        raise UnsupportedNodeError(f"constant '{node.input(min(wrong)).name}' has no elements")


def _parse_node(node: Node) -> tuple[Op, ...]:
    parser = PARSERS.get(node.code) or _custom_parser(node.code)
    if parser is None:
        raise UnsupportedNodeError("Mote has no such operator yet")
    _check_operands(node)
    with working_on(node):
        parsed = parser(node)
    return tuple(parsed) if isinstance(parsed, list) else (parsed,)
